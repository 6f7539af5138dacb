import pytest
import torch

from saccade._definitions.structure import Grid
from saccade.backends.blockwise import parts
from saccade.backends.blockwise.parts import Block, Tiles


def test_what_is_shared_is_not_narrowed():
    block = Block(dim=1, first=2, heads=1, start=3, rows=2)
    assert block.narrow(torch.zeros(2, 4, 7, 5), ("q", "k")).shape == (2, 1, 2, 5)
    assert block.narrow(torch.zeros(2, 1, 7, 5), ("k", "d")).shape == (2, 1, 7, 5)
    assert block.narrow(torch.zeros(2, 4, 1, 1), ("q", "1")).shape == (2, 1, 1, 1)


def test_several_blocks_are_a_batch_dimension():
    tiles = Tiles(None, 0, 1, torch.tensor([0, 2]), 2, torch.tensor([[0, 2], [1, 2]]), 3, k_len=8)
    key = torch.arange(9.0)[None, :, None].repeat(2, 1, 4)  # filled up to whole blocks
    found = tiles.narrow(key, ("k", "d"))
    assert found.shape == (2, 2, 6, 4) and found[0, :, :, 0].tolist() == [[0, 1, 2, 6, 7, 8], [3, 4, 5, 6, 7, 8]]
    query = torch.arange(7.0)[None, :, None].repeat(2, 1, 4)
    assert tiles.narrow(query, ("q", "d"))[0, :, :, 0].tolist() == [[0, 1], [4, 5]]
    assert tiles.narrow(torch.zeros(2, 4), ("d",)).shape == (2, 1, 4)
    both = torch.arange(56).view(7, 8)[None]
    assert tiles.narrow(both, ("q", "k"))[0, 1].tolist() == [[35, 36, 37, 38, 39, 39], [43, 44, 45, 46, 47, 47]]
    total, output = torch.zeros(2, 9, 4), torch.zeros(2, 7, 4)
    tiles.add(total, ("k", "d"), torch.ones(2, 2, 6, 4))
    assert total[0, :, 0].tolist() == [1, 1, 1, 1, 1, 1, 2, 2, 2]
    tiles.add(output, ("q", "e"), tiles.narrow(query, ("q", "d")) + 1)
    assert output[0, :, 0].tolist() == [1, 2, 0, 0, 5, 6, 0]


@pytest.mark.parametrize("k_len", [8, 9])
def test_gradients_of_keys_are_summed_in_one_order_off_the_cpu(k_len, monkeypatch):
    tiles = Tiles(None, 0, 1, torch.tensor([0, 2]), 2, torch.tensor([[0, 2], [1, 2]]), 3, k_len=k_len)
    piece, found = torch.randn(2, 3, 2, 6, 4, dtype=torch.float64), []
    for devices in (parts.ORDERED, ()):
        monkeypatch.setattr(parts, "ORDERED", devices)
        found.append(torch.zeros(2, 3, k_len, 4, dtype=torch.float64))
        tiles.add(found[-1], ("k", "d"), piece)
    torch.testing.assert_close(found[1], found[0])
    assert found[0][..., -1, :].abs().min() > 0


def test_what_is_filled_up_is_what_has_keys_alone():
    tiles = Tiles(None, 0, 1, torch.tensor([0, 2]), 2, torch.tensor([[0, 2], [1, 2]]), 3, k_len=8)
    key, pairs, query = torch.arange(8.0)[None, :, None], torch.zeros(1, 7, 8), torch.zeros(1, 7, 4)
    assert tiles.fill(key, ("k", "d"))[0, :, 0].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 7]
    assert tiles.fill(pairs[:, :1], ("q", "k")).shape == (1, 1, 9)
    assert tiles.fill(pairs, ("q", "k")) is pairs and tiles.fill(query, ("q", "d")) is query


def test_where_several_blocks_stand():
    tiles = Tiles(None, 0, 1, torch.tensor([0, 2]), 2, torch.tensor([[0, 2], [1, 2]]), 3, k_len=8)
    grid = tiles.grid(Grid(7, 8, 0, 7, torch.device("cpu")))
    assert grid.queries()[..., 0].tolist() == [[0, 1], [4, 5]] and grid.width == 6
    assert grid.keys()[:, 0].tolist() == [[0, 1, 2, 6, 7, 8], [3, 4, 5, 6, 7, 8]]
    assert grid.present()[0, 0].tolist() == [True] * 5 + [False]
    assert grid.of_call(torch.tensor([[3, -1], [0, 4]])).tolist() == [[6, -1], [3, 7]]
