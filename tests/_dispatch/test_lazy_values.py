"""Values that are functions: what they are asked for, what comes of it, and what is refused."""

import pytest
import torch

from saccade import AuxRequest, attend, explain, masks, normalizers, reads, remember, scores
from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError

DRAW = reads.Sample(uniform=torch.tensor(0.4)[None])
FEW = [DRAW, reads.Argmax(), reads.TopK(3)]
ALL = [reads.Soft(), reads.Sample("straight_through", uniform=DRAW.uniform), reads.Argmax("straight_through")]


def forbidding(query, key):
    """A score that forbids keys by itself."""
    return (query @ key.mT).masked_fill(key[..., 0][:, None] > 1, -torch.inf)


class Asked:
    """A table of values that notes what it is asked for."""

    def __init__(self, table):
        self.table, self.calls = table, []

    def __call__(self, index):
        self.calls.append(list(zip(*(part.tolist() for part in index), strict=True)))
        return self.table[index]


@pytest.fixture
def tensors():
    return tuple(torch.randn(2, length, dim, dtype=torch.float64) for length, dim in ((5, 8), (1009, 8), (1009, 3)))


@pytest.mark.parametrize("read", FEW, ids=lambda read: type(read).__name__)
def test_what_is_read_is_asked_for_once(tensors, read):
    query, key, value = tensors
    asked = Asked(value)
    output, aux = attend(query, key, asked, read=read, aux=AuxRequest(top=3, index=read.chooses))
    assert torch.equal(output, attend(query, key, value, read=read)) or not read.chooses
    (places,) = asked.calls
    taken = aux.index[..., None] if read.chooses else aux.top[1]
    wanted = {(b, j) for b in range(2) for j in taken[b].flatten().tolist()}
    assert set(places) == wanted and len(places) == len(wanted)


def test_a_key_that_many_queries_read_is_computed_once(tensors):
    query, key, value = tensors
    asked = Asked(value)
    attend(query[:, :1].expand(2, 7, 8), key, asked, read=reads.TopK(4))
    assert len(asked.calls[0]) == 2 * 4


def test_heads_that_share_keys_share_their_values():
    query, key, value = torch.randn(2, 3, 4, 5, 8), torch.randn(2, 3, 1, 7, 8), torch.randn(2, 3, 1, 7, 6)
    asked = Asked(value)
    output = attend(query, key, asked, read=reads.Argmax())
    assert torch.equal(output, attend(query, key, value, read=reads.Argmax()))
    assert len(asked.calls[0]) <= 2 * 3 * 7 and all(place[2] == 0 for place in asked.calls[0])
    flat, one = Asked(value[0, 0, 0]), key[0, 0, 0]
    wanted = attend(query, one, flat.table, read=reads.Argmax())
    assert torch.equal(attend(query, one, flat, read=reads.Argmax()), wanted)
    assert len(flat.calls[0]) <= 7


@pytest.mark.parametrize("read", FEW, ids=lambda read: type(read).__name__)
def test_an_empty_row_asks_for_nothing(tensors, read):
    query, key, value = tensors
    value[1] = torch.nan
    weight = torch.ones(3, 3, dtype=torch.float64, requires_grad=True)
    seen = []

    def encoded(index):
        seen.extend(index[0].tolist())
        return value[index] @ weight

    output = attend(query, key, encoded, read=read, mask=masks.Lengths(torch.tensor([1009, 0])))
    output.square().sum().backward()
    assert (output[1] == 0).all() and set(seen) == {0}
    assert weight.grad.isfinite().all() and weight.grad.abs().sum() > 0


@pytest.mark.parametrize("read", FEW, ids=lambda read: type(read).__name__)
def test_where_nothing_is_read_the_function_tells_the_size(read):
    output = attend(torch.randn(2, 5, 8), torch.randn(2, 0, 8), lambda index: torch.randn(len(index[0]), 3), read=read)
    assert output.shape == (2, 5, 3) and (output == 0).all()


def test_keys_of_weight_zero_are_not_read():
    query, key = torch.ones(1, 1), torch.tensor([[9.0], [8.9], [1.0], [0.0]])
    asked = Asked(torch.randn(4, 3))
    options = {"normalizer": normalizers.Sparsemax(), "read": reads.TopK(4), "score": scores.Dot()}
    assert torch.allclose(attend(query, key, asked, **options), attend(query, key, asked.table, **options))
    assert asked.calls == [[(0,), (1,)]]


