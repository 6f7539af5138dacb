"""The definitions of the reads: what each takes of the values, ties, empty rows, gradients."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from calls import drawn
from saccade import AuxRequest, attend, normalizers, reads, scores
from saccade._definitions.structure import Extent
from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError
from saccade.reads import largest, pick


@st.composite
def weighed(draw, least=0):
    """Weights with ties and zeros among them, of forbidden keys 0, and their mask."""
    count, keys, seed = draw(st.integers(1, 4)), draw(st.integers(least, 12)), draw(st.integers(0, 999))
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(count, keys, generator=generator) < draw(st.sampled_from([0.0, 0.4, 0.9]))
    weights = torch.randint(0, 4, (count, keys), generator=generator).double() / 4
    return weights.masked_fill(~mask, 0.0), mask


def ranked(weights, mask):
    """Of one row, the allowed keys from the largest weight to the smallest, the lower index first of equals."""
    return sorted((j for j in range(len(weights)) if mask[j]), key=lambda j: (-float(weights[j]), j))


@given(weighed(), st.integers(1, 12))
def test_the_largest_come_in_order(drawn_rows, k):
    weights, mask = drawn_rows
    values, indices = largest(weights, k, mask)
    for row in range(len(weights)):
        best = ranked(weights[row], mask[row])[:k]
        missing = min(k, weights.shape[-1]) - len(best)
        assert indices[row].tolist() == best + [-1] * missing
        assert values[row].tolist() == [float(weights[row, j]) for j in best] + [0.0] * missing


@given(weighed())
def test_argmax_takes_the_first_of_the_largest(drawn_rows):
    weights, mask = drawn_rows
    chosen = [next(iter(ranked(*row)), -1) for row in zip(weights, mask, strict=True)]
    weighed = (weights * mask).any(-1).tolist()
    expected = [index if any_weight else -1 for index, any_weight in zip(chosen, weighed, strict=True)]
    assert reads.Argmax().index(weights, mask).tolist() == expected


def test_of_no_key_in_reach_none_is_read():
    query, key = torch.tensor([[0.0], [9.0]]), torch.tensor([[5.0], [9.5]])
    how = {"score": scores.Kernel("boxcar", 1.0), "normalizer": normalizers.Sum(), "aux": AuxRequest(index=True)}
    for read in (reads.Argmax(), reads.Argmax("straight_through"), reads.Sample()):
        output, aux = attend(query, key, key, read=read, **how)
        assert aux.index.tolist() == [-1, 1] and output.tolist() == [[0.0], [9.5]]


@given(weighed(least=1), st.floats(0, 1, exclude_max=True))
def test_a_draw_is_the_first_key_whose_cumulative_weight_exceeds(drawn_rows, u):
    weights, mask = drawn_rows
    uniform = torch.full((len(weights),), u, dtype=torch.float64)
    found = reads.Sample(uniform=uniform).index(weights, mask).tolist()
    for row, index in zip(weights.tolist(), found, strict=True):
        total = sum(row)
        reached = [j for j in range(len(row)) if sum(row[: j + 1]) > u * total]
        assert index == (reached[0] if total > 0 else -1)
        assert index < 0 or row[index] > 0


def test_draws_have_the_frequencies_of_the_weights():
    weights = torch.tensor([[0.1, 0.0, 0.6, 0.3]], dtype=torch.float64).expand(20000, 4)
    read = reads.Sample(generator=torch.Generator().manual_seed(5)).drawn((20000,), torch.float64, weights.device)
    counts = read.index(weights, None).bincount(minlength=4) / 20000
    torch.testing.assert_close(counts.double(), weights[0], rtol=0, atol=0.02)
    assert counts[1] == 0


def test_a_uniform_of_the_sum_draws_the_last_weight():
    weights = torch.tensor([[0.3, 0.7, 0.0]])
    uniform = torch.tensor([math.nextafter(1.0, 0.0)], dtype=torch.float32)
    assert reads.Sample(uniform=uniform).index(weights, None).tolist() == [1]


@given(weighed(), st.integers(1, 12))
def test_top_k_is_the_expectation_over_them(drawn_rows, k):
    weights, mask = drawn_rows
    value = drawn(weights.shape[-1], 3, seed=4).double()
    found = reads.TopK(k)(weights, value, mask)
    for row in range(len(weights)):
        best = ranked(weights[row], mask[row])[:k]
        total = sum(float(weights[row, j]) for j in best)
        expected = sum((weights[row, j] / total * value[j] for j in best), torch.zeros(3).double()) if total else 0
        torch.testing.assert_close(found[row], torch.as_tensor(expected).double().expand(3))


@given(weighed(), st.data())
def test_soft_is_linear_in_the_values(drawn_rows, data):
    weights, _ = drawn_rows
    one, two = (drawn(weights.shape[-1], 3, seed=data.draw(st.integers(0, 99))).double() for _ in range(2))
    torch.testing.assert_close(
        reads.Soft()(weights, 2 * one - two), 2 * reads.Soft()(weights, one) - reads.Soft()(weights, two)
    )


def test_picked_values_are_rows_and_zeros_where_there_is_none():
    value = drawn(2, 5, 3)
    index = torch.tensor([[4, -1], [0, 2]])
    found = pick(value, index)
    assert torch.equal(found[0, 0], value[0, 4]) and not found[0, 1].any() and torch.equal(found[1, 1], value[1, 2])
    assert pick(value[:, None], index).shape == (2, 2, 2, 3)
    assert pick(value[:, :0], index - 99).shape == (2, 2, 3)


@pytest.mark.parametrize(
    "read",
    [reads.Sample("straight_through", uniform=torch.tensor([0.1, 0.4, 0.6, 0.9])), reads.Argmax("straight_through")],
    ids=["sample", "argmax"],
)
def test_a_straight_through_read_has_the_soft_gradient(read):
    weights = torch.rand(4, 5, dtype=torch.float64).requires_grad_()
    value = drawn(5, 3).double().requires_grad_()
    index = read.index(weights, None)
    output = read(weights, value, None, index)
    assert torch.allclose(output, pick(value, index))
    grad = drawn(4, 3, seed=1).double()
    ours = torch.autograd.grad((output * grad).sum(), [weights, value])
    theirs = torch.autograd.grad((reads.Soft()(weights, value) * grad).sum(), [weights, value])
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("read", [reads.Sample(uniform=torch.rand(4)), reads.Argmax()], ids=["reinforce", "argmax"])
def test_a_hard_read_passes_no_gradient_to_the_weights(read):
    weights, value = torch.rand(4, 5).requires_grad_(), drawn(5, 3).requires_grad_()
    output = read(weights, value, None, read.index(weights, None))
    found = torch.autograd.grad(output.sum(), [weights, value], allow_unused=True)
    assert found[0] is None and found[1].sum() == 4 * 3


def test_a_generator_is_drawn_from_once():
    read = reads.Sample(generator=torch.Generator().manual_seed(1))
    first = read.drawn((3,), torch.float32, torch.device("cpu"))
    assert first.uniform.shape == (3,) and first.drawn((9,), torch.float32, torch.device("cpu")) is first
    again = reads.Sample(generator=torch.Generator().manual_seed(1)).drawn((3,), torch.float32, torch.device("cpu"))
    assert torch.equal(first.uniform, again.uniform)
    with pytest.raises(ArgumentError, match="expected the uniforms, got None"):
        read.index(torch.ones(3, 2), None)


EXTENT = Extent((2,), 3, 5, 4, 4, torch.float32, torch.device("cpu"), True)


@pytest.mark.parametrize(
    ("uniform", "error"),
    [
        (0.5, ArgumentTypeError),
        (torch.zeros(3, dtype=torch.long), ArgumentTypeError),
        (torch.zeros(4), ShapeError),
        (torch.zeros(5, 3), ShapeError),
        (torch.ones(3), ArgumentError),
        (torch.full((3,), math.nan), ArgumentError),
    ],
    ids=str,
)
def test_uniforms_that_are_not_such_are_refused(uniform, error):
    with pytest.raises(error, match="uniform of reads.Sample: expected"):
        reads.Sample(uniform=uniform).check(EXTENT)


def test_soft_reads_take_no_single_key():
    for read in (reads.Soft(), reads.TopK(2)):
        assert not read.chooses
        with pytest.raises(TypeError, match="reads no single key"):
            read.index(torch.ones(1, 2), None)
    with pytest.raises(ArgumentTypeError, match="generator: expected a torch.Generator or None, got int"):
        reads.Sample(generator=3)
