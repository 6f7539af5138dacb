import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from laws import checks
from laws.case import Case
from laws.table import SCORES
from saccade import AuxRequest, attend, biases, masks, reads, remember, scores
from saccade.errors import ArgumentError, ShapeError
from saccade.memory._ring import extended, kept, with_room
from tiers import every

SERVED = [name for name, score in SCORES.items() if "positional" not in score.traits and "positions" not in name]
AUX = AuxRequest(lse=True, entropy=True)


def tensors(length=9, batch=(2,), dtype=torch.float64):
    torch.manual_seed(0)
    return [torch.randn(*batch, length, size, dtype=dtype) for size in (4, 3)]


def streamed(key, value, capacity, pieces, **more):
    """A memory of `capacity` slots to which keys are written in pieces."""
    memory = remember(key[..., :0, :], value[..., :0, :], positions=torch.arange(0), capacity=capacity, **more)
    start = 0
    for count in pieces:
        part = slice(start, start + count)
        memory = memory.write(torch.arange(start, start + count), key[..., part, :], value[..., part, :])
        start += count
    return memory


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("name", SERVED)
def test_slots_are_the_last_keys_of_all(name, grad):
    case = Case(name, "sum" if "nonnegative" in SCORES[name].traits else "softmax")
    inputs = checks.differentiable(case.inputs()) if grad else case.inputs()
    arguments = case.arguments(inputs)
    more = {"normalizer": arguments["normalizer"], "aux": case.everything()}
    mask = masks.Window(4, 1, align="end") & masks.Lengths(torch.tensor(6))
    with torch.set_grad_enabled(grad):
        memory = streamed(inputs["key"], inputs["value"], 4, (2, 1, 3, 1), score=arguments["score"])
        got = memory.read(inputs["query"], mask=mask, **more)
        want = case.run(inputs, case.everything(), mask=mask & ~masks.Prefix(3))
    checks.same(got[0], want[0])
    for field in ("lse", "entropy"):
        if getattr(want[1], field) is not None:
            checks.same(getattr(got[1], field), getattr(want[1], field))
    if grad:
        leaves = checks.learning(inputs)
        ours, theirs = ([tensor.sum() for tensor in (found[0],)] for found in (got, want))
        checks.same(checks.gradients(ours[0], leaves), checks.gradients(theirs[0], leaves), 1e-7)


MASKS = {
    "causal": masks.Causal("end"),
    "window": masks.Window(2, 1, align=8),
    "window of each": masks.Window(2, 1, align=torch.tensor([8, 6])),
    "around": masks.Around(torch.tensor([[7.5, 3.0]]), 1.5),
    "not around": ~masks.Around(torch.tensor([[7.5, 3.0]]), 1.5) | masks.Prefix(6),
    "intervals": masks.Intervals(torch.tensor([[5, 2]]), torch.tensor([[9, 7]])),
    "function": masks.Where(lambda i, j: (i + j) % 3 > 0),
    "lengths": masks.Lengths(torch.tensor([8, 2])),
    "none": None,
}
BIASES = {
    "none": {},
    "alibi": {"bias": biases.Alibi(torch.tensor(0.5), align="end")},
    "relative": {"bias": biases.RelativePosition(torch.randn(5).double(), align="end") + torch.ones(1).double()},
    "function": {"bias": biases.Position(lambda i, j: (j - i).double().sin())},
    "gate": {"gate": biases.GaussianWindow(torch.tensor([[7.5, 3.0]]).double(), 2.0)},
}


@pytest.mark.parametrize(("mask", "factor"), list(zip(MASKS, itertools.cycle(BIASES))))
def test_masks_and_biases_compare_the_positions_of_slots(mask, factor):
    mask, factor = MASKS[mask], BIASES[factor]
    key, value = tensors()
    query = torch.randn(2, 2, 4, dtype=torch.float64)
    got = streamed(key, value, 5, (4, 5)).read(query, mask=mask, **factor)
    last = ~masks.Prefix(4)
    torch.testing.assert_close(got, attend(query, key, value, mask=last if mask is None else mask & last, **factor))


