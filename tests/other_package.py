"""A package of a model and a task, as somebody else installs it."""

MODULE = '''"""Stripes, and a small network."""
from __future__ import annotations
from dataclasses import dataclass, replace

import torch
from torch import nn

from saccade.tasks.classify_image import CLASSIFY_IMAGE
from saccade.tasks.image.dataset import Example
from saccade.train.randomness import generator


@dataclass(frozen=True, kw_only=True)
class Options:
    width: int = 4
    """Channels of the network."""


class Small(nn.Sequential):
    """One convolution."""

    Options = Options

    def __init__(self, channels, classes, options, mean, std):
        convolution, output = nn.Conv2d(channels, options.width, 3), nn.Linear(options.width, classes)
        super().__init__(convolution, nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), output)


class Stripes:
    labels, shape, note, fingerprint = ("across", "down"), (1, 8, 8), "", "stripes"

    def size(self, split):
        return 12

    def example(self, split, index):
        image = torch.randint(0, 99, (1, 8, 8), generator=generator(0, split, index), dtype=torch.uint8)
        image[(slice(None), slice(2, 4)) if index % 2 else (..., slice(2, 4))] = 255
        return Example(image, self.labels[1 - index % 2], "")


STRIPES = replace(CLASSIFY_IMAGE, name="stripes", summary="Directions of stripes.", models={"small": "forty:Small"},
                  builtin={"stripes": "stripes in noise"}, open=lambda options, objects: Stripes(),
                  recipes={"stripes": {"max_steps": 4, "flip": False}, "files": {}})
'''
ENTRY_POINTS = """[saccade.models]
classify-image.small = forty:Small

[saccade.tasks]
stripes = forty:STRIPES
"""


def install(folder):
    """Write the package and its entry points, as pip does."""
    about = folder / "forty-1.0.dist-info"
    about.mkdir()
    (folder / "forty.py").write_text(MODULE, encoding="utf-8")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: forty\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
