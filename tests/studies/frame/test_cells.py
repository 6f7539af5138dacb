from itertools import pairwise

import pytest
import torch

from saccade import AuxRequest, masks, nn
from saccade.models.tiles import Options, Tiles
from studies.frame.cells import beside, empty_cells, even, following, heaviest, reading, share_read, writing

ATTENTION = nn.Attention(3, 5, hidden_dim=4, score="additive").double()
QUERY, KEY = torch.randn(2, 7, 3, dtype=torch.float64), torch.randn(2, 11, 5, dtype=torch.float64)


def plain(reweigh):
    """The read of the formula: other weights times the values."""
    memory = ATTENTION.remember(KEY)
    _, aux = ATTENTION(QUERY, memory=memory, aux=AuxRequest(weights=True))
    return reweigh(aux.weights) @ KEY


@pytest.mark.parametrize("reweigh", [heaviest(1), heaviest(3), even, following])
def test_attention_reads_by_other_weights_in_a_block(reweigh):
    memory = ATTENTION.remember(KEY)
    before, expected = ATTENTION(QUERY, memory=memory), plain(reweigh)
    with reading(ATTENTION, reweigh):
        torch.testing.assert_close(ATTENTION(QUERY, memory=memory), expected)
    assert torch.equal(ATTENTION(QUERY, memory=memory), before)
    assert not torch.allclose(expected, before)


def test_a_memory_reads_by_other_weights_and_is_written_as_before():
    memory = nn.ExternalMemory(5, 4, num_reads=2).double()
    controller, state = torch.randn(3, 5, dtype=torch.float64), memory.start(3, 7)
    before = memory(controller, state)
    with reading(memory, following):
        after = memory(controller, state)
    assert torch.equal(after.memory, before.memory) and torch.equal(after.read_weights, before.read_weights)
    torch.testing.assert_close(after.read, before.read_weights @ before.memory.roll(-1, 1))


def test_a_memory_is_written_at_some_steps_alone():
    memory = nn.ExternalMemory(5, 4).double()
    states = [memory.start(2, 6)]
    with writing(memory, range(1, 2), 3):
        for _ in range(4):
            states.append(memory(torch.randn(2, 5, dtype=torch.float64), states[-1]))
    contents = [state.memory for state in states]
    same = [torch.equal(before, after) for before, after in pairwise(contents)]
    assert same == [True, False, True, True]
    torch.testing.assert_close(states[3].read, states[3].read_weights @ states[2].memory)


def test_all_cells_are_the_heaviest_of_so_many():
    weights = torch.rand(2, 5, dtype=torch.float64).softmax(-1)
    torch.testing.assert_close(heaviest(9)(weights), weights)
    assert heaviest(1)(weights).sort(-1).values.tolist() == 2 * [[0, 0, 0, 0, 1]]


def test_the_share_that_is_read_is_that_of_equal_weights():
    for count in (1, 2, 5, 10):
        weights = torch.zeros(10, dtype=torch.float64)
        weights[:count] = 1 / count
        assert float(share_read(weights)) == pytest.approx(count / 10)


def test_empty_cells_have_keys_and_values_of_zeros():
    with empty_cells(ATTENTION, 13):
        memory = ATTENTION.remember(KEY, mask=masks.Lengths(torch.tensor([11, 11])))
    zeros = torch.cat([KEY, KEY.new_zeros(2, 2, 5)], 1)
    torch.testing.assert_close(ATTENTION(QUERY, memory=memory), ATTENTION(QUERY, zeros))
    assert len(memory) == 13 and len(ATTENTION.remember(KEY)) == 11


def test_an_eye_sees_the_patch_beside_its_place():
    model = Tiles(1, 10, Options(patch=4, hidden_dim=8, glimpse_dim=8, glimpses=2))
    images, location = torch.rand(2, 1, 8, 12), torch.tensor([[[-0.5, 0.0]], [[-0.5, 0.0]]])
    retina = model.glimpse.retina
    patch = retina(images, location)
    with beside(retina, 3):
        moved = retina(images, location)
    torch.testing.assert_close(moved, retina(images, location + torch.tensor([0.5, 0.0])))
    assert not torch.allclose(moved, patch) and torch.equal(retina(images, location), patch)
