"""Every eye learns the built-in digits: from whatever seed, most of those that it has never seen."""

import itertools
import math
import random

import pytest
import torch

from saccade.models import dram, ram, ram_grid, whole
from saccade.models.dram import Dram
from saccade.models.ram import Ram
from saccade.models.ram_grid import RamGrid
from saccade.models.strings import said
from saccade.models.whole import Whole
from saccade.tasks.glimpse.spelling import Spelling
from saccade.tasks.image.dataset import pixels
from saccade.tasks.image.digits import open_digits
from saccade.tasks.image.row import Row

SMALL = {"glimpses": 4, "patch": 8, "scales": 2, "hidden_dim": 128, "glimpse_dim": 64, "samples": 2}
# The model, its steps, and the share of unseen digits that it then has to know; a tenth is chance. Of three seeds and
# more the worst was 0.61 for ram, 0.84 for ram-grid, and 0.90 for whole.
MODELS = {
    "ram": (Ram, ram.Options(**SMALL), 200, 0.4),
    "ram-grid": (RamGrid, ram_grid.Options(**SMALL, rows=3, columns=3), 300, 0.6),
    "dram": (Dram, dram.Options(**SMALL), 200, 0.3),
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


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_it_learns_digits(name):
    kind, options, steps, least = MODELS[name]
    seed = random.SystemRandom().randrange(2**31)
    torch.manual_seed(seed)
    data = open_digits()
    images, labels = (torch.from_numpy(part) for part in data.parts["train"])

    def draw():
        chosen = torch.randint(len(labels), (32,))
        return images[chosen], labels[chosen]

    model = train(kind(1, 10, options), draw, steps)
    images, labels = (torch.from_numpy(part) for part in data.parts["test"])
    with torch.inference_mode():
        found = model.look(pixels(images), 1).logits[:, 0, -1].argmax(-1)
    right = float((found == labels).float().mean())
    assert right > least, f"{name}, seed {seed}: {right}"


@pytest.mark.slow
def test_strings_are_learned_symbol_by_symbol():
    seed = random.SystemRandom().randrange(2**31)
    torch.manual_seed(seed)
    data, spelling = Row(open_digits(), 56, 1, 2), Spelling(tuple("0123456789"), 2)
    numbers = itertools.count()

    def draw():
        rows = [data.example("train", next(numbers)) for _ in range(32)]
        labels = spelling.numbers([row.label for row in rows], "train")
        return torch.stack([row.image for row in rows]), torch.tensor(labels)

    options = dram.Options(**{**SMALL, "glimpses": 2, "patch": 12, "scales": 3})
    model = train(Dram(1, 11, options, 2), draw, 400)
    rows = [data.example("test", index) for index in range(100)]
    with torch.inference_mode():
        shares = said(model.look(pixels(torch.stack([row.image for row in rows])), 1).logits, 2)[:, 0].softmax(-1)
    found = spelling.found(shares)
    right = sum(row.label == label for row, label in zip(rows, found, strict=True)) / 100
    assert right > 0.2, f"seed {seed}: {right}"