@pytest.mark.parametrize("read", ALL, ids=lambda read: type(read).__name__)
def test_a_read_of_all_asks_for_all_that_may_be_attended_to(tensors, read):
    query, key, value = (tensor[:, :11] for tensor in tensors)
    value[0, 7:] = torch.nan
    for mask, count in ((None, 22), (masks.Lengths(torch.tensor([7, 2])), 9)):
        asked = Asked(value)
        found = attend(query, key, asked, read=read, mask=mask)
        assert torch.equal(found.nan_to_num(), attend(query, key, value, read=read, mask=mask).nan_to_num())
        assert [len(call) for call in asked.calls] == [count]


@pytest.mark.parametrize("read", FEW, ids=lambda read: type(read).__name__)
@pytest.mark.parametrize("given", [None, scores.Dot(), forbidding])
def test_dropout_drops_the_same(tensors, read, given):
    query, key, value = (tensor[:, :11] for tensor in tensors)
    found = []
    for values in (value, lambda index: value[index]):
        torch.manual_seed(3)
        mask = None if given is None else masks.Lengths(torch.tensor([9, 2]))
        options = {"score": given or scores.ScaledDot(), "mask": mask, "aux": AuxRequest(top=2)}
        found.append(attend(query, key, values, read=read, dropout_p=0.5, **options))
    assert torch.allclose(found[0][0], found[1][0])
    assert all(map(torch.equal, found[0][1].top, found[1][1].top)) and found[1][1].weights is None


def test_only_what_was_asked_for_comes_beside(tensors):
    query, key, value = tensors
    for read in FEW:
        _, aux = attend(query, key, lambda index: value[index], read=read, aux=AuxRequest(lse=True))
        assert torch.utils._pytree.tree_leaves(aux) == [aux.lse]
    _, aux = attend(query, key, lambda index: value[index], read=reads.TopK(2), aux=AuxRequest(top=5))
    assert aux.top[0].shape == (2, 5, 5)


@pytest.mark.parametrize("read", FEW, ids=lambda read: type(read).__name__)
def test_second_derivatives(read):
    query, key, value = (torch.randn(3, 4, dtype=torch.float64, requires_grad=True) for _ in range(3))

    def output(query, key, value):
        return attend(query, key, lambda index: value[index].tanh(), read=read)

    assert torch.autograd.gradgradcheck(output, (query, key, value))


@pytest.mark.parametrize("read", FEW, ids=lambda read: type(read).__name__)
def test_transforms(tensors, read):
    query, key, value = (tensor[:, :11] for tensor in tensors)
    empty = torch.tensor([11, 0])
    wanted = attend(query, key, value, read=read, mask=masks.Lengths(empty))

    def one(query, key, value, length):
        return attend(query, key, lambda index: value[index], read=read, mask=masks.Prefix(length))

    assert torch.allclose(torch.func.vmap(one)(query, key, value, empty), wanted)
    gradient = torch.func.grad(lambda value: one(query[0], key[0], value, 11).sum())(value[0])
    value.requires_grad_()
    attend(query[0], key[0], value[0], read=read).sum().backward()
    assert torch.allclose(gradient, value.grad[0])


@pytest.mark.slow
@pytest.mark.parametrize("read", FEW, ids=lambda read: type(read).__name__)
def test_a_compiler_sees_one_graph(tensors, read):
    query, key, value = (tensor[:, :11].float() for tensor in tensors)
    mask = masks.Lengths(torch.tensor([11, 0]))

    @torch.compile(fullgraph=True, backend="eager")
    def compiled(query, key, value):
        return attend(query, key, lambda index: value[index].tanh(), read=read, mask=mask)

    wanted = attend(query, key, value.tanh(), read=read, mask=mask)
    assert torch.allclose(compiled(query, key, value), wanted, atol=1e-6)


