import itertools

import pytest
import torch

from calls import call_of, drawn
from saccade import AuxRequest, attend, biases, errors, explain, masks, nn, normalizers, remember, scores
from saccade._definitions.functions import Tables, closing, functions
from saccade._definitions.structure import Grid
from saccade.backends.blockwise import plan
from saccade.backends.blockwise.engine import engine_named
from saccade.backends.blockwise.parts import Block, Tiles
from tiers import every

X = torch.zeros(2, 3, 5, 4)
KINDS = {
    "masks.Where": ("mask", masks.Where, torch.ones(5, 5).bool()),
    "biases.Position": ("bias", biases.Position, torch.ones(5, 5)),
}


def grid(q, k, **more):
    return Grid(q, k, 0, q, torch.device("cpu"), **more)


@pytest.mark.parametrize("owner", KINDS)
def test_what_is_no_function_is_refused(owner):
    _, kind, values = KINDS[owner]
    with pytest.raises(errors.ArgumentTypeError, match=rf"function of {owner}: expected a function \(i, j\), got int"):
        kind(3)
    with pytest.raises(
        errors.ArgumentTypeError, match="got Tensor; a (boolean|floating) tensor is a (mask|bias) by itself"
    ):
        kind(values)


def test_functions_of_other_arguments_are_refused():
    with pytest.raises(errors.ArgumentTypeError, match=r"masks.Where: expected one of \(i, j\), got: "):
        attend(X, X, X, mask=masks.Where(lambda i: i > 2))
    with pytest.raises(errors.ArgumentTypeError, match=r"biases.Position: expected one of \(i, j\) and 1 tables"):
        attend(X, X, X, bias=biases.Position(lambda i, j: i * 0.5, torch.ones(3)))
    with pytest.raises(TypeError, match="unsupported operand"):
        attend(X, X, X, mask=masks.Where(lambda i, j: i + None))


WRONG = {
    "another kind": (
        lambda values: lambda i, j: i - j,
        errors.ArgumentTypeError,
        "expected it to return .*, got dtype torch.int64",
    ),
    "no tensor": (lambda values: lambda i, j: 1.0, errors.ArgumentTypeError, "expected it to return .*, got float"),
    "turned": (
        lambda values: lambda i, j: values[j, i].mT,
        errors.ShapeError,
        r"expected a shape that broadcasts .*\(\.\.\., 2, 3\).*got \(3, 2\). Batch dimensions go in front",
    ),
    "batch behind": (
        lambda values: lambda i, j: values[i, j][..., None],
        errors.ShapeError,
        "Batch dimensions go in front",
    ),
    "another batch": (
        lambda values: lambda i, j: values.expand(4, 1, 5, 5)[:, :, i, j],
        errors.ShapeError,
        r"leading dimensions that broadcast to \(2, 3\), got \(4, 1\)",
    ),
    "too short": (
        lambda values: lambda i, j: values[:4][i, j],
        errors.ArgumentError,
        "any queries i < Lq = 5 and keys j < Lk = 5 .*IndexError",
    ),
    "values looked at": (
        lambda values: lambda i, j: values[i, j] if int(i[0]) >= 0 else None,
        errors.ArgumentError,
        "torch.func.vmap.*RuntimeError",
    ),
    "random": (
        lambda values: lambda i, j: values[i, j] + torch.rand(1) > 0,
        errors.ArgumentError,
        "torch.func.vmap.*RuntimeError",
    ),
    "elsewhere": (
        lambda values: lambda i, j: values[i, j].to("meta"),
        errors.ArgumentError,
        r"answers on cpu, where query is, got meta; move .*\.to\(query.device\)",
    ),
}


@every(("owner", "backend"), list(zip(KINDS, itertools.cycle(["reference", "chunked", "auto"]))))
@every("name", WRONG)
def test_what_a_function_answers_is_checked(name, owner, backend):
    argument, kind, values = KINDS[owner]
    make, error, message = WRONG[name]
    with pytest.raises(error, match=f"function of {owner}: .*{message}"):
        attend(X, X, X, **{argument: kind(make(values))}, backend=backend)


def test_errors_of_the_functions_own_are_left_alone():
    def function(i, j):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        attend(X, X, X, mask=masks.Where(function))


