"""A call as one block gives what the blocks give, and is taken where nothing else is asked for."""

import pytest
import torch

from calls import call_of
from interpreter import interpreted, tiles
from saccade import AuxRequest, attend, masks, normalizers, reads, remember, scores
from saccade.backends.triton import single
from tiers import every

pytestmark = interpreted


@pytest.fixture(autouse=True, scope="module")
def small():
    with pytest.MonkeyPatch.context() as patch:
        tiles(patch, 8, 8, 8)
        yield


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


SHAPES = {
    "one": ((5, 6), (7, 6), (7, 3)),
    "batch": ((2, 3, 5, 6), (2, 3, 7, 6), (2, 3, 7, 3)),
    "shared keys": ((2, 3, 5, 6), (2, 1, 7, 6), (2, 1, 7, 3)),
    "wider values": ((1, 5, 6), (1, 7, 6), (4, 7, 3)),
    "one query": ((3, 1, 6), (3, 7, 6), (3, 7, 3)),
}
MASKS = {
    "none": None,
    "causal": masks.Causal("end"),
    "nobody's keys": masks.Prefix(4),
    "nothing": masks.Prefix(0),
    "lengths": masks.Lengths(torch.tensor(3)),
}


@pytest.mark.parametrize(("shape", "mask"), list(zip(SHAPES, MASKS, strict=True)))
def test_output_lse_and_gradients_are_the_definitions(shape, mask):
    tensors = [drawn(*size, seed=place) for place, size in enumerate((*SHAPES[shape], (6,)))]
    if mask != "none":
        tensors[1][..., 5:, :] = torch.nan if mask in ("nobody's keys", "lengths") else 1.0
    found = []
    for backend in ("triton", "reference"):
        leaves = [tensor.clone().requires_grad_() for tensor in tensors]
        output, aux = attend(
            *leaves[:3], score=scores.Additive(leaves[3]), mask=MASKS[mask], aux=AuxRequest(lse=True), backend=backend
        )
        total = (output * torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view_as(output)).sum()
        total = total + aux.lse.masked_fill(aux.lse == -torch.inf, 0.0).square().sum()
        found.append((output, aux.lse, *torch.autograd.grad(total, leaves)))
    torch.testing.assert_close(found[0], found[1])


@every(
    "options",
    [
        {"score": scores.ScaledDot()},
        {"normalizer": normalizers.Softmax(temperature=2.0)},
        {"normalizer": normalizers.Softmax(temperature=torch.ones(2, 1, 1))},
        {"normalizer": normalizers.Softmax(sink=0.0)},
        {"normalizer": normalizers.Sparsemax(), "aux": None},
        {"read": reads.Argmax()},
        {"bias": torch.zeros(7)},
        {"gate": torch.ones(7)},
        {"dropout_p": 0.5},
        {"aux": AuxRequest(entropy=True)},
        {"aux": AuxRequest(weights=True)},
        {"aux": AuxRequest(top=2)},
    ],
)
def test_it_is_taken_for_nothing_else(options):
    query, key, value = drawn(2, 5, 6), drawn(2, 7, 6), drawn(2, 7, 3)
    plain = {"score": scores.Additive(drawn(6)), "aux": AuxRequest(lse=True)}
    assert single.served(call_of(query, key, value, **plain))
    assert not single.served(call_of(query, key, value, **{**plain, **options}))


def test_large_calls_are_left_to_the_blocks(monkeypatch):
    call = call_of(drawn(2, 5, 6), drawn(2, 7, 6), drawn(2, 7, 3), score=scores.Additive(drawn(6)))
    assert single.served(call)
    monkeypatch.setattr(single, "FAR_PAIRS", 2 * 35 - 1)
    assert not single.served(call)


def test_a_memory_under_a_mask_has_its_gradients():
    """Its prepared keys are a leaf of the call, and not of keys that were cleaned."""
    found = []
    for backend in ("triton", "reference"):
        leaves = [drawn(*size, seed=place).requires_grad_() for place, size in enumerate(((5, 6), (7, 6), (7, 3)))]
        memory = remember(leaves[1], leaves[2], score=scores.Additive(drawn(6, seed=3)))
        output = memory.read(leaves[0], mask=masks.Prefix(3), backend=backend)[0]
        found.append((output, *torch.autograd.grad(output.square().sum(), leaves)))
    torch.testing.assert_close(found[0], found[1])


def test_values_alone_learn_beside_an_unused_statistic():
    query, key, value = drawn(2, 5, 6), drawn(2, 7, 6), drawn(2, 7, 3).requires_grad_()
    options = {"score": scores.Additive(drawn(6)), "aux": AuxRequest(lse=True)}
    found = [
        torch.autograd.grad(attend(query, key, value, **options, backend=backend)[0].square().sum(), value)[0]
        for backend in ("triton", "reference")
    ]
    torch.testing.assert_close(found[0], found[1])


def test_a_gradient_may_be_written_into():
    query, key, value = drawn(1, 5, 6).requires_grad_(), drawn(2, 7, 6), drawn(2, 7, 3)
    output = attend(query, key, value, score=scores.Additive(drawn(6)), backend="triton")
    (gradient,) = torch.autograd.grad(output.square().sum(), query, create_graph=True)
    assert gradient.mul_(2).shape == query.shape