def test_autocast_casts_what_comes():
    query, key, value = torch.randn(2, 5, 8), torch.randn(2, 7, 8), torch.randn(2, 7, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = attend(query, key, lambda index: value[index], read=reads.Argmax())
        assert found.dtype == torch.bfloat16 and torch.equal(found, attend(query, key, value, read=reads.Argmax()))


def test_explain_says_what_is_asked_for_and_asks_for_nothing(tensors):
    query, key, _ = tensors

    def never(index):
        raise AssertionError

    for read, said in (
        (reads.Argmax(), "of the keys that are read alone, at most 10 of 2,018, by one call of the function"),
        (reads.TopK(3), "of the keys that are read alone, at most 30 of 2,018, by one call of the function"),
        (reads.Soft(), "of all 2,018 keys, by one call of the function: Soft reads them all"),
    ):
        assert f"values      {said}" in str(explain(query, key, never, read=read))
    assert explain(query, key, key).values is None


@pytest.mark.parametrize(
    ("function", "error", "said"),
    [
        (lambda index: None, ArgumentTypeError, "value: expected the function to return floats .* got NoneType"),
        (lambda index: torch.ones(1, 3), ShapeError, r"\(n, Dv\) with n = 2, a row for each .* got shape \(1, 3\)"),
        (lambda index: torch.ones(len(index[0])), ShapeError, r"got shape \(2,\)"),
        (lambda index: torch.ones(len(index[0]), 3), ArgumentError, "in query's torch.float64 .* got torch.float32"),
        (lambda index: torch.ones(len(index[0]), 3).to_sparse(), ArgumentTypeError, "in a dense tensor, got layout"),
        (torch.nn.Linear, ArgumentTypeError, "a tensor or a function of the index, got the class Linear"),
        ("values", ArgumentTypeError, "value: expected a tensor, got str"),
    ],
)
def test_what_is_no_value_is_refused(tensors, function, error, said):
    query, key, _ = tensors
    with pytest.raises(error, match=said):
        attend(query[:, :1], key, function, read=reads.Argmax())


def test_a_key_that_is_none_is_named_first():
    with pytest.raises(ArgumentTypeError, match="key: expected a tensor, got str"):
        attend(torch.ones(2, 3), "key", lambda index: index, read=reads.Argmax())


def memory_of(read_value, key, score=None):
    return remember(key, read_value, score=score or scores.ScaledDot())


@pytest.mark.parametrize("read", [*FEW, reads.Soft()], ids=lambda read: type(read).__name__)
def test_a_memory_reads_lazily_and_keeps_nothing_between_reads(tensors, read):
    query, key, value = (tensor[:, :11] for tensor in tensors)
    asked = Asked(value)
    ours, theirs = memory_of(asked, key), memory_of(value, key)
    for step in range(3):
        row = query[:, step : step + 1]
        assert torch.allclose(ours.read(row, read=read), theirs.read(row, read=read))
        asked.table = asked.table + 1
        theirs = memory_of(asked.table, key)
    assert len(asked.calls) == 3


def test_a_memory_is_selected_from_truncated_and_shifted(tensors):
    query, key, value = (tensor[:, :11] for tensor in tensors)
    score, order = scores.Additive(torch.randn(8, dtype=torch.float64)), torch.tensor([1, 0, 1])
    ours, theirs = memory_of(Asked(value), key, score), memory_of(value, key, score)
    for change in (
        lambda memory: memory.select(order),
        lambda memory: memory.truncate(4),
        lambda memory: memory.shift(key.sin()),
        lambda memory: memory.select(order).truncate(4).select(torch.tensor([0, 2])),
    ):
        changed = change(theirs)
        rows = query[:1].expand(len(changed.key), 5, 8)
        found = change(ours).read(rows, read=reads.TopK(2))
        assert torch.allclose(found, changed.read(rows, read=reads.TopK(2)))


def test_beams_of_one_example_share_its_values(tensors):
    query, key, value = (tensor[:, :11] for tensor in tensors)
    asked, order = Asked(value), torch.tensor([0, 0, 0, 1])
    memory, rows = memory_of(asked, key).select(order), query[order, :1]
    wanted = memory_of(value, key).select(order)
    assert torch.allclose(memory.read(rows, read=reads.TopK(2)), wanted.read(rows, read=reads.TopK(2)))
    assert torch.allclose(memory.read(rows), wanted.read(rows))
    assert [len(call) for call in asked.calls] == [4, 22]
    memory = memory_of(lambda index: value[index], key).select(order)
    several = torch.func.vmap(lambda row: memory.read(row, read=reads.TopK(2)))(rows.expand(3, 4, 1, 8))
    assert torch.allclose(several[1], wanted.read(rows, read=reads.TopK(2)))


def test_a_score_with_heads_leaves_the_index_of_the_key(tensors):
    query, key, value = (tensor[:, None, :11] for tensor in tensors)
    score, asked = scores.General(torch.randn(3, 8, 8, dtype=torch.float64)), Asked(value)
    memory = remember(key, asked, score=score)
    wanted = attend(query.expand(2, 3, 5, 8), key, value, score=score, read=reads.Argmax())
    assert torch.equal(memory.read(query.expand(2, 3, 5, 8), read=reads.Argmax()), wanted)
    assert {place[1] for place in asked.calls[0]} == {0}


def test_nothing_is_appended_to_a_memory_of_lazy_values(tensors):
    _, key, value = tensors
    with pytest.raises(ArgumentError, match="memory: expected values as a tensor to append to, got a function"):
        memory_of(Asked(value), key).append(key, value)
    with pytest.raises(ArgumentError, match="capacity: expected None, since nothing is appended"):
        remember(key, Asked(value), capacity=2000)
