import pytest
import torch

from kernels.memories import drawn, memory_of, steps_of


@pytest.mark.parametrize("cells", [1, 2, 3, 7])
@pytest.mark.parametrize("furthest", [0, 1, 5, 8])
def test_heads_go_round_however_few_cells_there_are(cells, furthest):
    """A head that stays where it was and then moves by one number of cells alone is there, counted round."""
    module = memory_of("shift", 2, 1, 1, furthest)
    asked, memory, reading, writing = (part.detach() for part in drawn(module, 1, cells, 0))
    reading = torch.eye(cells)[:1, None]
    for by in range(-furthest, furthest + 1):
        moved = asked.clone()
        moved[0, 3] = -100.0  # the gate: stay
        moved[0, 5 : 6 + 2 * furthest] = torch.where(torch.arange(-furthest, furthest + 1) == by, 100.0, -100.0)
        found = steps_of(module)[0](moved, memory, reading, writing)[2]
        assert found[0, 0].tolist() == torch.eye(cells)[by % cells].tolist()


def test_powers_do_not_vanish():
    module = memory_of("shift", 2, 1)
    asked, memory, reading, writing = (part.detach() for part in drawn(module, 1, 1000, 0))
    asked[0, 3], asked[0, 4] = -100.0, 200.0  # stay, and to a power that each of a thousand shares loses its digits in
    asked[0, 5:8] = torch.tensor([-100.0, 100.0, -100.0])
    reading = torch.full((1, 1, 1000), 1e-3)
    found = steps_of(module)[0](asked, memory, reading, writing)[2]
    torch.testing.assert_close(found, reading)
