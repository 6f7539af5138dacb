"""A tiny run of the command line and a tiny task, for tests that need something trained in a second or two."""

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from safetensors.torch import load_file

from saccade._system.files import write_json
from saccade.cli import main
from saccade.errors import ArgumentError
from saccade.tasks import TASKS
from saccade.tasks.classify_text import codec as words
from saccade.tasks.classify_text.data import reviews
from saccade.tasks.request import NoOptions, completed
from saccade.tasks.stream import texts
from saccade.tasks.transcribe import codec as spoken
from saccade.tasks.transcribe.data import tones
from saccade.tasks.translate import codec as tokens
from saccade.tasks.translate.data import dates
from saccade.train.task import Baseline, Evaluation, Example, Loss, Suited, Unreadable, options_class, recipe

SMALL = ["--hidden-dim", "32", "--embedding-dim", "16", "--batch-tokens", "600", "--checkpoint-steps", "10"]
SOURCE = Path(__file__).parents[1] / "src"
LEASH = [path, "--pdeathsig", "TERM"] if (path := shutil.which("setpriv")) else []
"""Linux ends a command behind these words when its parent ends, even if that was killed."""


def train(run, *more):
    """Train a tiny translator in this process; returns the exit code."""
    return main(["train", "translate", "--run", str(run), *SMALL, *map(str, more)])


def python(*arguments):
    """Python as a process of its own, which ends with this one."""
    return [*LEASH, sys.executable, *map(str, arguments)]


def command(*arguments):
    """The program as a process of its own, which ends with this one."""
    return python("-m", "saccade", *arguments)


def environment():
    return {**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}


def program(*arguments, **options):
    """Run the program to its end in a process of its own."""
    settings = {"capture_output": True, "text": True, "env": environment(), **options}
    return subprocess.run(command(*arguments), check=False, **settings)


def cut(patch):
    """Cut built-in data down: making and measuring all examples would take most of the time of a tiny training."""
    for module in (dates, reviews):
        patch.setattr(module, "HELD_OUT", 100)
    patch.setattr(tones.Tones, "held_out", 20)
    for module in (tokens, spoken):
        patch.setattr(module, "_ENDLESS", 1000)
    patch.setattr(words.LabelledTexts, "endless", 1000)


@pytest.fixture(scope="module", autouse=True)
def few():
    """Few examples of built-in data, in all tests of a module that imports this."""
    with pytest.MonkeyPatch.context() as patch:
        cut(patch)
        yield


@contextmanager
def unread():
    """A stream into a pipe that nobody reads any more."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w", buffering=1) as stream:
        yield stream


@dataclass(frozen=True, kw_only=True)
class Width:
    """The model's own options."""

    width: int = 4
    """How many numbers there are to each point."""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """The task's own options."""

    scale: float = 1.0
    """What the sum of a point's numbers is multiplied by."""


@dataclass(frozen=True, kw_only=True)
class EvalRequest:
    """How points are measured."""

    rounded: bool = False
    """Round heights to whole numbers."""


@dataclass(frozen=True, kw_only=True)
class Request(EvalRequest):
    """How points are answered."""

    nbest: int = 1
    """Write each height so many times."""

    raised_by: float = 0.0
    """Add this to each height."""

    def __post_init__(self):
        if self.nbest < 1:
            raise ArgumentError(f"--nbest: expected a number above 0, got {self.nbest}")


class Linear(torch.nn.Sequential):
    """Two layers with a dropout in the way."""

    Options: ClassVar = Width
    recipes: ClassVar = {"points": {}, "files": {"width": 3}}

    def __init__(self, width):
        super().__init__(torch.nn.Linear(width, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))


class Mean(torch.nn.Module):
    """The mean of several models."""

    def __init__(self, models):
        super().__init__()
        self.models = torch.nn.ModuleList(models)

    def forward(self, points):
        return torch.stack([model(points) for model in self.models]).mean(0)


@dataclass(frozen=True)
class Points:
    """Endless training points, five of every other split."""

    fingerprint: str

    def size(self, split):
        return None if split == "train" else 5


@dataclass(frozen=True)
class Height:
    """An answer; None where the point could not be read."""

    name: str
    height: float | None
    count: int

    remark = "by a line"

    def lines(self):
        return ["" if self.height is None else f"{self.height:.3f}"] * self.count

    def __str__(self):
        return "\n".join(self.lines())

    def to_json(self):
        return {"point": self.name, "height": self.height}

    def draw(self, folder, *, json=False):
        if self.height is not None:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{self.name.replace(' ', '_')}.png"
            path.write_bytes(b"no real picture")
            yield path


