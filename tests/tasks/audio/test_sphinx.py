import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade.errors import ArgumentError
from saccade.tasks.audio.sphinx import COEFFICIENTS, cepstra, encode, features
from tiers import every


def mfc(frames):
    return np.array([frames.size], ">i4").tobytes() + frames.astype(">f4").tobytes()


@every(
    ("data", "got"),
    [
        (b"", "got 0 bytes"),
        (b"\0\0\1", "got 3 bytes"),
        (mfc(np.zeros((2, 13)))[:-1], "got a count of 26 and 103 bytes"),
        (mfc(np.zeros((2, 13))) + b"\0", "got a count of 26 and 105 bytes"),
        (mfc(np.zeros((1, 12))), "got a count of 12 and 48 bytes"),
        (mfc(np.zeros((0, 13))), "got a count of 0 and 0 bytes"),
        (b"\xff\xff\xff\xff", "got a count of -1 and 0 bytes"),
        (mfc(np.full((1, 13), np.nan)), "got NaN or infinity"),
    ],
)
def test_features_that_cannot_be_are_named(data, got):
    with pytest.raises(ArgumentError, match=rf"^a\.mfc: expected .*, {got}; copy the file anew$"):
        cepstra(data, "a.mfc")


def test_features_are_read_highest_byte_first():
    values = np.arange(26).reshape(2, 13) / 7
    torch.testing.assert_close(cepstra(mfc(values), ""), torch.from_numpy(values).float(), rtol=0, atol=0)


@given(st.integers(1, 9), st.integers(0, 99))
def test_what_is_written_is_read_again(count, seed):
    frames = torch.randn(count, COEFFICIENTS, generator=torch.Generator().manual_seed(seed))
    assert torch.equal(cepstra(encode(frames), "a.mfc"), frames)


def test_the_scale_of_what_is_encoded_is_no_matter():
    """An example's features are encoded as a file, and come back as they were."""
    static = torch.randn(30, COEFFICIENTS, generator=torch.Generator().manual_seed(2))
    first = features(static)
    again = features(cepstra(encode(first[:, :COEFFICIENTS]), "a.mfc"))
    torch.testing.assert_close(first, again, atol=1e-4, rtol=1e-4)
