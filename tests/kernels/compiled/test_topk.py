"""A row's largest log-probabilities, against the log-softmax of all of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("numba")

from saccade.kernels.compiled.topk import PART, _fill, _row


def found(logits, bias, count, wanted=0):
    values, tokens = np.empty(count, np.float32), np.empty(count, np.int64)
    of_wanted = _row(logits.copy(), bias, wanted, values, tokens)
    return values, tokens, of_wanted


def log_softmax(x):
    x = x.astype(np.float64)
    most = x.max()
    return x - most - np.log(np.exp(x - most).sum())


@given(st.integers(1, 3 * PART), st.integers(1, 9), st.sampled_from([0.1, 3.0, 40.0]), st.integers(0, 999))
def test_it_is_the_log_softmax_sorted(size, count, scale, seed):
    numbers = np.random.default_rng(seed)
    logits, bias = ((scale * numbers.standard_normal(size)).astype(np.float32) for _ in range(2))
    count, wanted = min(count, size), int(numbers.integers(size))
    values, tokens, of_wanted = found(logits, bias, count, wanted)
    summed = logits + bias
    order = sorted(range(size), key=lambda token: (-summed[token], token))[:count]
    assert tokens.tolist() == order
    expected = log_softmax(summed)
    np.testing.assert_allclose(values, expected[order], rtol=1e-5, atol=1e-4)
    assert of_wanted == pytest.approx(expected[wanted], rel=1e-5, abs=1e-4)


def test_ties_come_in_the_order_of_tokens():
    logits = np.zeros(2 * PART + 3, np.float32)
    assert found(logits, np.zeros_like(logits), 4)[1].tolist() == [0, 1, 2, 3]
    logits[[5, PART + 1, 2 * PART]] = 1.0
    assert found(logits, np.zeros_like(logits), 5)[1].tolist() == [5, PART + 1, 2 * PART, 0, 1]


def test_tokens_without_probability_follow_in_their_order():
    logits = np.full(9, -np.inf, np.float32)
    logits[[7, 3]] = [0.0, 1.0]
    values, tokens, _ = found(logits, np.zeros(9, np.float32), 5)
    assert tokens.tolist() == [3, 7, 0, 1, 2] and np.isneginf(values[2:]).all()


def test_nan_is_not_hidden():
    logits = np.full(9, -np.inf, np.float32)
    logits[4] = np.nan
    assert np.isnan(found(logits, np.zeros(9, np.float32), 2)[0]).all()


@given(st.sets(st.integers(0, 9), max_size=5))
def test_gaps_are_filled_with_tokens_that_are_not_there(there):
    tokens = np.array([*sorted(there), *[-1] * (8 - len(there))], np.int64)
    _fill(tokens)
    rest = [token for token in range(20) if token not in there][: 8 - len(there)]
    assert tokens.tolist() == [*sorted(there), *rest]
