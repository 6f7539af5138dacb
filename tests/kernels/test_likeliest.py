import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.kernels import team
from saccade.kernels.likeliest import likeliest


@given(st.integers(0, 9), st.integers(1, 700), st.integers(1, 8), st.integers(0, 99), st.sampled_from([0.1, 3.0, 60.0]))
@settings(deadline=None, max_examples=80)
def test_they_are_the_largest_log_probabilities(rows, size, count, seed, scale):
    count = min(count, size)
    logits = torch.randn(rows, size, generator=torch.Generator().manual_seed(seed)) * scale
    gains = logits.double().log_softmax(-1)
    values, tokens, of_token = likeliest(logits, count, size - 1)
    torch.testing.assert_close(values.double(), gains.topk(count).values, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(gains.gather(1, tokens), gains.topk(count).values, rtol=0, atol=1e-12)
    torch.testing.assert_close(of_token.double(), gains[:, -1], rtol=1e-5, atol=1e-4)


def test_equal_ones_come_in_the_order_of_their_tokens():
    logits = torch.zeros(2, 500)
    logits[1, [7, 300, 401]] = 1.0
    assert likeliest(logits, 4, 0)[1].tolist() == [[0, 1, 2, 3], [7, 300, 401, 0]]


def test_rows_may_lie_apart():
    logits = torch.randn(6, 50)
    for other in (logits.T.contiguous().T, torch.cat([logits, logits], 1)[:, :50]):
        assert all(map(torch.equal, likeliest(other, 3, 1), likeliest(logits, 3, 1)))


def test_without_numba_it_is_torchs(monkeypatch):
    logits = torch.randn(6, 50)
    ours = likeliest(logits, 3, 1)
    monkeypatch.setitem(team._found, "numba", "there is none")
    for one, other in zip(ours, likeliest(logits, 3, 1), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
def test_where_nothing_is_a_number_there_are_tokens_still(value):
    values, tokens, _ = likeliest(torch.full((2, 9), value), 3, 0)
    assert values.isnan().all() and tokens.tolist() == [[0, 1, 2]] * 2
