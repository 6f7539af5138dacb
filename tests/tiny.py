"""A tiny run of the command line and a tiny task, for tests that need something trained in a second or two."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import torch

from saccade.cli import main
from saccade.train import Evaluation, Loss
from saccade.train import options as shared
from saccade.train.files import write_json

SMALL = ["--hidden-dim", "32", "--embedding-dim", "16", "--batch-tokens", "600", "--checkpoint-steps", "10"]
SOURCE = Path(__file__).parents[1] / "src"


def train(run, *more):
    """Train a tiny translator in this process; returns the exit code."""
    return main(["train", "translate", "--run", str(run), *SMALL, *map(str, more)])


def command(*arguments):
    """The program as a process of its own."""
    return [sys.executable, "-m", "saccade", *map(str, arguments)]


def environment():
    return {**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}


def program(*arguments, **options):
    """Run the program to its end in a process of its own."""
    settings = {"capture_output": True, "text": True, "timeout": 300, "env": environment(), **options}
    return subprocess.run(command(*arguments), check=False, **settings)


@dataclass(frozen=True, kw_only=True)
class LineOptions(shared.Options):
    width: int = 4
    scale: float = 1.0


@dataclass(frozen=True)
class Line:
    """Fit a line with a dropout in the way: a task that has nothing to do with text."""

    settings: LineOptions
    interrupt_at: int = -1

    name = "line"
    models: ClassVar = {"linear": "tiny:Line"}
    builtin: ClassVar = {"points": "random points on a line"}
    headline = "closeness"
    inputs = "lines"
    suffixes = ()

    @classmethod
    def options(cls, model):
        return LineOptions

    @classmethod
    def recipe(cls, model, data):
        return {}

    @classmethod
    def prepare(cls, options):
        return cls(options)

    @classmethod
    def restore(cls, options, folder):
        assert (folder / "line.json").exists()
        return cls(options)

    def save(self, folder):
        write_json(folder / "line.json", {"width": self.settings.width})

    @property
    def fingerprint(self):
        return f"points times {self.settings.scale}" if self.settings.data == "points" else self.settings.data

    def build(self):
        return torch.nn.Sequential(
            torch.nn.Linear(self.settings.width, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1)
        )

    def batch(self, step):
        numbers = torch.Generator().manual_seed(step)
        return torch.randn(6, self.settings.width, generator=numbers)

    def loss(self, model, batch):
        difference = model(batch).squeeze(-1) - self.settings.scale * batch.sum(-1)
        return Loss(difference.square().mean(), len(batch))

    def evaluate(self, model, split, limit=None):
        assert not model.training
        value = float(self.loss(model, self.batch(10**6)).total)
        return Evaluation({"closeness": 1 / (1 + value)}, {}, 6, 6, 0.5)

    def sample(self, model, step):
        assert not model.training
        return f"sample of step {step}"

    def predict(self, model, inputs, count, *, ahead=None):
        for text in inputs:
            yield [text] * count

    def look(self, model, inputs, folder):
        yield from ()
