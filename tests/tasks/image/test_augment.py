import pytest
import torch

from saccade.errors import ArgumentError
from saccade.tasks.image.augment import check_shift, flip, shift


def generator():
    return torch.Generator().manual_seed(5)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_each_image_is_itself_or_its_mirror(dtype):
    images = (torch.rand(64, 3, 5, 7) * 255).to(dtype)
    found = flip(images, generator())
    mirrored = torch.tensor([torch.equal(a, b.flip(2)) for a, b in zip(found, images, strict=True)])
    same = torch.tensor([torch.equal(a, b) for a, b in zip(found, images, strict=True)])
    assert bool((mirrored ^ same).all())
    assert 16 < int(same.sum()) < 48


def test_shifts_are_those_of_a_padded_image_cut_anew():
    images = torch.rand(40, 2, 5, 7)
    padded = torch.nn.functional.pad(images, (3, 3, 3, 3), mode="reflect")
    found = shift(images, 3, generator())
    moves = set()
    for place, image in enumerate(found):
        [move] = [
            (a, b) for a in range(7) for b in range(7) if torch.equal(padded[place, :, a : a + 5, b : b + 7], image)
        ]
        moves.add(move)
    assert {a for a, _ in moves} == {b for _, b in moves} == set(range(7))


def test_the_same_draws_give_the_same_images():
    images = torch.rand(9, 1, 8, 8)
    for change in (flip, lambda x, draws: shift(x, 2, draws)):
        assert torch.equal(change(images, generator()), change(images, generator()))


def test_no_shift_changes_nothing_and_a_large_one_is_rejected():
    images = torch.rand(2, 3, 5, 7)
    assert torch.equal(shift(images, 0, generator()), images)
    assert shift(images[:0], 2, generator()).shape == (0, 3, 5, 7)
    check_shift(4, (3, 5, 7))
    with pytest.raises(ArgumentError, match="--shift: expected less than the images' 5, got 5"):
        check_shift(5, (3, 5, 7))
