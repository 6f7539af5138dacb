import weakref

import pytest
import torch

from saccade import masks, remember, scores
from saccade._call.windows import Windows, taken
from tiers import every

FIRSTS = {
    "alike": 3,
    "each": torch.tensor([[0], [4]]),
    "each head": torch.tensor([[2, 0, 5]]),
    "each of both": torch.tensor([[2, 0, 5], [1, 1, 0]]),
}


def places(first, width):
    first = first if isinstance(first, torch.Tensor) else torch.full((1, 1), first)
    return first[..., None] + torch.arange(width)


@every("first", FIRSTS.values())
@every("batch", [(2, 3), (1, 3), (2, 1), (1, 1)])
def test_what_is_taken_is_what_stands_there(first, batch):
    tensor = torch.randn(*batch, 9, 2)
    found = taken(tensor, 2, first, 4)
    index = places(first, 4)[..., None]
    whole = torch.broadcast_shapes(found.shape, index.shape)
    expected = tensor.expand(*whole[:2], 9, 2).gather(2, index.expand(whole))
    assert torch.equal(found.expand(whole), expected)


def test_a_copy_that_nobody_keeps_lies_where_the_last_one_did():
    tensor, first = torch.randn(2, 9, 2), torch.tensor([0, 4])
    with torch.no_grad():
        found = taken(tensor, 1, first, 3, "a room of this test")
        assert torch.equal(found, taken(tensor, 1, first, 3))
        assert taken(tensor, 1, first, 3, "a room of this test").data_ptr() == found.data_ptr()


@pytest.mark.parametrize("first", FIRSTS.values(), ids=FIRSTS)
@pytest.mark.parametrize("batch", [(2, 3), (1, 3), (3,), ()], ids=str)
def test_gradients_of_several_reads_are_summed(first, batch):
    torch.manual_seed(0)
    key, value = (torch.randn(*batch, 9, size, dtype=torch.float64, requires_grad=True) for size in (2, 3))
    sums, reads = Windows(), []
    for _ in range(3):
        one, other = sums.of(key, value, first, 4, 2)
        reads.append((one * torch.rand(one.shape)).sum() * (other * torch.rand(other.shape)).sum())
    found = torch.autograd.grad(sum(reads), (key, value))
    torch.manual_seed(0)
    key, value = (torch.randn(*batch, 9, size, dtype=torch.float64, requires_grad=True) for size in (2, 3))
    reads = []
    for _ in range(3):
        one, other = (taken(part[(None,) * (4 - part.ndim)], 2, first, 4) for part in (key, value))
        reads.append((one * torch.rand(one.shape)).sum() * (other * torch.rand(other.shape)).sum())
    torch.testing.assert_close(found, torch.autograd.grad(sum(reads), (key, value)))


def test_second_derivatives_are_those_of_the_plain_formula():
    key, value = (torch.randn(2, 9, 2, dtype=torch.float64, requires_grad=True) for _ in range(2))
    sums, first = Windows(), torch.tensor([2, 5])

    def read(key, value):
        one, other = sums.of(key, value, first, 3, 1)
        return one.square() * other

    assert torch.autograd.gradgradcheck(read, (key, value))


def test_another_tensor_is_not_summed_with_the_first():
    sums, first = Windows(), torch.tensor([2, 5])
    for _ in range(2):
        key, value = (torch.randn(2, 9, 2, requires_grad=True) for _ in range(2))
        one, other = sums.of(key, value, first, 3, 1)
        (one.sum() + other.sum()).backward()
        assert key.grad.sum() == value.grad.sum() == 2 * 3 * 2


def test_values_alone_may_learn():
    key, value = torch.randn(2, 9, 2), torch.randn(2, 9, 2, requires_grad=True)
    one, other = Windows().of(key, value, 3, 2, 1)
    other.sum().backward()
    assert not one.requires_grad and value.grad.sum() == 2 * 2 * 2


def test_several_passes_over_a_memory_are_apart():
    key = torch.randn(2, 400, 4, dtype=torch.float64, requires_grad=True)
    memory = remember(key, key.detach(), score=scores.Dot())
    mask = masks.Around(torch.tensor([[90.0], [300.0]]), 5)
    query = torch.randn(2, 1, 4, dtype=torch.float64)
    first = torch.autograd.grad(memory.read(query, mask=mask).sum(), key)[0]
    second = torch.autograd.grad(sum(memory.read(query, mask=mask).sum() for _ in range(2)), key)[0]
    torch.testing.assert_close(second, 2 * first)
    assert memory.state.of(Windows).sums._passes == {}


def test_a_memory_read_through_windows_is_freed_at_once():
    key = torch.randn(2, 400, 4, requires_grad=True)
    memory = remember(key, key)
    memory.read(torch.randn(2, 1, 4), mask=masks.Window(3, 3, align=torch.tensor([90, 300]))).sum().backward()
    sums = weakref.ref(memory.state.of(Windows))
    assert sums()._made is not None
    del memory
    assert sums() is None


def test_gradients_of_several_outputs_at_once_are_those_of_each():
    key, query = torch.randn(1, 300, 4, requires_grad=True), torch.randn(1, 1, 4)
    output = remember(key, torch.randn(1, 300, 2)).read(query, mask=masks.Window(3, 3, 100))
    each = torch.eye(2).view(2, 1, 1, 2)
    [together] = torch.autograd.grad(output, key, each, is_grads_batched=True, retain_graph=True)
    for place, one in enumerate(each):
        torch.testing.assert_close(together[place], torch.autograd.grad(output, key, one, retain_graph=True)[0])
