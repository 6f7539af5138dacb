"""Every eye learns the built-in digits: from whatever seed, most of those that it has never seen."""

import itertools
import math
import random

import numpy as np
import pytest
import torch

from saccade.data import Rows
from saccade.data.dataset import SPLITS
from saccade.models import dram, ram, ram_grid, tiles, whole
from saccade.models.dram import Dram
from saccade.models.ram import Ram
from saccade.models.ram_grid import RamGrid
from saccade.models.strings import symbol_logits
from saccade.models.tiles import SoftTiles, Tiles
from saccade.models.whole import Whole
from saccade.tasks.glimpse.spelling import Spelling
from saccade.tasks.image.dataset import ImageRows, pixels
from saccade.tasks.image.digits import DigitRow, open_digits

SMALL = {"glimpses": 4, "patch": 8, "scales": 2, "hidden_dim": 128, "glimpse_dim": 64, "samples": 2}
SEEING = {"glimpses": 4, "patch": 8, "hidden_dim": 128, "glimpse_dim": 64}
# The model, its steps, and the share of unseen digits that it then has to know; a tenth is chance. Of three seeds and
# more the worst was 0.61 for ram, 0.84 for ram-grid, 0.73 for dram, 0.42 for tiles (0.11 after 200 steps), and 0.90 for
# whole.
MODELS = {
    "ram": (Ram, ram.Options(**SMALL), 200, 0.4),
    "ram-grid": (RamGrid, ram_grid.Options(**SMALL, rows=3, columns=3), 300, 0.6),
    "dram": (Dram, dram.Options(**SMALL), 100, 0.4),
    "tiles": (Tiles, tiles.Options(**{**SMALL, "scales": 1}), 300, 0.2),
    "soft-tiles": (SoftTiles, tiles.Tiling(**SEEING), 300, 0.2),
    "whole": (Whole, whole.Options(hidden_dim=64), 100, 0.6),
}


def train(model, draw, steps):
    """Steps of Adam along a cosine, of 32 images and labels that are drawn by their numbers."""
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = 3e-3 * (0.05 + 0.95 * (1 + math.cos(math.pi * step / steps)) / 2)
        images, labels = draw()
        optimizer.zero_grad()
        model.cost(pixels(images), labels, step / steps).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
    return model.eval()


def stacked(split):
    rows = open_digits().rows.splits[split]
    return torch.from_numpy(np.stack([row["image"] for row in rows])), torch.tensor([int(row["label"]) for row in rows])


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_it_learns_digits(name):
    kind, options, steps, least = MODELS[name]
    seed = random.SystemRandom().randrange(2**31)
    torch.manual_seed(seed)
    images, labels = stacked("train")

    def draw():
        chosen = torch.randint(len(labels), (32,))
        return images[chosen], labels[chosen]

    model = train(kind(1, 10, options), draw, steps)
    images, labels = stacked("test")
    with torch.inference_mode():
        found = model.look(pixels(images), 1).logits[:, 0, -1].argmax(-1)
    right = float((found == labels).float().mean())
    assert right > least, f"{name}, seed {seed}: {right}"


def bars():
    """Bars that lie or stand, of several greys."""
    images = np.zeros((20, 1, 8, 8), np.uint8)
    for number in range(20):
        lying = images[number, 0] if number % 2 else images[number, 0].T
        lying[2 + number % 4 : 4 + number % 4, 1:7] = 150 + 5 * number
    return [{"image": image, "label": "-|"[number % 2]} for number, image in enumerate(images)]


@pytest.mark.slow
def test_strings_are_learned_symbol_by_symbol():
    """By one of two eyes: a policy that begins badly may not find the second bar in so few steps."""
    assert any(strings_that_are_right(random.SystemRandom().randrange(2**31)) > 0.4 for _ in range(2))  # chance: 1/6


def strings_that_are_right(seed):
    torch.manual_seed(seed)
    data = DigitRow(ImageRows(Rows({split: bars() for split in SPLITS}, "")), 20, shortest=1, longest=2)
    spelling, numbers = Spelling(("-", "|"), 2), itertools.count()

    def draw():
        rows = [data.example("train", next(numbers)) for _ in range(32)]
        labels = spelling.numbers([row.label for row in rows], "train")
        return torch.stack([row.image for row in rows]), torch.tensor(labels)

    options = dram.Options(**{**SMALL, "glimpses": 2, "hidden_dim": 32, "glimpse_dim": 32, "coarse": 8})
    model = train(Dram(1, 3, options, 2), draw, 250)
    rows = [data.example("test", index) for index in range(20)]
    with torch.inference_mode():
        shares = symbol_logits(model.look(pixels(torch.stack([row.image for row in rows])), 1).logits, 2)[:, 0].softmax(
            -1
        )
    return sum(row.label == label for row, label in zip(rows, spelling.found(shares), strict=True)) / len(rows)