@dataclass(frozen=True)
class Line:
    """Fit a line with a dropout in the way: a task that has nothing to do with text."""

    settings: Any

    name = "line"
    models: ClassVar = {"linear": "tiny:Linear"}
    builtin: ClassVar = {"points": "random points on a line"}
    Options: ClassVar = Scale
    recipes: ClassVar = {"points": {"max_steps": 30, "unknown_to_some_models": 1}, "files": {"scale": 2.0}}
    requests: ClassVar = {"predict": Request, "eval": EvalRequest, "look": NoOptions}
    inputs = "lines"
    unit = "points"
    headline = "closeness"
    suffixes = ()
    lines = staticmethod(texts)

    @classmethod
    def suited(cls, model, given, objects=None):
        return Suited(recipe(cls, model, given["data"]), data=objects)

    @classmethod
    def prepare(cls, options, objects=None):
        return cls(options)

    @classmethod
    def restore(cls, options, folder, objects=None):
        assert (folder / "line.json").exists()
        return cls(options)

    def save(self, folder):
        write_json(folder / "line.json", {"width": self.settings.width})

    @property
    def data(self):
        settings = self.settings
        return Points(f"points times {settings.scale}" if settings.data == "points" else settings.data)

    def build(self):
        return Linear(self.settings.width)

    def batch(self, step):
        numbers = torch.Generator().manual_seed(step)
        return torch.randn(6, self.settings.width, generator=numbers)

    def loss(self, model, batch):
        difference = model(batch).squeeze(-1) - self.settings.scale * batch.sum(-1)
        return Loss(difference.square().mean(), len(batch))

    def example(self, split, index):
        point = torch.full((self.settings.width,), float(index))
        return Example(point, f"{split} {index}", f"{self.settings.scale * float(point.sum()):.3f}")

    def evaluate(self, model, split, limit=None, request=None):
        assert not model.training
        value = float(self.loss(model, self.batch(10**6)).total)
        value = round(value) if request is not None and request.rounded else value
        return Evaluation({"closeness": 1 / (1 + value)}, {}, 6, 6, 0.5)

    def baselines(self, split):
        return {"mean": Baseline({"closeness": 0.25}, "the mean", 0.0)}

    def read(self, line, number):
        try:
            point = torch.tensor([float(word) for word in line.split()])
        except ValueError:
            raise ArgumentError(f"line {number}: expected numbers, got {line!r}") from None
        if len(point) != self.settings.width:
            raise ArgumentError(f"line {number}: expected {self.settings.width} numbers, got {len(point)}")
        return point

    def check(self, model, request):
        if getattr(request, "raised_by", 0) > 100:
            raise ArgumentError("--raised-by: expected at most 100")

    def answer(self, model, inputs, request, form="lines"):
        asked = completed(Request, request)
        return [self._height(model, point, asked) for point in inputs]

    def _height(self, model, point, asked):
        if isinstance(point, Unreadable):
            return Height(point.line, None, asked.nbest)
        height = float(model(point[None])) + asked.raised_by
        name = " ".join(f"{number:g}" for number in point.tolist())
        return Height(name, float(round(height)) if asked.rounded else height, asked.nbest)

    def join(self, model, others):
        for other in others:
            if other.options.width != self.settings.width:
                raise ArgumentError(f"--ensemble: expected {self.settings.width} numbers, got {other.options.width}")
        return self, Mean([model, *(other.model for other in others)])


LineOptions = options_class(Line, "linear")


@contextmanager
def registered():
    """Have the command line and `saccade.runs` know the tasks: one line in their table is all that this takes."""
    TASKS.update(line="tiny:Line", opened="tiny:Opened")
    try:
        yield
    finally:
        del TASKS["line"], TASKS["opened"]


def line_options(run, **changed):
    """The options of a run of `Line` that is over in a moment."""
    settings = {"max_steps": 30, "checkpoint_steps": 10, "validation_steps": 10, "warmup_steps": 5, "device": "cpu"}
    return LineOptions(**{"run": str(run), "model": "linear", "data": "points", **settings, **changed})


def weights(run):
    """What a run came to."""
    return load_file(Path(run) / "model.safetensors")


def equal(first, second):
    """Whether two runs came to the same weights, bit for bit."""
    one, other = weights(first), weights(second)
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@dataclass(frozen=True)
class Opened(Line):
    """The same for a task whose recipe follows from what it reads of the data: the more examples, the wider."""

    name = "opened"
    opened: ClassVar = []  # the data that were read

    @classmethod
    def suited(cls, model, given, objects=None):
        if given["data"] == "unreadable":
            raise ArgumentError("unreadable: expected points, got none")
        cls.opened.append(given["data"])
        count = int(given["data"].removesuffix("-points"))
        suits = {"width": 2 + count // 100, "max_steps": 4, "warmup_steps": 2, "checkpoint_steps": 2}
        return Suited(suits, f"{count} points: a width of {suits['width']}", objects)