@pytest.mark.parametrize(
    "score", [scores.ScaledDot(), scores.Additive(torch.randn(4).double())], ids=["dot", "additive"]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_stream_is_a_window_over_the_whole_sequence(score, dtype):
    key, value = tensors(40, dtype=dtype)
    query, score = torch.randn(2, 40, 4, dtype=dtype), score.map(lambda tensor, axes: tensor.to(dtype))
    u = torch.rand(2, 40, dtype=dtype)
    memory, places = streamed(key, value, 6, (), score=score), set()
    with torch.no_grad():
        for step in range(40):
            one = slice(step, step + 1)
            memory = memory.write(torch.tensor([step]), key[:, one], value[:, one])
            places.add(memory.key.untyped_storage().data_ptr())
            read = reads.Sample(uniform=u[:, one])
            for kind in (reads.Soft(), read):
                got = memory.read(query[:, one], mask=masks.Window(5, 0, align="end"), read=kind)
                seen = key[:, : step + 1], value[:, : step + 1]
                want = attend(query[:, one], *seen, score=score, mask=masks.Window(5, 0, align="end"), read=kind)
                torch.testing.assert_close(got, want)
            assert len(memory) == 6 and memory.key.untyped_storage().nbytes() <= 13 * memory.key[:, 0].nbytes
    assert len(places) < 10  # room for as many keys as are kept: it is used up every sixth step


@st.composite
def writings(draw):
    capacity, entries = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    each = st.lists(st.integers(-1, 9), min_size=0, max_size=6)
    steps = []
    for _ in range(draw(st.integers(1, 4))):
        first = draw(each)
        shared = draw(st.booleans())
        more = [
            draw(st.lists(st.integers(-1, 9), min_size=len(first), max_size=len(first))) for _ in range(entries - 1)
        ]
        steps.append([first] if shared else [first, *more])
    return capacity, entries, steps


@given(writings(), st.booleans())
def test_any_positions_in_any_order(writing, grad):
    capacity, entries, steps = writing
    memory = remember(
        torch.zeros(entries, 0, 1), torch.zeros(entries, 0, 1), positions=torch.arange(0), capacity=capacity
    )
    known, number = [{} for _ in range(entries)], 0
    with torch.set_grad_enabled(grad):
        for step in steps:
            count = len(step[0])
            values = torch.arange(number, number + entries * count).float().view(entries, count, 1)
            positions = torch.tensor(step if len(step) == entries and entries > 1 else step[0], dtype=torch.int64)
            memory = memory.write(positions, values, values)
            for entry in range(entries):
                row = step[entry] if positions.ndim > 1 else step[0]
                known[entry] |= {place: float(values[entry, n]) for n, place in enumerate(row) if place >= 0}
                known[entry] = dict(sorted(known[entry].items())[-capacity:])
            number += entries * count
    held = memory.positions.expand(entries, capacity)
    for entry in range(entries):
        filled = held[entry] >= 0
        assert held[entry][filled].tolist() == list(known[entry])
        assert memory.value[entry, filled, 0].tolist() == list(known[entry].values())
        assert not filled[: capacity - len(known[entry])].any()


def test_two_writes_to_one_memory_never_see_each_other():
    key, value = tensors()
    with torch.no_grad():
        start = streamed(key, value, 3, (3, 1))
        before = start.key.clone()
        one, other = (start.write(torch.tensor([4]), key[:, n : n + 1], value[:, n : n + 1]) for n in (5, 6))
        for step in range(5, 20):
            one = one.write(torch.tensor([step]), key[:, 7:8], value[:, 7:8])
    assert torch.equal(start.key, before)
    torch.testing.assert_close(other.key, key[:, [2, 3, 6]])


def test_a_plain_memory_is_written_to_by_slots():
    key, value = tensors(5)
    memory = remember(key, value, mask=masks.Lengths(torch.tensor([5, 4])))
    changed = memory.write(torch.tensor([[1], [3]]), -key[:, :1], -value[:, :1])
    torch.testing.assert_close(changed.key[0], key[0].index_put((torch.tensor([1]),), -key[0, :1]))
    torch.testing.assert_close(changed.key[1], key[1].index_put((torch.tensor([3]),), -key[1, :1]))
    assert changed.positions.tolist() == [list(range(5))] * 2 and changed.mask[1, 0].tolist() == [True] * 4 + [False]
    query = torch.randn(2, 1, 4).double()
    expected = attend(query, changed.key, changed.value, mask=masks.Lengths(torch.tensor([5, 4])))
    torch.testing.assert_close(changed.read(query), expected)


def test_written_masks_are_kept_with_their_keys():
    key, value = tensors(6)
    query, allowed = torch.randn(2, 1, 4).double(), torch.rand(2, 1, 6) > 0.5
    memory = streamed(key[:, :3], value[:, :3], 4, (3,)).write(
        torch.arange(3, 6), key[:, 3:], value[:, 3:], allowed[..., 3:]
    )
    want = attend(query, key, value, mask=~masks.Prefix(2) & (masks.Prefix(3) | allowed))
    torch.testing.assert_close(memory.read(query), want)


@pytest.mark.parametrize("grad", [False, True])
def test_entries_at_positions_of_their_own(grad):
    key, value = tensors(8)
    query = torch.randn(2, 1, 4).double()
    first = torch.tensor([0, 100])
    with torch.set_grad_enabled(grad):
        memory = remember(key[:, :0], value[:, :0], positions=torch.arange(0), capacity=4)
        for step in range(8):
            one = slice(step, step + 1)
            memory = memory.write((first + step)[:, None], key[:, one], value[:, one])
    assert memory.positions.tolist() == [[4, 5, 6, 7], [104, 105, 106, 107]]
    for align in ("end", first + 7):
        got = memory.read(query, mask=masks.Window(2, 0, align=align))
        torch.testing.assert_close(got, attend(query, key, value, mask=masks.Window(2, 0, align="end")))


def test_select_shift_and_truncate_keep_the_positions():
    key, value = tensors(6)
    query, order = torch.randn(2, 1, 4).double(), torch.tensor([1, 1, 0])
    memory = remember(
        key,
        value,
        score=scores.Additive(torch.randn(4).double()),
        capacity=4,
        positions=torch.stack((torch.arange(6), torch.arange(3, 9))),
    )
    mask = masks.Window(2, 0, align="end")
    chosen = memory.select(order)
    torch.testing.assert_close(chosen.read(query[order], mask=mask), memory.read(query, mask=mask)[order])
    moved = memory.shift(torch.ones(4, 4).double())
    torch.testing.assert_close(moved.read(query, mask=mask), memory.read(query + 1, mask=mask))
    for cut in (memory.truncate(5), moved.truncate(5)):
        assert cut.positions.tolist() == [[-1, 2, 3, 4], [-1, -1, -1, -1]] and cut.capacity == 4
        assert (cut.read(query, mask=mask)[1] == 0).all()
    later = memory.truncate(5).write(torch.tensor([5]), key[:, 5:], value[:, 5:])
    assert later.positions.tolist() == [[2, 3, 4, 5], [-1, -1, -1, 5]]


def test_heads_share_the_positions_of_their_example():
    key, value = tensors(6, (2, 3))
    query = torch.randn(2, 3, 1, 4).double()
    memory = remember(key, value, positions=torch.arange(6).expand(2, 1, 6), capacity=3)
    got = memory.read(query, mask=masks.Window(1, 0, align="end"))
    torch.testing.assert_close(got, attend(query, key, value, mask=masks.Window(1, 0, align="end")))


def test_transforms_write_and_read():
    key, value = tensors(5)
    query, mask = torch.randn(2, 1, 4).double(), masks.Window(2, 0, align="end")

    def loss(key, value):
        memory = remember(key[:, :3], value[:, :3], positions=torch.arange(3))
        return memory.write(torch.arange(3, 5), key[:, 3:], value[:, 3:]).read(query, mask=mask).sum()

    found = torch.func.grad(loss, (0, 1))(key, value)
    torch.testing.assert_close(
        found, torch.func.grad(lambda *parts: attend(query, *parts, mask=mask).sum(), (0, 1))(key, value)
    )


def test_no_slots_keep_nothing():
    key, value = tensors(3)
    memory = remember(key, value, positions=torch.arange(3), capacity=0).write(
        torch.tensor([3]), key[:, :1], value[:, :1]
    )
    assert len(memory) == 0 and (memory.read(torch.randn(2, 2, 4).double()) == 0).all()
    assert [part.shape for part in kept([torch.zeros(3, 2), torch.arange(3)[:, None]], 0)] == [(0, 2), (0, 1)]


def ring():
    key, value = tensors(3)
    return remember(key, value, positions=torch.arange(3)), key, value


ERRORS = {
    "positions: expected an integer tensor (..., n), got list": lambda m, k, v: m.write([1], k, v),
    "positions: expected an integer tensor, got dtype torch.float32": lambda m, k, v: m.write(torch.ones(3), k, v),
    "positions: expected (..., n) with n = 3, got shape (2,)": lambda m, k, v: m.write(torch.arange(2), k, v),
    "positions: expected at least 0, or -1 for none, got less": lambda m, k, v: m.write(torch.arange(3) - 2, k, v),
    "positions: expected no leading dimensions or all 1 of query (2,), got (1, 1)": lambda m, k, v: m.write(
        torch.arange(3)[None, None], k, v
    ),
    "key: expected (2, n, 4) as in the memory, got (2, n, 3)": lambda m, k, v: m.write(torch.arange(3), v, v),
    "memory: expected one that grows, got one of 3 slots. Use write(positions, key, value).": lambda m, k, v: m.append(
        k, v
    ),
    "align of Causal: expected 'start', 'end', an int or a tensor, since keys of a memory of slots stand anywhere": (
        lambda m, k, v: m.read(k[:, :1], mask=masks.Causal() & masks.Prefix(2))
    ),
    "align of Alibi: expected 'start', 'end', an int or a tensor, since keys of a memory of slots stand anywhere": (
        lambda m, k, v: m.read(k, bias=biases.Alibi(torch.ones(())))
    ),
    "key_lengths of masks.Lengths: expected lengths of at least 0, got less": lambda m, k, v: m.read(
        k, mask=masks.Lengths(torch.tensor([-1, 2]))
    ),
    "mask: expected a shape that broadcasts to (..., Lq, Lk) = (2, 3, 3)": lambda m, k, v: m.read(
        k, mask=torch.ones(3, 4, dtype=torch.bool)
    ),
    "score: expected one of contents alone for a memory of slots, which hold any position, got scores.Location": (
        lambda m, k, v: remember(k, v, score=scores.Location(torch.ones(3, 4).double()), positions=torch.arange(3))
    ),
    "which hold any position, got a callable that takes positions": lambda m, k, v: remember(
        k, v, score=lambda query, key, positions: query @ key.mT
    ).write(torch.arange(3), k, v),
    "function of masks.Where: expected a memory whose entries share their positions": lambda m, k, v: m.write(
        torch.tensor([[3, 4, 5], [4, 5, 6]]), k, v
    ).read(k, mask=masks.Where(lambda i, j: i < j)),
    "value: expected a tensor with positions=, got a function of keys": lambda m, k, v: remember(
        k, lambda index: v[index], positions=torch.arange(3)
    ),
    "memory: expected values as a tensor to append to, got a function of keys": lambda m, k, v: remember(
        k, lambda index: v[index]
    ).write(torch.arange(3), k, v),
    "n: expected an int of at least 0, got -1": lambda m, k, v: m.truncate(-1),
}


@every("message", ERRORS)
def test_errors_say_what_was_expected(message):
    with pytest.raises((ArgumentError, ShapeError)) as raised:
        ERRORS[message](*ring())
    assert message in str(raised.value)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8])
