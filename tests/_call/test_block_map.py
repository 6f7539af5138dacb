import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade import masks
from saccade._call import block_map
from saccade._call.block_map import mapped, possible
from saccade._definitions import structure
from saccade._definitions.structure import Grid

LENGTHS = st.integers(0, 13)
BATCH = (2, 3)


def everything(q_len, k_len):
    return Grid(q_len, k_len, 0, q_len, torch.device("cpu"))


def aligned(mask):
    return mask.map(lambda tensor, axes: structure.aligned(tensor, axes, len(BATCH)))


def brute(mask, grid, size):
    """Which blocks hold an allowed pair, and which hold nothing else and end before the last query and key."""
    lengths = grid.q_len, grid.k_len
    allowed = mask.dense(grid).expand(*BATCH, *lengths)
    padded = torch.nn.functional.pad(allowed, (0, -lengths[1] % size, 0, -lengths[0] % size))
    parts = padded.unflatten(-1, (-1, size)).unflatten(-3, (-1, size)).transpose(-3, -2)
    return parts.any((-2, -1)), parts.all((-2, -1))


def assert_exact(mask, grid, size):
    some, full = brute(mask, grid, size)
    found = mapped(aligned(mask), grid, size)
    assert torch.equal(found.some.expand(some.shape), some), mask
    assert torch.equal(found.all.expand(full.shape), full), mask


def assert_sound(mask, grid, size):
    """No block is passed over that holds an allowed pair, and none is full that holds a forbidden one."""
    some, full = brute(mask, grid, size)
    found = mapped(aligned(mask), grid, size)
    assert (found.some.expand(some.shape) | ~some).all() and (full | ~found.all.expand(full.shape)).all(), mask
    assert (found.some | ~found.all).all(), mask


@given(LENGTHS, LENGTHS, st.integers(1, 5), st.sampled_from(["start", "end", -3, 2]), st.integers(0, 4), st.data())
def test_blocks_of_one_mask_are_those_of_all_its_pairs(q_len, k_len, size, align, width, data):
    grid = everything(q_len, k_len)
    aligns = torch.tensor(data.draw(st.lists(st.integers(-9, 9), min_size=3, max_size=3)))
    lengths = torch.tensor(data.draw(st.lists(st.integers(0, k_len), min_size=2, max_size=2)))[:, None]
    for mask in (
        masks.Causal(align),
        masks.Causal(aligns),
        masks.Window(width, 1, align),
        masks.Window(width, None, aligns),
        masks.Window(None, None, align),
        masks.Lengths(lengths),
        masks.Prefix(width),
        masks.Prefix(lengths),
        masks.Causal(align) & masks.Lengths(lengths),
        masks.Causal(align) & masks.Window(width, None, align),
    ):
        assert_exact(mask, grid, size)
        assert_exact(~mask, grid, size)


@given(LENGTHS, LENGTHS, st.integers(1, 5), st.integers(0, 99))
def test_blocks_of_tensors_and_of_documents_that_follow_each_other(q_len, k_len, size, seed):
    grid, generator = everything(q_len, k_len), torch.Generator().manual_seed(seed)
    for shape in ((2, 3, q_len, k_len), (3, 1, k_len), (q_len, 1), (2, 1, q_len, k_len), (1,)):
        assert_exact(masks.Dense(torch.rand(shape, generator=generator) > 0.2), grid, size)
    if not (q_len and k_len):
        return
    ids = torch.arange(max(q_len, k_len)) // 3
    assert_exact(masks.Documents(ids[:q_len], ids[:k_len]), grid, size)


@given(LENGTHS, LENGTHS, st.integers(1, 5), st.integers(0, 99))
def test_blocks_of_intervals_and_of_functions(q_len, k_len, size, seed):
    grid, generator = everything(q_len, k_len), torch.Generator().manual_seed(seed)
    for lead in ((), (1, 3), (2, 1), (2, 3)):
        start, end = (torch.randint(-3, k_len + 4, (*lead, q_len), generator=generator) for _ in range(2))
        allowed = torch.rand(*lead, q_len, k_len, generator=generator) > 0.4
        for mask in (
            masks.Intervals(start, end),
            masks.Intervals(start, start + 4),
            masks.Intervals(0, end.short()),
            masks.Intervals(start[..., :1], k_len),
            masks.Intervals(1, 3),
            masks.Where(lambda i, j, allowed=allowed: allowed[..., i, j]),
            masks.Where(lambda i, j, start=start: start[..., i] <= 2),
            masks.Where(lambda i, j: (j - i) % 4 == 1),
        ):
            assert_exact(mask, grid, size)
            assert_exact(~mask, grid, size)
            near = masks.Causal("start") & masks.Window(3, 2, "start")
            if "Intervals" not in repr(mask):  # a function's answers are of single pairs, whatever stands beside
                assert_sound(mask & near | masks.Prefix(2) & ~mask, grid, size)


