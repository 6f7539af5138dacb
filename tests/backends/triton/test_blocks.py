"""What of a block the kernels compute, against the reference's own parts."""

import pytest
import torch

from calls import call_of, drawn
from interpreter import interpreted, tiles
from saccade import masks, normalizers, reads, scores
from saccade.backends import reference
from saccade.backends.triton import blocks

pytestmark = interpreted


@pytest.fixture(autouse=True, scope="module")
def small():
    with pytest.MonkeyPatch.context() as patch:
        tiles(patch, 4, 4, 8)
        yield


def call(**options):
    return call_of(drawn(2, 5, 4), drawn(2, 7, 4, seed=1), drawn(2, 7, 3, seed=2), **options)


NORMALIZERS = {
    "softmax": normalizers.Softmax(),
    "a temperature": normalizers.Softmax(0.5),
    "a sink": normalizers.Softmax(sink=0.2),
    "a sink that is not there": normalizers.Softmax(sink=-float("inf")),
    "a sink a query": normalizers.Softmax(sink=torch.linspace(-1, 1, 5)[:, None]),
    "sparsemax": normalizers.Sparsemax(),
    "entmax": normalizers.Entmax(1.5),
    "an alpha a query": normalizers.Entmax(torch.linspace(1.1, 2.5, 5)[:, None]),
    "sigmoid": normalizers.Sigmoid(),
    "sum": normalizers.Sum(),
}


@pytest.mark.parametrize("name", NORMALIZERS)
def test_weights_are_the_references(name):
    one = call(normalizer=NORMALIZERS[name], mask=masks.Lengths(torch.tensor([7, 0])))
    found, allowed, _ = blocks.weigh(one, one.grid())
    expected, same, _ = reference.weigh(one, one.grid())
    torch.testing.assert_close(found, expected)
    assert torch.equal(allowed, same)


def test_exponentials_of_keys_lie_as_the_kernel_reads():
    prepared = blocks.prepare(call(score=scores.Additive(drawn(4))))
    assert prepared.cache.mT.is_contiguous()
    again = blocks.prepare(prepared)
    assert torch.equal(again.cache, prepared.cache) and again.cache.stride() == prepared.cache.stride()
    assert blocks.prepare(call()).cache is None


@pytest.mark.parametrize("wider", [False, True])
def test_a_value_of_a_wider_batch_takes_no_mask_into_the_scores(wider):
    """One score then stands for entries that may attend to other keys."""
    value = drawn(3, 2, 7, 3) if wider else drawn(2, 7, 3)
    mask = torch.rand(3, 2, 5, 7) < 0.3 if wider else torch.rand(2, 5, 7) < 0.3
    one = call_of(drawn(2, 5, 4), drawn(2, 7, 4, seed=1), value, score=scores.Additive(drawn(4)), mask=mask)
    prepared = blocks.prepare(one)
    found = blocks.read(prepared, one.grid(), *blocks.weigh(prepared, one.grid()))[0]
    torch.testing.assert_close(found, reference.run(one)[0])


def test_draws_alone_are_by_the_kernel():
    weights = torch.softmax(drawn(2, 5, 7), -1)
    for read in (reads.Sample(uniform=torch.rand(2, 5)), reads.Argmax()):
        assert torch.equal(blocks.chosen(read, weights, None), read.index(weights, None))