def test_positions_and_entries_may_be_narrow_integers(dtype):
    memory = remember(torch.zeros(2, 3, 4), torch.zeros(2, 3, 4), positions=torch.arange(3))
    written = memory.write(torch.tensor([7], dtype=dtype), torch.ones(2, 1, 4), torch.ones(2, 1, 4))
    assert written.positions.tolist() == [1, 2, 7]
    assert len(written.select(torch.tensor([1, 1, 0], dtype=dtype)).value) == 3


def test_a_stream_is_read_under_autocast():
    key, query = torch.randn(2, 4, 8), torch.randn(2, 1, 8)
    with torch.autocast("cpu", torch.bfloat16):
        memory = remember(key, key, positions=torch.arange(4)).write(torch.tensor([4]), query, query)
        found = memory.read(query, mask=masks.Window(2, 0, align="end"))
    assert found.dtype == torch.bfloat16
    near = torch.cat((key[:, 2:], query), 1)
    assert torch.allclose(found.float(), attend(query, near, near), atol=0.1)


def test_functions_are_asked_of_held_positions_alone():
    key, value = tensors(3)
    memory = remember(key, value, positions=torch.tensor([6, 7, 9]), capacity=12)  # nine slots without a key
    open_at, extra = torch.tensor([True] * 9 + [False]), torch.randn(10).double()
    functions = {
        "mask": masks.Where(lambda i, j: open_at[j] | (j == 6)),
        "bias": biases.Position(lambda i, j, table: table[j], extra),
    }
    expected = attend(key, key[:, :2], value[:, :2], bias=extra[[6, 7]])
    torch.testing.assert_close(memory.read(key, **functions), expected)
    learned = torch.zeros(10, dtype=torch.double, requires_grad=True)
    memory.read(key, bias=biases.Position(lambda i, j, table: table[j], learned)).square().sum().backward()
    assert learned.grad.nonzero().flatten().tolist() == [6, 7, 9]
    for name, part in functions.items():
        with pytest.raises(ArgumentError, match=r"function of .*: expected it to answer for any .* j < Lk = 11"):
            memory.write(torch.tensor([10]), key[:, :1], value[:, :1]).read(key, **{name: part})


