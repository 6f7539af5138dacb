from collections import Counter

import pytest
import torch

from saccade.tasks.image.scenes.scene import COLOURS, MOST, SHAPES, SIDE, Box, Scene, Thing, draw, scene_at_random
from saccade.train.randomness import generator
from tiers import every


def test_a_scene_and_its_image_are_functions_of_the_generator_alone():
    def made(index):
        draws = generator(0, "scenes", index)
        scene = scene_at_random(draws, 1, 8)
        return scene, draw(scene, draws).numpy().tobytes()

    assert [made(index) for index in range(20)] == [made(index) for index in range(20)]
    assert len({made(index)[1] for index in range(100)}) == 100


@every("count", range(MOST + 1))
def test_things_lie_in_slots_from_left_to_right(count):
    for index in range(30):
        scene = scene_at_random(generator(index), count, count)
        boxes = [thing.box for thing in scene.things]
        assert len(boxes) == count and boxes == sorted(boxes)
        assert len({left // 12 for left, *_ in boxes}) == len({box.top // 12 for box in boxes}) == count
        for left, top, right, bottom in boxes:
            assert 9 <= right - left == bottom - top <= 12
            assert left // 12 == (right - 1) // 12 and top // 12 == (bottom - 1) // 12


def test_all_is_drawn_evenly():
    scenes = [scene_at_random(generator(1, index), 1, 5) for index in range(5000)]
    things = [thing for scene in scenes for thing in scene.things]
    drawn = {
        "counts": (Counter(len(scene.things) for scene in scenes), 5),
        "looks": (Counter(thing[:2] for thing in things), len(COLOURS) * len(SHAPES)),
        "slots": (Counter((thing.box.left // 12, thing.box.top // 12) for thing in things), 64),
        "sides": (Counter(thing.box.right - thing.box.left for thing in things), 4),
        "offsets": (Counter(box.left % 12 for *_, box in things if box.right - box.left == 9), 4),
    }
    for name, (counts, kinds) in drawn.items():
        expected = counts.total() / kinds
        statistic = sum((count - expected) ** 2 / expected for count in counts.values())
        freedom = kinds - 1
        assert len(counts) == kinds and statistic < freedom + 4 * (2 * freedom) ** 0.5, name


def test_every_colour_is_seen_in_its_box_and_nowhere_else():
    for index in range(30):
        scene = scene_at_random(generator(index), 1, 8)
        image = draw(scene, generator(index, "image")).int()
        assert image.shape == (3, SIDE, SIDE)
        for colour, shape, (left, top, right, bottom) in scene.things:
            patch = image[:, top:bottom, left:right].clone()
            middle = patch[:, (bottom - top) // 2, (right - left) // 2] / torch.tensor(COLOURS[colour])
            assert 2 / 3 - 0.05 < float(middle.min()) <= float(middle.max()) <= 1  # whole, in some light
            lit = patch.amax(0) > 100
            assert lit.any(0).sum() >= right - left - 2 and lit.any(1).sum() >= bottom - top - 2, shape  # fills its box
            image[:, top:bottom, left:right] = 0
        assert image.max() <= 31


@pytest.mark.parametrize("side", [9, 10, 11, 12])
def test_shapes_differ_clearly(side):
    box = Box(3, 3, 3 + side, 3 + side)
    images = [draw(Scene((Thing("yellow", shape, box),)), generator(0))[0].float() for shape in SHAPES]
    for one, image in enumerate(images):
        full = image.max()
        for other in images[:one]:  # a disc leaves 1 − π/4 of its square free, the least of all differences
            assert (image - other).abs().sum() > 0.18 * full * side**2


def test_a_stamp_is_not_worn_out():
    scene = scene_at_random(generator(0), 8, 8)
    first = draw(scene, generator(1))
    for index in range(5):
        draw(scene, generator(index))
    assert torch.equal(first, draw(scene, generator(1)))