def test_tables_are_tensors_where_the_query_is():
    with pytest.raises(errors.ArgumentTypeError, match=r"tables of biases.Position: expected tensors, got list"):
        biases.Position(lambda i, j, table: table, [1.0])
    with pytest.raises(errors.ArgumentError, match="tables of biases.Position: expected device cpu"):
        attend(X, X, X, bias=biases.Position(lambda i, j, table: table[i], torch.ones(5, device="meta")))


def test_a_call_without_pairs_asks_nothing():
    def function(i, j):
        raise AssertionError

    for q, k in ((0, 5), (5, 0), (0, 0)):
        x, y = X[..., :q, :], X[..., :k, :]
        for backend in ("auto", "reference", "chunked", "cpu", "sdpa"):
            mask = masks.Where(lambda i, j: i < j)
            assert (attend(x, y, y, mask=mask, bias=biases.Position(lambda i, j: i * 0.5), backend=backend) == 0).all()
        call_of(x, y, y, mask=masks.Where(function))


def test_tiles_are_never_taken_for_the_batch():
    """As many tiles as batch entries: a function that compares j with a length an entry says the same of each tile."""
    lengths, k_len = torch.tensor([3, 5, 6]), 6
    mask = masks.Where(lambda i, j: j < lengths[:, None, None])
    tiles = Tiles(None, 0, 1, torch.arange(3), 2, torch.tensor([[0, 1], [1, 2], [0, 2]]), 2, k_len)
    narrowed, whole = mask.dense(tiles.grid(grid(6, k_len, rank=1))), mask.dense(grid(6, k_len)).expand(3, 6, 6)
    assert narrowed.shape[:2] == (3, 3)
    for tile, keys in enumerate(tiles.keys):
        places = (keys[:, None] * 2 + torch.arange(2)).flatten()
        expected = whole[:, 2 * tile : 2 * tile + 2][..., places]
        assert torch.equal(narrowed[:, tile].expand(3, 2, 4), expected)


@every("dim", [0, 1])
@every("lead", [(), (3,), (2, 1), (1, 3), (2, 3)])
def test_parts_of_the_batch_get_their_own_answers(lead, dim):
    allowed = torch.rand(*lead, 8, 9, generator=torch.Generator().manual_seed(3)) > 0.5
    mask, full = masks.Where(lambda i, j: allowed[..., i, j]), allowed.expand(2, 3, 8, 9)
    call, size = grid(8, 9, rank=2), (2, 3)[dim]
    part = Block(dim, size - 1, 1, 2, 4, 3, 5)
    found = mask.dense(part.grid(call))
    assert torch.equal(found.expand(part.narrow(full, ("q", "k")).shape), part.narrow(full, ("q", "k")))
    tiles = Tiles(dim, size - 1, 1, torch.tensor([0, 1]), 4, torch.tensor([[0, 2], [1, 2]]), 4, 9)
    found, expected = mask.dense(tiles.grid(call)), tiles.narrow(full, ("q", "k"))
    present = tiles.grid(call).present()
    assert torch.equal(found.expand(expected.shape) & present, expected & present)


@pytest.fixture
def little_blocks(monkeypatch):
    for name, value in (("SIZE", 2), ("LEAST", 0), ("SPARSE", 1.1), ("SLACK", 1.0), ("ENTRY", 0)):
        monkeypatch.setattr(plan, name, value)
    for engine in map(engine_named, ("chunked", "cpu")):
        monkeypatch.setitem(vars(engine), "pairs", 20)


BACKENDS = ("reference", "chunked", "cpu", "sdpa", "auto")


def position(table, tables):
    if tables:
        return biases.Position(lambda i, j, table: table[..., (j - i).clamp(-2, 2) + 2].sin(), table)
    return biases.Position(lambda i, j: table[..., (j - i).clamp(-2, 2) + 2].sin())


