import copy
import pickle

import pytest
import torch

from saccade import attend, masks, remember, scores
from saccade._definitions.structure import Grid
from saccade.backends import sdpa
from saccade.errors import ArgumentError, ShapeError


@pytest.fixture
def keys():
    return torch.randn(2, 6, 8), torch.randn(2, 6, 3)


def split(keys, start, stop):
    return tuple(tensor[..., start:stop, :] for tensor in keys)


def test_two_appends_to_one_memory_never_see_each_other(keys):
    with torch.no_grad():
        start = remember(*split(keys, 0, 3), capacity=8)
        first, second = start.append(*split(keys, 3, 4)), start.append(*split(keys, 4, 5))
        third = first.append(*split(keys, 5, 6))
    query = torch.randn(2, 1, 8)
    for memory, rows in ((start, [0, 1, 2]), (first, [0, 1, 2, 3]), (second, [0, 1, 2, 4]), (third, [0, 1, 2, 3, 5])):
        torch.testing.assert_close(memory.read(query), attend(query, keys[0][:, rows], keys[1][:, rows]))


@pytest.mark.parametrize("grads", [False, True])
def test_a_memory_knows_whether_keys_came_later(keys, grads):
    with torch.set_grad_enabled(grads):
        start = remember(*split(keys, 0, 3))
        longer, ring = start.append(*split(keys, 3, 4)), start.write(torch.tensor([3]), *split(keys, 3, 4))
        assert not start.grown and longer.grown and ring.grown
        assert longer.select(torch.tensor([0])).grown and longer.truncate(3).grown


def test_what_is_cut_off_stays_in_the_longer_memory(keys):
    with torch.no_grad():
        whole = remember(*split(keys, 0, 3), capacity=8).append(*split(keys, 3, 4))
        other = whole.truncate(3).append(*split(keys, 5, 6))
    query = torch.randn(2, 1, 8)
    torch.testing.assert_close(whole.read(query), attend(query, *split(keys, 0, 4)))
    rows = [0, 1, 2, 5]
    torch.testing.assert_close(other.read(query), attend(query, keys[0][:, rows], keys[1][:, rows]))


def test_a_step_writes_into_the_room_kept_for_it(keys):
    with torch.no_grad():
        memory = remember(*split(keys, 0, 2), capacity=6).append(*split(keys, 2, 3))
        place = memory.key.data_ptr()
        for step in range(3, 6):
            memory = memory.append(*split(keys, step, step + 1))
            assert memory.key.data_ptr() == place


def test_room_doubles_beyond_the_capacity(keys):
    moved, place = 0, 0
    with torch.no_grad():
        memory = remember(*split(keys, 0, 1))
        for _ in range(64):
            memory = memory.append(*split(keys, 1, 2))
            moved, place = moved + (memory.key.data_ptr() != place), memory.key.data_ptr()
    assert len(memory) == 65 and moved <= 8


def test_the_caller_may_change_its_tensors_afterwards(keys):
    key, value = (tensor.clone() for tensor in keys)
    with torch.no_grad():
        memory = remember(key, value, score=scores.Dot(), capacity=9).append(key[:, :1], value[:, :1])
    key.zero_()
    assert memory.key.abs().sum() > 0


@pytest.mark.parametrize("masked", ["old", "new", "both"])
def test_masks_of_old_and_new_keys_join(keys, masked):
    lengths, new = torch.tensor([3, 1]), torch.tensor([[[True, False]], [[False, True]]])
    memory = remember(*split(keys, 0, 4), mask=None if masked == "new" else masks.Lengths(lengths))
    memory = memory.append(*split(keys, 4, 6), mask=None if masked == "old" else new)
    old = (
        torch.ones(2, 1, 4, dtype=torch.bool)
        if masked == "new"
        else masks.Lengths(lengths).dense(Grid(1, 4, 0, 1, torch.device("cpu")))
    )
    late = torch.ones(2, 1, 2, dtype=torch.bool) if masked == "old" else new
    query = torch.randn(2, 5, 8)
    torch.testing.assert_close(memory.read(query), attend(query, *keys, mask=torch.cat((old, late), -1)))