def test_a_function_is_asked_of_open_pairs_alone():
    seen, grid = torch.zeros(40, 40, dtype=torch.int64), everything(40, 40)

    def function(i, j):
        seen.index_put_(torch.broadcast_tensors(i, j), torch.ones((), dtype=torch.int64), accumulate=True)
        return (i + j) % 2 == 0

    def asked(mask):
        seen.zero_()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(masks.Where, "tiled", lambda self, i, j: function(i, j))
            mapped(mask, grid, 4)
        return seen[1:].clone()

    where = masks.Where(lambda i, j: (i + j) % 2 == 0)
    window = masks.Window(3, 0)
    some, full = (part.repeat_interleave(4, 0).repeat_interleave(4, 1)[1:] for part in mapped(window, grid, 4))
    assert torch.equal(asked(where), torch.ones(39, 40, dtype=torch.int64))
    assert torch.equal(asked(where & window), some.long()) and torch.equal(asked(window & where), some.long())
    assert torch.equal(asked(~masks.Prefix(8) | where), (torch.arange(40) < 8).expand(39, 40).long())
    assert torch.equal(asked(~(where & ~window) & masks.Causal()), (~full & mapped_open(grid)).long())


def test_a_function_is_asked_of_no_pair_twice():
    grid, seen = everything(50, 50), torch.zeros(50, 50, dtype=torch.int64)

    def function(i, j):
        seen.index_put_(torch.broadcast_tensors(i, j), torch.ones((), dtype=torch.int64), accumulate=True)
        return (i - j).abs() < 4

    for mask, most in ((masks.Where(function), 1), (masks.Where(function) & masks.Window(2, 2), 0.6)):
        seen.zero_()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(masks.Where, "tiled", lambda self, i, j: function(i, j))
            patch.setattr(masks.Where, "batch", lambda self, device: ())
            found = possible(mask, grid, 1, limit=9)
        assert seen.max() == 1 and seen.double().mean() <= most
        assert torch.equal(found, mask.dense(grid))


def mapped_open(grid):
    return mapped(masks.Causal(), grid, 4).some.repeat_interleave(4, 0).repeat_interleave(4, 1)[1:]


def test_no_more_pairs_are_asked_about_at_once_than_a_million(monkeypatch):
    grid, most = everything(3000, 3000), []
    monkeypatch.setattr(block_map, "PAIRS", 1 << 16)

    def function(i, j):
        most.append(torch.broadcast_shapes(i.shape, j.shape).numel())
        return i[None] >= j - torch.tensor([0, 9])[:, None, None]

    mask, tiled = masks.Where(function), masks.Where.tiled
    monkeypatch.setattr(masks.Where, "tiled", lambda self, i, j: counted(tiled(self, i, j), most))
    found = mapped(mask, grid, 64)
    assert max(most) <= 1 << 16 and found.some.shape == (2, 47, 47)
    assert torch.equal(found.some, mapped(masks.Causal(torch.tensor([0, 9])), grid, 64).some)


def counted(result, most):
    most.append(result.numel())
    return result


@given(LENGTHS, LENGTHS, st.integers(1, 5), st.integers(0, 99))
def test_what_is_said_of_compositions_holds(q_len, k_len, size, seed):
    grid, generator = everything(q_len, k_len), torch.Generator().manual_seed(seed)
    query_ids = torch.randint(4, (2, 3, q_len), generator=generator)
    key_ids = torch.randint(4, (1, 3, k_len), generator=generator)
    center = torch.rand(2, 3, q_len, generator=generator) * k_len
    center[0, 0, :1] = torch.nan
    documents, around = masks.Documents(query_ids, key_ids), masks.Around(center, 1.5)
    whole = masks.Around(query_ids, 1.5)
    tensor = torch.rand(q_len, k_len, generator=generator) > 0.5
    for mask in (
        documents,
        ~documents,
        around,
        ~around,
        whole & ~documents,
        masks.Causal("end") & documents | masks.Prefix(1),
        ~(around | tensor) & masks.Causal("start"),
        masks.Causal("start") & ~masks.Causal("start"),
        masks.Window(1, None, "end") & masks.Lengths(torch.tensor([[1], [k_len]])),
    ):
        assert_sound(mask, grid, size)


@given(st.integers(30, 90), st.integers(30, 90), st.integers(0, 9), st.integers(0, 99))
def test_a_map_of_many_blocks_is_that_of_all(q_len, k_len, left, seed):
    grid, generator = everything(q_len, k_len), torch.Generator().manual_seed(seed)
    lengths = torch.randint(k_len + 1, (2, 1), generator=generator)
    documents = masks.Documents(torch.arange(q_len) // 7, torch.arange(k_len) // 7)
    center = torch.rand(2, 3, q_len, generator=generator) * k_len
    for mask in (
        masks.Window(left, 1, "end"),
        masks.Prefix(3) | masks.Window(left, 0, "start") & masks.Lengths(lengths),
        documents & ~masks.Window(0, 0, "start"),
        masks.Around(center, left),
        masks.Intervals(center.long() - left, center.long() + 1),
        masks.Where(lambda i, j: (i // 5 == j // 7) | (j == i)),
        masks.Window(left, 1, "end") & ~masks.Where(lambda i, j: center[..., i] < j),
        masks.Dense(torch.rand(q_len, k_len, generator=generator) > 0.99),
    ):
        mask = aligned(mask)
        for size in (1, 2):
            assert torch.equal(possible(mask, grid, size, limit=9), mapped(mask, grid, size).some), mask


def test_a_map_takes_no_look_at_single_pairs():
    """A hundred thousand queries and keys: their pairs would be ten gigabytes."""
    length = 100_000
    grid = everything(length, length)
    mask = masks.Causal() & masks.Window(1000, 0) & masks.Lengths(torch.tensor([[length // 2]]))
    found = mapped(mask, grid, 128)
    assert found.some.shape == (1, 1, 782, 782) and 0.004 < found.some.double().mean() < 0.008
