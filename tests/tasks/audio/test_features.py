import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade.errors import ArgumentError
from saccade.tasks.audio.features import LogMel, deltas, mel_filters, normalized

# Figures of librosa 0.11.0: filters.mel(sr, n_fft, n_mels, fmin, fmax, htk=True, norm=None), summed over frequencies.
FILTER_SUMS = {
    (8000, 256, 10, 20.0, 4000.0): {0: 4.695289382680723, 4: 9.258183623352753, 9: 21.728869036681132},
    (16000, 512, 40, 130.0, 6800.0): {0: 1.4411855398414506, 13: 3.0089049674799035, 39: 12.228714417329556},
}
FIRST_FILTER = [0.08402401730007347, 0.3174240653558316, 0.5508241134115898, 0.784224161467348, 0.9851392725589028]
# Its melspectrogram(sr=8000, n_fft=256, hop_length=80, win_length=200, center=False, n_mels=10, fmin=20, fmax=4000,
# htk=True, norm=None) of `signal()` with 28 zeros in front, as it puts a window into the middle of n_fft: logarithms,
# two rows a frame.
LOGMEL = [
    [-0.848766274219734, 5.9813096177540865, 6.7224788994875615, -1.4306997937629606, 3.9686384018683003],
    [5.561841024656937, 1.584049563501665, -0.20187341072228734, 0.4832715133638724, 3.0219357427273894],
    [-0.9323734190932647, 5.955410218680382, 6.685764667993859, -1.3109836328296987, 3.9037522688581214],
    [5.486032566643654, 1.568727011758803, -0.17429198964442802, 0.4739408167851518, 3.021819245898706],
    [-0.9442134118667004, 5.958381621564724, 6.690496547801113, -1.3292391744526992, 3.8692408306304222],
    [5.451652303821282, 1.5660756422841193, -0.17098183652988702, 0.472753661476401, 3.021808391180445],
]


def signal():
    """Two tones, and steps that have all frequencies."""
    n = torch.arange(400, dtype=torch.float64)
    turns = 2 * torch.pi * n / 8000
    return 0.5 * torch.sin(440 * turns) + 0.25 * torch.sin(1250 * turns) + 0.1 * ((n * 7919 % 101) / 50 - 1)


@pytest.mark.parametrize("arguments", FILTER_SUMS)
def test_filters_are_those_of_librosa(arguments):
    sums = mel_filters(*arguments).sum(0)
    expected = FILTER_SUMS[arguments]
    assert [sums[place].item() for place in expected] == pytest.approx(list(expected.values()), rel=1e-9)


def test_filter_rises_from_one_centre_and_falls_to_another():
    filters = mel_filters(8000, 256, 10, 20.0, 4000.0)
    assert filters[1:6, 0].tolist() == pytest.approx(FIRST_FILTER, rel=1e-9) and filters[0, 0] == 0
    assert bool((filters >= 0).all()) and bool((filters <= 1).all())
    between = slice(int(filters[:, 0].argmax()) + 1, int(filters[:, -1].argmax()))
    torch.testing.assert_close(filters.sum(1)[between], torch.ones(between.stop - between.start).double())


@pytest.mark.parametrize(("dtype", "most"), [(torch.float64, 1e-9), (torch.float32, 1e-5)])
def test_log_mel_is_that_of_librosa(dtype, most):
    found = LogMel(8000, mels=10)(signal().to(dtype))
    assert found.dtype == dtype and found.shape == (4, 10)
    torch.testing.assert_close(
        found[:3].double(), torch.tensor(LOGMEL, dtype=torch.float64).view(3, 10), rtol=0, atol=most
    )


def test_one_frame_is_the_definition():
    logmel, x = LogMel(8000, mels=7), signal()
    energies = []
    for k in range(logmel.size // 2 + 1):
        terms = []
        for n in range(logmel.window):
            hann = 0.5 - 0.5 * math.cos(2 * math.pi * n / logmel.window)
            angle = -2 * math.pi * k * n / logmel.size
            terms.append(hann * x[logmel.hop + n].item() * complex(math.cos(angle), math.sin(angle)))
        energies.append(abs(sum(terms)) ** 2)
    expected = [math.log(sum(f * e for f, e in zip(row, energies, strict=True))) for row in logmel.filters.T.tolist()]
    assert logmel(x)[1].tolist() == pytest.approx(expected, abs=1e-9)


@given(st.integers(1, 2000), st.sampled_from([8000, 11025, 16000]), st.sampled_from([10.0, 12.5, 25.0]))
def test_every_sample_is_in_a_frame_and_no_frame_is_empty(samples, rate, hop_ms):
    logmel = LogMel(rate, mels=4, hop_ms=hop_ms)
    frames = logmel.frames(samples)
    last = (frames - 1) * logmel.hop
    assert last < samples <= last + logmel.window and logmel(torch.ones(samples)).shape == (frames, 4)


def test_the_last_sample_counts():
    logmel = LogMel(8000, mels=4)
    silence = torch.zeros(281)
    click = silence.clone()
    click[-1] = 1.0
    changed = (logmel(click) != logmel(silence)).any(1)
    assert changed.tolist() == [False, False, True]


def test_silence_is_the_floor_and_is_finite():
    assert torch.equal(LogMel(8000)(torch.zeros(300)), torch.full((3, 40), math.log(1e-10)))


def test_gradients_arrive_after_bands_without_any():
    with torch.inference_mode():
        LogMel(8000, mels=11)(signal()[:250])
    samples = signal()[:250].requires_grad_()
    assert torch.autograd.gradcheck(LogMel(8000, mels=11), (samples,))


@pytest.mark.parametrize("mels", [120, 10**12])
def test_bands_without_a_frequency_are_refused(mels):
    message = f"--mels: expected fewer bands, as some would have no .* in 25 ms at 8000 Hz, got {mels}"
    with pytest.raises(ArgumentError, match=message):
        LogMel(8000, mels)


@pytest.mark.parametrize("shape", [(0,), (2, 80)])
def test_a_waveform_has_one_channel_and_samples(shape):
    with pytest.raises(ArgumentError, match=r"samples: expected shape \(samples,\) and one or more, got"):
        LogMel(8000)(torch.zeros(shape))


@given(st.integers(1, 9))
def test_deltas_are_the_regression_formula_however_short(frames):
    features, last = torch.sin(7.0 * torch.arange(3 * frames, dtype=torch.float64)).view(frames, 3), frames - 1
    for t, found in enumerate(deltas(features)):
        slopes = [theta * (features[min(t + theta, last)] - features[max(t - theta, 0)]) for theta in (1, 2)]
        torch.testing.assert_close(found, sum(slopes) / 10)


def test_normalized_features_have_mean_zero_and_variance_one():
    found = normalized(1e4 + 3 * torch.randn(50, 4))
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.mean(0), torch.zeros(4), rtol=0, atol=1e-5)
    torch.testing.assert_close(found.var(0, correction=0), torch.ones(4), rtol=1e-5, atol=0)


@given(st.floats(-(2.0**99), 2.0**99, width=32), st.integers(1, 50))
def test_a_column_that_never_changes_is_zero(value, frames):
    assert torch.equal(normalized(torch.full((frames, 2), value)), torch.zeros(frames, 2))