def test_the_callers_mask_acts_together_with_the_memorys(keys):
    query, own = torch.randn(2, 6, 8), torch.rand(6, 6) > 0.3
    memory = remember(*keys, mask=masks.Lengths(torch.tensor([6, 2])))
    for mask in (own, masks.Causal(), masks.Causal() & own):
        expected = attend(query, *keys, mask=masks.Lengths(torch.tensor([6, 2])) & masks.as_mask(mask))
        torch.testing.assert_close(memory.read(query, mask=mask), expected)


def test_beams_select_entries_and_what_is_per_sequence(keys):
    v = torch.randn(2, 8)
    query, order = torch.randn(2, 1, 8), torch.tensor([1, 1, 0])
    memory = remember(*keys, score=scores.Additive(v))
    torch.testing.assert_close(memory.select(order).read(query[order]), memory.read(query)[order])


def test_a_score_with_more_dimensions_is_selected(keys):
    for many in (2, 3):  # as many as the keys have entries, and more
        query, order = torch.randn(many, 2, 1, 8), torch.tensor([1, 0, 1])
        memory = remember(*keys, score=scores.Cosine(5 * torch.rand(many, 2, 1, 1)))
        torch.testing.assert_close(memory.select(order).read(query[:, order]), memory.read(query)[:, order])


def test_keys_shared_by_the_batch_stay_shared():
    key, value = torch.randn(1, 6, 8), torch.randn(2, 6, 3)
    query, order = torch.randn(2, 1, 8), torch.tensor([1, 0, 1])
    memory = remember(key, value).select(order)
    assert memory.key.shape[0] == 1
    torch.testing.assert_close(memory.read(query[order]), attend(query, key, value)[order])


def test_additive_keys_keep_their_exponentials(keys):
    memory = remember(*keys, score=scores.Additive(torch.randn(8)))
    torch.testing.assert_close(memory.cache, torch.exp(2 * keys[0]))
    assert remember(*keys).cache is None


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("length", [1, 40])
def test_a_memory_of_a_parameter_reads_what_it_holds_now(length, fused):
    """Against `attend` of the tensors as they are, forward and backward, before and after a step of an optimizer."""
    key, v = torch.nn.Parameter(torch.randn(2, 40, 8)), torch.randn(8)
    query, value = torch.randn(2, length, 8), torch.randn(2, 40, 3)
    memory, optimizer = remember(key, value, score=scores.Additive(v)), torch.optim.SGD([key], lr=0.5, fused=fused)
    for _ in range(3):
        optimizer.zero_grad()
        output = memory.read(query)
        output.square().sum().backward()
        expected = attend(query, key, value, score=scores.Additive(v), backend="reference")
        torch.testing.assert_close(output, expected)
        [gradient] = torch.autograd.grad(expected.square().sum(), key)
        torch.testing.assert_close(key.grad, gradient, rtol=1e-4, atol=1e-5)
        optimizer.step()


def test_what_is_made_of_a_memory_knows_changed_keys():
    key, value, v, order = torch.randn(2, 6, 8), torch.randn(2, 6, 3), torch.randn(8), torch.tensor([1, 0])
    memory, query, more = remember(key, value, score=scores.Additive(v)), torch.randn(2, 1, 8), torch.randn(2, 1, 8)
    slots = remember(key, value, score=scores.Additive(v), positions=torch.arange(6))
    early = memory.truncate(4)
    key.mul_(3)
    for made, keys, values in (
        (memory, key, value),
        (early, key[:, :4], value[:, :4]),
        (memory.append(more, value[:, :1]), torch.cat((key, more), 1), torch.cat((value, value[:, :1]), 1)),
        (memory.select(order), key[order], value[order]),
        (memory.truncate(3), key[:, :3], value[:, :3]),
        (memory.write(torch.tensor([6]), more, value[:, :1]), torch.cat((key[:, 1:], more), 1), value.roll(-1, 1)),
    ):
        torch.testing.assert_close(made.read(query), attend(query, keys, values, score=scores.Additive(v)))
    slots.key.mul_(0.5)
    torch.testing.assert_close(slots.read(query), attend(query, slots.key, value, score=scores.Additive(v)))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda memory: pickle.loads(pickle.dumps(memory))])
