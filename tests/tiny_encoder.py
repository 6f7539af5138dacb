"""A tiny network as one of a library, with weights in a file, for tests of pretrained networks."""

import os
import tempfile
from pathlib import Path

import torch
from safetensors.torch import save
from torch import nn

from saccade.models.encoders import BUILDERS, Built

__all__ = ["WITH_TINY", "Tiny", "tiny_weights"]


class Tiny(nn.Module):
    """A network with the usual names of its parts."""

    def __init__(self, classes=10):
        super().__init__()
        self.stem = nn.Conv2d(3, 5, 4, stride=4)
        self.layer4 = nn.Sequential(nn.BatchNorm2d(5), nn.ReLU(), nn.Conv2d(5, 7, 2, stride=2))
        self.behind = nn.Identity()
        self.fc = nn.Linear(7, classes)

    def forward(self, images):
        return self.fc(self.behind(self.layer4(self.stem(images)).mean((2, 3))))


WITH_TINY = {**BUILDERS, "own": lambda name: Built(Tiny(), (0.5,) * 3, (0.25,) * 3)}
"""The libraries, and one with the tiny network."""


def tiny_weights():
    """Return the path of weights, the same for all processes of a user."""
    path = Path(tempfile.gettempdir()) / f"saccade-tests-{os.getuid()}" / "tiny.safetensors"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        with torch.random.fork_rng():
            torch.manual_seed(1)
            content = save(Tiny().state_dict())
        part = path.with_name(f"{os.getpid()}.part")
        part.write_bytes(content)
        part.replace(path)
    return str(path)