@pytest.mark.parametrize("score", [scores.ScaledDot(), scores.Additive(torch.ones(4).double())])
def test_shared_keys_are_written_to_slots_of_each_entry(score):
    (key, value), each = tensors(5), torch.tensor([[0, 1], [1, 0]])
    key, mask = key[:1], torch.tensor([[[True]], [[False]]])
    memory = remember(key[:, :2], value[:, :2], positions=each, score=score)
    memory = memory.write(each[:, :1] + 2, key[:, 2:3], value[:, 2:3], mask=mask)
    memory = memory.write(torch.tensor([4]), key[:, 3:4], value[:, 3:4])
    query = torch.randn(2, 1, 4).double()
    expected = [attend(query[n], key[0, some], value[n, some], score=score) for n, some in enumerate(([2, 3], [3]))]
    torch.testing.assert_close(memory.read(query), torch.stack(expected))
    both = memory.write(each[:, :1] + 5, key[:, 4:], value[:1, 4:])
    assert both.positions.tolist() == [[4, 5], [4, 6]] and torch.equal(both.value[:, 1], value[:1, 4].expand(2, -1))
    with pytest.raises(ShapeError, match="value: expected \\(2, n, 3\\) as in the memory, got \\(3, n, 3\\)"):
        memory.write(torch.tensor([9]), key[:, 4:], value[:1, 4:].expand(3, -1, -1))