def test_a_copy_of_a_memory_knows_changed_keys(copied):
    """A copied tensor counts its changes anew: as many as the original had are no sign of the original's values."""
    key, v, query = torch.randn(3, 4), torch.randn(4), torch.randn(2, 4)
    for _ in range(3):
        key.add_(0.0)
    memory = remember(key, key, score=scores.Additive(v))
    twin = copied(memory)
    for _ in range(4):
        twin.key.add_(1.0)
        torch.testing.assert_close(twin.read(query), attend(query, twin.key, twin.value, score=scores.Additive(v)))
    torch.testing.assert_close(memory.read(query), attend(query, key, key, score=scores.Additive(v)))


def test_tensors_of_another_device_are_an_error(keys):
    elsewhere = [tensor[:, :1].to("meta") for tensor in keys]
    memory = remember(*keys, score=scores.Additive(torch.ones(8)))
    expected = "expected device cpu, that of the memory, got meta; move it"
    with torch.no_grad(), pytest.raises(ArgumentError, match=f"^key: {expected}"):
        remember(*keys).append(*elsewhere)
    with pytest.raises(ArgumentError, match=f"^offset: {expected}"):
        memory.shift(keys[0].to("meta"))
    with pytest.raises(ArgumentError, match=f"^batch_index: {expected}"):
        memory.select(torch.tensor([1], device="meta"))
    with pytest.raises(ArgumentError, match=f"^key: {expected}"):
        remember(*keys).write(torch.tensor([6], device="meta"), *elsewhere)
    with pytest.raises(ArgumentError, match=r"^positions: expected device cpu"):
        remember(*keys).write(torch.tensor([6], device="meta"), keys[0][:, :1], keys[1][:, :1])


def test_an_empty_memory_reads_zeros(keys):
    memory = remember(*split(keys, 0, 0))
    assert len(memory) == 0 and (memory.read(torch.randn(2, 3, 8)) == 0).all()
    assert len(memory.append(*keys)) == 6


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_shifted_keys_are_keys_that_were_added_to(dtype):
    torch.manual_seed(0)
    key, query, v = (
        torch.randn(2, 1, 5, 4, dtype=dtype),
        torch.randn(2, 3, 1, 4, dtype=dtype),
        torch.randn(4, dtype=dtype),
    )
    offset = 3 * torch.randn(2, 3, 5, 4, dtype=dtype)  # one for each of three queries
    score, mask = scores.Additive(v), masks.Lengths(torch.tensor([[5], [3]]))
    memory = remember(key, key, score=score, mask=mask)
    found = memory.shift(offset).read(query)
    weights = (v * torch.tanh(query[..., None, 0, :] + key + offset)).sum(-1)
    weights[1, :, 3:] = -torch.inf
    expected = weights.softmax(-1)[..., None, :] @ key
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    assert torch.equal(memory.key, key)  # as it was


def test_keys_out_of_the_exponentials_range_are_right():
    key, v = torch.full((1, 2, 3), 60.0), torch.ones(3)
    memory = remember(key, torch.tensor([[[1.0], [3.0]]]), score=scores.Additive(v))
    offset = torch.stack([torch.full((2, 3), -60.0), torch.full((2, 3), -61.0)]).view(2, 2, 3)[[0]]
    offset = offset.clone()
    offset[0, 1] = -61.0
    gains = torch.tanh(torch.tensor([0.5, -0.5])) * 3
    expected = (gains.softmax(0) * torch.tensor([1.0, 3.0])).sum()
    torch.testing.assert_close(memory.shift(offset).read(torch.full((1, 1, 3), 0.5))[0, 0, 0], expected)


