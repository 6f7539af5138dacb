import pytest
import torch

from saccade import AuxRequest, attend, errors, masks, remember
from saccade.backends.blockwise.engine import engine_named
from saccade.structure import Grid


def dense(mask, q=4, k=4, start=0, rows=None):
    return masks.as_mask(mask).dense(Grid(q, k, start, q if rows is None else rows, torch.device("cpu")))


def test_true_means_may_attend():
    x = torch.eye(3)
    out = attend(x, x, x, mask=torch.tensor([[True, False, False]]))
    assert torch.equal(out, x[:1].expand(3, 3))


@pytest.mark.parametrize(
    ("mask", "rows"),
    [
        (masks.Causal("start"), ["1000", "1100", "1110"]),
        (masks.Causal("end"), ["1100", "1110", "1111"]),
        (masks.Causal(-1), ["0000", "1000", "1100"]),
        (masks.Window(1, 0, "end"), ["1100", "0110", "0011"]),
        (masks.Window(None, 0, "start"), ["1000", "1100", "1110"]),
        (masks.Window(0, None, "start"), ["1111", "0111", "0011"]),
        (masks.Around(torch.tensor([0.5, 1.0, 9.0]), 1.0), ["1100", "1110", "0000"]),
        (masks.Lengths(torch.tensor(2)), ["1100"]),
        (masks.Prefix(3), ["1110"]),
        (masks.Documents(torch.tensor([0, 1, 1]), torch.tensor([0, 0, 1, 2])), ["1100", "0010", "0010"]),
        (~masks.Causal("start"), ["0111", "0011", "0001"]),
        (masks.Causal("start") | masks.Prefix(2), ["1100", "1100", "1110"]),
        (masks.Causal("start") & ~masks.Prefix(1), ["0000", "0100", "0110"]),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_drawn(mask, rows):
    assert dense(mask, q=3).int().tolist() == [[int(c) for c in row] for row in rows]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_centre_of_a_half_type_rounds_no_distance(dtype):
    center = torch.tensor([0.9941, 4096.0]).to(dtype)
    found = dense(masks.Around(center, 2.0), q=2, k=4200)
    exact = (torch.arange(4200) - center.double()[:, None]).abs() <= 2
    assert torch.equal(found, exact)
    assert exact.sum(1).tolist() == [3, 5]


def test_a_block_of_queries_is_those_rows():
    mask = masks.Causal("end") & masks.Window(2, 0, "end")
    assert torch.equal(dense(mask, 5, 7, start=2, rows=2), dense(mask, 5, 7)[2:4])


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


def test_align_of_each_sequence_is_its_own():
    steps = torch.tensor([0, 3])
    mask = masks.Causal(steps)
    assert dense(mask, q=1, k=4).tolist() == [[[True, False, False, False]], [[True] * 4]]


def test_lengths_have_the_batch_dimensions_of_the_query():
    q, k = torch.randn(2, 3, 4, 8), torch.randn(2, 3, 5, 8)
    lengths = torch.tensor([5, 2])
    per_sequence = attend(q, k, k, mask=masks.Lengths(lengths[:, None]))
    torch.testing.assert_close(per_sequence[1], attend(q[1], k[1, :, :2], k[1, :, :2]))
    with pytest.raises(errors.ShapeError, match="lengths"):
        attend(q, k, k, mask=masks.Lengths(lengths))


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