def test_what_is_written_behind_is_written_once():
    with torch.no_grad():
        old, new = [torch.zeros(2, 3)], [torch.ones(1, 3)]
        room = with_room(old, 5)
        first, (buffer, end) = extended(old, new, room)
        assert buffer is room.buffer and end == buffer.used == 3 and len(buffer.parts[0]) == 5
        second, (other, _) = extended(old, [new[0] + 1], room)
        assert other is not buffer and first[0][2].eq(1).all() and second[0][2].eq(2).all()


def test_rows_that_are_dropped_stay_in_the_buffer():
    with torch.no_grad():
        first, room = extended([torch.tensor([[1.0], [2.0]])], [torch.tensor([[3.0]])], None, dropped=1)
        second, _ = extended(first, [torch.tensor([[4.0]])], room, dropped=1)
    assert first[0].flatten().tolist() == [2, 3] and second[0].flatten().tolist() == [3, 4]
    assert first[0].untyped_storage().data_ptr() == second[0].untyped_storage().data_ptr()


def test_with_gradients_there_is_no_room():
    joined, room = extended([torch.zeros(2, 3)], [torch.ones(1, 3)], None)
    assert room is None and joined[0].shape == (3, 3)


def test_two_threads_never_write_the_same_room():
    olds = [torch.zeros(2, 3)]
    buffer, _ = with_room(olds, 5)
    assert not buffer.takes([olds[0][None]], 2, 4) and not buffer.takes([*olds, *olds], 2, 4)
    assert buffer.takes(olds, 2, 4) and buffer.used == 4
    assert not buffer.takes(olds, 2, 3) and buffer.used == 4
    assert not buffer.takes(olds, 4, 6) and buffer.used == 4