def test_only_additive_keys_shift_and_only_by_what_fits(keys):
    key = torch.randn(2, 5, 4)
    with pytest.raises(ArgumentError, match="score: expected scores.Additive to shift keys of, got ScaledDot"):
        remember(key, key).shift(key)
    memory = remember(key, key, score=scores.Additive(torch.ones(4)))
    for offset in (key[:, :4], key[..., :3], key[0, 0], torch.randn(3, 5, 4)):
        with pytest.raises(ShapeError, match=r"offset: expected \(..., 5, 4\)"):
            memory.shift(offset)
    for offset in (key.double(), torch.zeros(2, 5, 4, dtype=torch.int64)):
        with pytest.raises(ArgumentError, match="offset: expected dtype torch.float32"):
            memory.shift(offset)
    with pytest.raises(TypeError, match="offset: expected a tensor, got list"):
        memory.shift([1.0])
    assert memory.shift(torch.randn(3, 1, 5, 4)).read(torch.randn(3, 2, 1, 4)).shape == (3, 2, 1, 4)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["dot", "additive"])
def test_reads_of_half_types_convert_keys_and_values_once(name, dtype, monkeypatch):
    """And as near to the truth as the plain formula: what is written to, or appended, is seen."""
    converted = []
    monkeypatch.setattr("saccade._call.call.wide", lambda tensor: converted.append(tensor) or tensor.float())
    monkeypatch.setattr(sdpa, "_native", lambda dtype: False)
    generator = torch.Generator().manual_seed(3)
    query, key, value = (torch.randn(2, n, 8, generator=generator).to(dtype) for n in (1, 40, 40))
    score = scores.ScaledDot() if name == "dot" else scores.Additive(torch.linspace(-1, 1, 8).to(dtype))
    backend = "sdpa" if name == "dot" else "cpu"
    memory = remember(key, value, score=score)
    with torch.no_grad():
        first = memory.read(query, backend=backend)
        assert torch.equal(memory.read(query, backend=backend), first) and len(converted) == 2
        plain = attend(query, key, value, score=score, backend="reference")
        double = scores.ScaledDot() if name == "dot" else scores.Additive(score.v.double())
        exact = attend(query.double(), key.double(), value.double(), score=double, backend="reference")
        assert first.dtype == dtype and (first - exact).abs().max() <= 2 * (plain - exact).abs().max() + 1e-6
        grown = memory.append(key[:, :1], value[:, :1])
        torch.testing.assert_close(
            grown.read(query, backend=backend),
            attend(query, torch.cat((key, key[:, :1]), 1), torch.cat((value, value[:, :1]), 1), score=score),
        )
    learning = value.clone().requires_grad_()
    remember(key, learning, score=score).read(query, backend=backend).sum().backward()
    assert torch.allclose(learning.grad.sum((0, 1)), torch.full((8,), 2.0, dtype=dtype), atol=0.02)


def test_a_compiled_step_makes_memories():
    key, query = torch.randn(2, 6, 4), torch.randn(2, 1, 4)

    def step(memory, query):
        return (remember(query, query) if memory is None else memory.append(query, query)).read(query)

    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    for memory in (None, remember(key, key)):
        assert torch.allclose(compiled(memory, query), step(memory, query), atol=1e-6)


@pytest.mark.slow
def test_a_compiled_stream_is_written_to():
    key, query = torch.randn(2, 4, 4), torch.randn(2, 1, 4)
    ring = remember(key, key, positions=torch.arange(4))

    def step(memory, position, query):
        return memory.write(position, query, query).read(query, mask=masks.Window(2, 0, align="end"))

    found = torch.compile(step, fullgraph=True, backend="aot_eager")(ring, torch.tensor([4]), query)
    assert torch.allclose(found, step(ring, torch.tensor([4]), query), atol=1e-6)
