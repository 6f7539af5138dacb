import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import near
from near import assert_near
from saccade.errors import ArgumentError
from saccade.kernels import threads
from saccade.kernels import topk as module
from saccade.kernels.topk import Logits, topk_log_probs


def draw(rows, size, seed, scale=1.0, dim=3):
    numbers = torch.Generator().manual_seed(seed)
    features, weight, bias = (torch.randn(shape, generator=numbers) for shape in ((rows, dim), (size, dim), (size,)))
    return Logits(features * scale, weight, bias * scale)


def equal(values):
    """An output layer whose logits are these, whatever the features."""
    return Logits(torch.ones(2, 1), torch.zeros(len(values), 1), torch.tensor(values))


@given(
    st.integers(0, 60),
    st.integers(1, 1300),
    st.integers(1, 8),
    st.integers(0, 99),
    st.sampled_from([0.1, 3.0, 60.0]),
    st.sampled_from([7, 512]),
)
def test_they_are_the_largest_log_probabilities(rows, size, count, seed, scale, most):
    count, logits = min(count, size), draw(rows, size, seed, scale)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_ROWS", most)
        values, tokens, of_token = topk_log_probs(logits, count, size - 1)

    def log_probabilities(*parts):
        return Logits(*parts).dense().log_softmax(-1)

    def largest(*parts):
        found = log_probabilities(*parts)
        return found.topk(count).values, found[:, -1]

    parts, unit = (logits.features, logits.weight, logits.bias), near.largest(logits.dense())
    assert_near((values, of_token), largest, *parts, unit=unit)
    chosen = log_probabilities(*(part.double() for part in parts)).gather(1, tokens)
    assert_near((chosen.float(), of_token), largest, *parts, unit=unit)  # of two that are as good as equal, either
    assert all(len(set(row)) == count for row in tokens.tolist())


def test_equal_ones_come_in_the_order_of_their_tokens():
    some = [float(token in (7, 300, 401)) for token in range(900)]
    for values, expected in (([0.0] * 500, [0, 1, 2, 3]), (some, [7, 300, 401, 0])):
        assert topk_log_probs(equal(values), 4, 0)[1].tolist() == [expected] * 2


def test_without_numba_and_in_other_types_it_is_torchs(monkeypatch):
    logits = draw(6, 50, 0)
    ours = topk_log_probs(logits, 3, 1)
    double = topk_log_probs(Logits(logits.features.double(), logits.weight.double(), logits.bias.double()), 3, 1)
    monkeypatch.setitem(threads._state, "numba", "there is none")
    for one, other, exact in zip(ours, topk_log_probs(logits, 3, 1), double, strict=True):
        torch.testing.assert_close(one, other)
        torch.testing.assert_close(one, exact.to(one.dtype))


@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
def test_where_nothing_is_a_number_there_are_tokens_still(value):
    values, tokens, _ = topk_log_probs(equal([value] * 9), 3, 0)
    assert values.isnan().all() and tokens.tolist() == [[0, 1, 2]] * 2


def test_forbidden_tokens_are_last_and_none_comes_twice():
    some = [float("-inf")] * 600 + [1.0] + [float("-inf")] * 20
    values, tokens, _ = topk_log_probs(equal(some), 3, 0)
    assert tokens.tolist() == [[600, 0, 1]] * 2 and values.tolist() == [[0.0, float("-inf"), float("-inf")]] * 2


@pytest.mark.parametrize(("count", "token"), [(0, 0), (10, 0), (1, 9), (1, -1), (1, 10**7)])
def test_what_there_is_not_is_refused(count, token):
    for logits in (equal([0.0] * 9), equal([0.0] * 9).dense()):
        with pytest.raises(ArgumentError, match="a count from 1 to 9 and a token from 0 to 8"):
            topk_log_probs(logits, count, token)