@pytest.mark.parametrize("tables", [True, False], ids=["tables", "closed over"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["bias", pytest.param("gate", marks=pytest.mark.slow)])
def test_gradients_reach_tables_and_closures(backend, kind, tables, little_blocks):
    if (backend, kind) == ("sdpa", "gate"):
        pytest.skip("torch's kernels know no gate")
    query, key, value = (drawn(2, length, 1, seed=length, dtype=torch.float64) for length in (3, 5, 5))
    table = drawn(2, 5, seed=1, dtype=torch.float64)
    mask = masks.Window(2, 1, align=1) & masks.Where(lambda i, j: (i + j) % 5 != 0)

    def run(query, table, value):
        return attend(query, key, value, mask=mask, backend=backend, **{kind: position(table, tables)})

    leaves = [tensor.requires_grad_() for tensor in (query, table, value)]
    assert torch.autograd.gradcheck(run, leaves, fast_mode=True)
    assert torch.autograd.gradgradcheck(run, leaves, fast_mode=True)


@pytest.mark.parametrize("tables", [True, False], ids=["tables", "closed over"])
@pytest.mark.parametrize("backend", ["reference", "chunked", "cpu"])
def test_gradients_of_statistics(backend, tables, little_blocks):
    query, key = (drawn(2, length, 2, seed=length, dtype=torch.float64) for length in (3, 5))
    table = drawn(2, 5, seed=1, dtype=torch.float64).requires_grad_()

    def run(table):
        request = AuxRequest(lse=True, entropy=True, received=True)
        score = scores.Additive(torch.ones(2, dtype=torch.float64))
        _, aux = attend(query, key, key, score=score, bias=position(table, tables), aux=request, backend=backend)
        return aux.lse, aux.entropy, aux.received

    assert torch.autograd.gradcheck(run, [table], fast_mode=True)


@pytest.mark.parametrize("tables", [True, False], ids=["tables", "closed over"])
def test_transforms_reach_tables_and_closures(tables):
    x, batch = drawn(5, 2, dtype=torch.float64), drawn(4, 5, seed=1, dtype=torch.float64)

    def run(table):
        allowed = table > -1
        mask = masks.Where(lambda i, j: allowed[(j + i) % 5])
        return attend(x, x, x, bias=position(table, tables), mask=mask, backend="chunked")

    found = torch.func.vmap(run)(batch)
    torch.testing.assert_close(found, torch.stack([run(table) for table in batch]))
    jacobian = torch.func.jacrev(run)(batch[0])
    torch.testing.assert_close(jacobian, torch.autograd.functional.jacobian(run, batch[0]))


@pytest.mark.slow
@pytest.mark.parametrize("tables", [True, False], ids=["tables", "closed over"])
def test_compilers_go_by_the_definition(tables):
    x, table = drawn(2, 3, 5, 4, dtype=torch.float64), drawn(3, 5, seed=1, dtype=torch.float64)
    allowed = drawn(2, 1, 5, 5, seed=2) > 0

    def run(x, table, allowed):
        mask = masks.Where(lambda i, j: allowed[..., i, j])
        return attend(x, x, x, bias=position(table, tables), mask=mask)

    compiled = torch.compile(run, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(x, table, allowed), run(x, table, allowed))


def test_a_fixed_function_goes_by_blocks_of_keys(little_blocks):
    x, table = drawn(2, 3, 20, 4), drawn(5, seed=1)
    cpu = torch.device("cpu")
    assert not closing(masks.Where(lambda i, j: i == j), position(table, False), device=cpu)
    table.requires_grad_()
    assert closing(masks.Causal(), position(table, False), device=cpu)
    assert not closing(position(table, True), None, device=cpu)
    with torch.no_grad():
        assert not closing(position(table, False), device=cpu)
    mask = masks.Where(lambda i, j: (i - j).abs() < 3)
    pairs = plan.pairs(call_of(x, x, x, mask=mask, bias=position(table, True)).aligned(), 1 << 20, all_of_them=False)
    assert pairs.allowed == 6 * (20 * 5 - 6) and pairs.computed < 2 * pairs.allowed


def test_a_long_call_computes_what_a_function_allows():
    x = torch.zeros(1, 2, 3000, 8)
    window, where = masks.Window(100, 0), masks.Where(lambda i, j: (j <= i) & (j >= i - 100))
    found = [explain(x, x, x, mask=mask, score=scores.Additive(torch.ones(8))) for mask in (window, where)]
    assert found[0].pairs == found[1].pairs and found[0].backend == found[1].backend == "cpu"
    halves = torch.tensor([50, 3000])
    mask = masks.Where(lambda i, j: (j <= i) & (j >= i - halves[:, None, None]))
    pairs = explain(x, x, x, mask=mask, normalizer=normalizers.Sparsemax()).pairs
    assert pairs.allowed == 51 * 3000 - 50 * 51 // 2 + 3000 * 3001 // 2 and pairs.computed < 1.3 * pairs.allowed


def test_a_map_is_made_once_a_call_and_anew_for_the_next():
    asked, allowed = [], torch.ones(400, dtype=torch.bool)

    def function(i, j):
        asked.append(torch.broadcast_shapes(i.shape, j.shape).numel())
        return allowed[j] & (j <= i)

    x, mask = drawn(1, 2, 400, 8).requires_grad_(), masks.Where(function)
    options = {"mask": mask, "normalizer": normalizers.Sparsemax(), "backend": "chunked"}
    output = attend(x, x, x, **options)
    counted = len(asked)
    output.sum().backward()
    assert 0 < len(asked) - counted < counted
    allowed[:300] = False
    torch.testing.assert_close(attend(x, x, x, **options), attend(x, x, x, **{**options, "backend": "reference"}))


def test_memories_are_read_under_functions():
    query, key, value = drawn(2, 3, 4, 8), drawn(2, 3, 90, 8, seed=1), drawn(2, 3, 90, 8, seed=2)
    steps = torch.tensor([[10], [80]])
    mask = masks.Where(lambda i, j: (steps[..., None, None] - j).abs() <= i)
    bias = biases.Position(lambda i, j: -0.1 * (i - j).abs())
    for score in (scores.ScaledDot(), scores.Additive(torch.ones(8))):
        memory = remember(key, value, score=score, mask=masks.Lengths(torch.tensor([[90], [77]])))
        found = memory.read(query, mask=mask, bias=bias)
        both = mask & masks.Lengths(torch.tensor([[90], [77]]))
        torch.testing.assert_close(
            found, attend(query, key, value, score=score, mask=both, bias=bias, backend="reference")
        )
    with pytest.raises(errors.ArgumentError, match=r"one of these keys alone.*\(give that to read\)"):
        remember(key, value, mask=mask)


def test_modules_take_them():
    module, x = nn.MultiheadAttention(8, 2), drawn(3, 6, 8)
    last = torch.arange(6).expand(3, 6)
    where = masks.Where(lambda i, j: (j <= i) & (j >= i - 1))
    torch.testing.assert_close(module(x, mask=where), module(x, mask=masks.Window(1, 0)))
    torch.testing.assert_close(module(x, mask=masks.Intervals(last - 1, last + 1)), module(x, mask=masks.Window(1, 0)))


def test_functions_in_a_tree_are_found():
    where, bias = masks.Where(lambda i, j: i == j), biases.Position(lambda i, j: i * 1.0)
    assert list(functions(masks.Causal() | ~where)) == [where] and list(functions(bias + torch.ones(1))) == [bias]
    assert list(functions(None)) == list(functions(masks.Causal())) == []


def test_tables_keep_their_dimensions_wherever_the_batch_stands():
    bias = biases.Position(lambda i, j, a, b: a[j] + b[i, 0], torch.arange(5.0), torch.ones(5, 2, dtype=torch.int32))
    assert bias.leaf_names() == ["tables_0", "tables_1"] and isinstance(bias.tables, Tables)
    aligned = call_of(X, X, X, bias=bias).aligned()
    assert [tuple(leaf.tensor.shape) for leaf in aligned.bias.leaves()] == [(1, 1, 5), (1, 1, 5, 2)]
    for one in (bias, aligned.bias):
        assert torch.equal(one.values(grid(5, 5), torch.float64), (torch.arange(5.0) + 1).expand(5, 5).double())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_tables_of_half_types_are_read_in_float32(dtype):
    bias = biases.Position(lambda i, j, table: table[j] * 1.001, torch.ones(5, dtype=dtype))
    assert (bias.values(grid(5, 5), torch.float32) == 1.001).all()


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (1, 1, 1)])
@pytest.mark.parametrize("length", [5, 300])
def test_an_answer_that_no_position_changes_is_that_of_all(shape, length):
    x = torch.randn(1, length, 4)
    some = attend(x, x, x, mask=masks.Where(lambda i, j: torch.ones(shape, dtype=torch.bool)))
    moved = attend(x, x, x, bias=biases.Position(lambda i, j: torch.full(shape, 3.0)))
    assert torch.allclose(some, attend(x, x, x), atol=1e-6) and torch.allclose(moved, attend(x, x, x), atol=1e-6)
