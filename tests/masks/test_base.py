from dataclasses import dataclass

import pytest
import torch

from masks.drawn import dense
from saccade import AuxRequest, attend, errors, masks, remember
from saccade.backends.blockwise.engine import engine_named


def test_true_means_may_attend():
    x = torch.eye(3)
    out = attend(x, x, x, mask=torch.tensor([[True, False, False]]))
    assert torch.equal(out, x[:1].expand(3, 3))


@pytest.mark.parametrize("name", ["and", "or"])
def test_tensors_stand_on_either_side(name):
    own, causal = torch.rand(4, 4) > 0.5, masks.Causal()
    left, right = (own & causal, causal & own) if name == "and" else (own | causal, causal | own)
    expected = own & dense(causal) if name == "and" else own | dense(causal)
    assert torch.equal(dense(left), expected) and torch.equal(dense(right), expected)


def test_a_tensor_that_is_no_mask_does_not_combine():
    with pytest.raises(TypeError):
        torch.ones(4, 4) & masks.Causal()
    with pytest.raises(errors.ArgumentTypeError):
        masks.Causal() & torch.ones(4, 4)
    with pytest.raises(TypeError):
        torch.ones(4, 4, dtype=torch.bool) + masks.Causal()


class Even(masks.Mask):
    """By positions alone; no dataclass."""

    def dense(self, grid):
        return (grid.keys() + grid.queries()) % 2 == 0


class Held(masks.Mask):
    """By a tensor that no field declares."""

    def __init__(self, allowed):
        self.allowed = allowed

    def dense(self, grid):
        return self.allowed[..., grid.start : grid.start + grid.rows, :]


@dataclass(frozen=True)
class Recent(masks.Mask):
    """The last three keys of those that a mask allows."""

    allowed: masks.Mask

    def dense(self, grid):
        return self.allowed.dense(grid) & (grid.keys() > grid.queries() - 3)


def test_a_mask_of_ones_own_may_use_a_mask_in_any_way():
    query, key = torch.randn(4, 4), torch.randn(5, 4)
    expected = masks.Causal("start") & masks.Window(2, None, align="start")
    output = attend(query, key, key, mask=Recent(masks.Causal()))
    torch.testing.assert_close(output, attend(query, key, key, mask=expected))


def test_a_memory_keeps_no_mask_of_ones_own():
    """It may depend on queries even if the mask inside does not."""
    key = torch.randn(5, 4)
    with pytest.raises(errors.ArgumentError, match="mask: expected one of these keys alone"):
        remember(key, key, mask=Recent(masks.Prefix(3)))


OWN = {
    "no dataclass": lambda allowed: Even(),
    "holds a tensor": Held,
    "composed": lambda allowed: ~Held(allowed) | (Even() & masks.Causal()),
}


@pytest.mark.parametrize("backend", ["chunked", "cpu", "sdpa", "auto"])
@pytest.mark.parametrize("name", OWN)
def test_a_mask_of_ones_own_works_on_every_backend(name, backend, monkeypatch):
    for engine in map(engine_named, ("chunked", "cpu")):
        monkeypatch.setitem(vars(engine), "pairs", 70)  # blocks of fewer rows than there are, and of entries
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 3, 7, 4, generator=generator, dtype=torch.float64).requires_grad_()
    mask = OWN[name](torch.rand(2, 1, 7, 7, generator=generator) < 0.6)
    found = []
    for one in (backend, "reference"):
        output = attend(x, x, x, mask=mask, backend=one)
        found.append((output, *torch.autograd.grad(output.square().sum(), x)))
    torch.testing.assert_close(*found)
    weights = None if backend == "sdpa" else attend(x, x, x, mask=mask, backend=backend, aux=AuxRequest(weights=True))
    assert weights is None or (weights[1].weights[..., ~dense(mask, q=7, k=7).any(0).any(0)] == 0).all()


@pytest.mark.parametrize("backend", ["auto", "reference"])
def test_a_square_that_may_be_padding_is_read_as_ever_and_said(backend):
    """(B, Lk) where B = Lq broadcasts as (Lq, Lk): nobody can tell which is meant."""
    x, square = torch.randn(5, 5, 8), torch.ones(5, 5, dtype=torch.bool).tril()
    for mask in (square, masks.Causal() & square):
        with pytest.warns(UserWarning, match=r"mask: .*\(batch, Lk\).*mask\[None\].*mask\[:, None\]"):
            read = attend(x, x, x, mask=mask, backend=backend)
        torch.testing.assert_close(read, attend(x, x, x, mask=masks.Causal()))
    heads = x[:, None].expand(5, 2, 5, 8)
    with pytest.warns(UserWarning, match=r"mask\[:, None, None\]"):
        attend(heads, heads, heads, mask=square, backend=backend)
    causal = attend(x, x, x, mask=square[None], backend=backend)
    torch.testing.assert_close(causal, attend(x, x, x, mask=masks.Causal()))
    padded = attend(x, x, x, mask=square[:, None], backend=backend)
    torch.testing.assert_close(padded, attend(x, x, x, mask=masks.Lengths(torch.arange(1, 6))))
    other = attend(x[:3], x[:3], x[:3], mask=square, backend=backend)
    torch.testing.assert_close(other, causal[:3])


