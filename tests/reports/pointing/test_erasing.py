"""Erasing, against models made by hand whose answer hangs on cells that are known."""

import pytest
import torch

from saccade.errors import ArgumentError, ShapeError
from saccade.reports.pointing.erasing import answered, any_order, erased, ground, heaviest_first

ROWS, COLUMNS, SIDE = 3, 5, 4  # cells, and pixels of a cell's side
CELL = 7  # that the answer hangs on


def lit(*cells):
    """An image with a noisy dark ground whose cells are bright at their middles."""
    image = 0.1 * torch.rand(3, ROWS * SIDE, COLUMNS * SIDE, generator=torch.Generator().manual_seed(3))
    for cell in cells:
        row, column = divmod(cell, COLUMNS)
        image[:, SIDE * row + 1 : SIDE * row + 3, SIDE * column + 1 : SIDE * column + 3] = 1.0
    return image


def drawn():
    return torch.Generator().manual_seed(5)


def sees(images):
    """A model that says the second answer if the cell is bright, and looks at nothing else."""
    row, column = divmod(CELL, COLUMNS)
    seen = images[:, :, SIDE * row : SIDE * (row + 1), SIDE * column : SIDE * (column + 1)].amax((1, 2, 3))
    return torch.stack([1 - seen, seen], -1)


def after(order, counts=(1,)):
    images, orders = lit(CELL, 2, 11)[None], torch.tensor([order])
    return answered(sees, images, ground(images, 0.1, drawn()), torch.tensor([1]), orders, (ROWS, COLUMNS), counts)


def test_erasing_only_the_one_cell_changes_the_answer():
    for cell in range(ROWS * COLUMNS):
        [left] = after([cell, *(other for other in range(ROWS * COLUMNS) if other != cell)])
        assert left.answer.item() == (0 if cell == CELL else 1)
        assert left.probability.item() == (pytest.approx(0.05, abs=0.06) if cell == CELL else 1.0)


def test_answer_changes_at_the_count_that_reaches_the_cell():
    order = [0, 1, 2, CELL, *(cell for cell in range(3, ROWS * COLUMNS) if cell != CELL)]
    assert [left.answer.item() for left in after(order, (0, 1, 2, 3, 4, 15))] == [1, 1, 1, 1, 0, 0]


def test_what_is_erased_is_ground_and_all_else_is_as_it_was():
    images = torch.stack([lit(CELL), lit(0, 14)])
    cells = torch.zeros(2, ROWS, COLUMNS, dtype=torch.bool)
    cells[0, 1, 2] = cells[1, 0, 0] = cells[1, 2, 4] = True
    shown = ground(images, 0.1, drawn())
    found = erased(images, cells, shown)
    hidden = cells.repeat_interleave(SIDE, 1).repeat_interleave(SIDE, 2)[:, None].expand_as(images)
    assert torch.equal(found[~hidden], images[~hidden]) and torch.equal(found[hidden], shown[hidden])
    assert found[0].amax() <= 0.1 < found[1, :, 0].amax() + 0.1  # all that was lit is gone


def test_ground_pixels_follow_the_images_own_noise():
    noise = torch.randint(0, 4, (2, 3, 60, 80), generator=drawn()) / 255
    noise[1] += 8 / 255
    images = noise.clone()
    images[:, 1, 20:40, 30:50] = 0.9  # one channel is bright: these are no ground
    made = ground(images, 31 / 255, drawn())
    for image, own in zip(images, made, strict=True):
        kept, count = (pixels.flatten(1).T.unique(dim=0, return_counts=True) for pixels in (image[:, :20], own))
        assert torch.equal(kept[0], count[0]) and len(kept[0]) == 64  # whole pixels, not channels by themselves
        assert float((count[1] / 4800 - 1 / 64).abs().max()) < 0.012
    assert torch.equal(ground(images, 31 / 255, drawn()), made)
    with pytest.raises(ArgumentError, match="brightest: expected images with ground, got one whose pixels are all"):
        ground(images, 7 / 255, drawn())


def test_cells_that_do_not_divide_the_image_cover_all_of_it_once():
    image = torch.arange(1.0, 78.0).view(1, 1, 7, 11)
    changed = torch.zeros(7, 11)
    for cell in range(6):
        cells = torch.zeros(1, 6, dtype=torch.bool)
        cells[0, cell] = True
        changed += erased(image, cells.view(1, 2, 3), torch.zeros_like(image))[0, 0] != image[0, 0]
    assert bool((changed == 1).all())


def test_cells_come_by_weight_and_then_in_order():
    maps = torch.zeros(2, ROWS, COLUMNS)
    maps[:, 1, 2], maps[:, 0, 1] = 0.75, 0.25
    ties = any_order(2, ROWS * COLUMNS, torch.Generator().manual_seed(0))
    order = heaviest_first(maps, ties)
    assert order[:, :2].tolist() == [[CELL, 1]] * 2
    for own, tied in zip(order.tolist(), ties.tolist(), strict=True):
        assert own[2:] == [cell for cell in tied if cell not in (CELL, 1)]


def test_orders_at_random_are_all_as_likely():
    orders = any_order(12_000, 3, torch.Generator().manual_seed(1))
    counts = torch.unique(orders, dim=0, return_counts=True)[1]
    assert len(counts) == 6 and bool((counts - 2000).abs().max() < 200)  # more than four deviations


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (torch.zeros(2, 3, 5, dtype=torch.bool), "expected images .* got \\(1, 3, 12, 20\\) and \\(2, 3, 5\\)"),
        (torch.zeros(1, 15, dtype=torch.bool), "cells: expected images"),
        (torch.zeros(1, 13, 5, dtype=torch.bool), "expected 1 to 12 rows and 1 to 20 columns, got 13 and 5"),
    ],
)
def test_cells_that_do_not_fit_are_refused(cells, said):
    with pytest.raises(ShapeError, match=said):
        erased(lit()[None], cells, lit()[None])