def test_a_memorys_own_mask_is_never_ambiguous():
    key = torch.randn(5, 4, 8)
    memory = remember(key, key, mask=masks.Lengths(torch.tensor([4, 3, 2, 1, 4])))
    query = torch.randn(5, 5, 2, 8)
    torch.testing.assert_close(memory.read(query)[2], memory.read(query[2]))


def test_what_torch_is_told_beside_the_two_is_not_dropped():
    with pytest.raises(TypeError, match="and"):
        torch.bitwise_and(torch.ones(3, 3, dtype=torch.bool), masks.Causal(), out=torch.ones(3, 3, dtype=torch.bool))


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
@pytest.mark.parametrize("layout", [torch.jagged, torch.strided, torch.sparse_coo], ids=str)
def test_masks_biases_and_gates_are_dense(layout):
    x, ones = torch.zeros(1, 3, 2), torch.ones(3, 3)
    if layout == torch.sparse_coo:
        tensor, ending = ones.to_sparse(), r"layout torch.sparse_coo. Call .to_dense\(\)"
    else:
        tensor = torch.nested.nested_tensor([ones], layout=layout)
        ending = r"a nested one. Call .to_padded_tensor\(0\)"
    for name in ("mask", "bias", "gate"):
        with pytest.raises(errors.ArgumentTypeError, match=f"^{name}: expected a dense tensor, got {ending}.$"):
            attend(x, x, x, **{name: tensor.bool() if name == "mask" else tensor})


def test_a_memory_checks_lengths_of_a_prepared_mask():
    x = torch.randn(3, 2)
    for mask in (None, masks.Lengths(torch.tensor(2))):
        with pytest.raises(errors.ShapeError, match="^mask: expected Lq = 3 and Lk = 3.*got Lq = 1 and Lk = 3"):
            remember(x, x, mask=mask).read(x[:1], mask=masks.prepare(masks.Causal("end"), 3, 3, "cpu"))


def test_a_prepared_mask_is_the_mask_at_its_lengths():
    x, lengths = torch.randn(2, 300, 4), torch.tensor([300, 17])
    plain = masks.Window(20, 0) & masks.Lengths(lengths)
    prepared = masks.prepare(plain, 300, 300, "cpu")
    expected = attend(x, x, x, mask=plain)
    assert all(torch.equal(attend(x, x, x, mask=prepared), expected) for _ in range(2))
    lengths.fill_(300)  # the prepared mask has its own
    assert torch.equal(attend(x, x, x, mask=prepared), expected)
    with pytest.raises(errors.ShapeError, match="mask: expected Lq = 300 and Lk = 300.*got Lq = 9.*Prepare it again"):
        attend(x[:, :9], x, x, mask=prepared)


def test_a_prepared_mask_serves_any_number_of_batch_dimensions():
    short, x = torch.zeros(3, 576, 576, dtype=torch.bool), torch.randn(2, 3, 576, 8)
    for head in range(3):
        short[head, :, 192 * head : 192 * head + 64] = True  # each head has blocks of its own
    prepared = masks.prepare(short, 576, 576, "cpu")
    for queries in (x, x[0], x):
        output = attend(queries, queries, queries, mask=prepared, backend="chunked")
        torch.testing.assert_close(output, attend(queries, queries, queries, mask=short, backend="reference"))


@pytest.mark.parametrize("few", [1, 300])
def test_a_prepared_mask_serves_few_queries_and_compositions(few):
    x = torch.randn(2, 300, 4)
    plain = masks.Window(20, 0, "end")
    prepared = masks.prepare(plain, few, 300, "cpu")
    for mask, other in ((prepared, plain), (prepared & ~plain, plain & ~plain), (plain | prepared, plain)):
        assert torch.equal(attend(x[:, :few], x, x, mask=mask), attend(x[:, :few], x, x, mask=other))
    assert torch.equal(attend(x[:, :few], x, x, mask=~prepared), attend(x[:, :few], x, x, mask=~plain))


def test_a_mask_is_prepared_from_a_mask_and_lengths():
    with pytest.raises(errors.ArgumentTypeError, match="mask: expected a boolean tensor"):
        masks.prepare(torch.ones(2, 2), 2, 2, "cpu")
    with pytest.raises(errors.ArgumentError, match="q_len: expected an int of at least 0, got -1"):
        masks.prepare(masks.Causal(), -1, 2, "cpu")
    assert repr(masks.prepare(masks.Causal(), 2, 2, "cpu")) == "Prepared(mask=Causal(align=None), q_len=2, k_len=2)"


@pytest.mark.parametrize("mask", [masks.Causal(), torch.ones(2, 2, dtype=torch.bool)], ids=["numbers", "tensor"])
def test_a_mask_is_prepared_for_a_device_that_is_there(mask):
    for device in ("disk", "cpu:x", "cuda:99"):
        message = f"^device: expected a device of this machine, got '{device}'. Pass query.device.$"
        with pytest.raises(errors.ArgumentError, match=message):
            masks.prepare(mask, 2, 2, device)
    for device in (None, 0):
        with pytest.raises(errors.ArgumentTypeError, match="^device: expected a torch.device or its name, got "):
            masks.prepare(mask, 2, 2, device)
