"""Fixtures and rows of the tests of studies: a small corpus, small recipes, invented rows, pages written twice."""

import json
import re
import shlex
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from image_files import idx_of
from saccade.cli import main
from saccade.models import bytenet, luong, recurrent, transformer
from saccade.tasks.image.dataset import ImageRows
from saccade.tasks.image.digits import open_digits
from saccade.tasks.translate.options import RECIPES

SMALL = {"batch_tokens": 200, "vocabulary_size": 300, "threads": 1}
ABOUT = {
    "steps": 5,
    "budget": {"max_steps": 5, "max_minutes": 40.0},
    "seconds": 2.5,
    "parameters": 1000,
    "tokens_per_second": {"train": 1234.5, "decode": 100.0},
    "metrics": {"bleu": {"score": 30.0, "signature": "s|1"}},
    "hardware": {"device": "cpu"},
    "versions": {"torch": "2"},
}


@pytest.fixture
def rendered():
    """For tests of what a picture looks like: here alone pictures are rendered."""


@pytest.fixture(autouse=True)
def unrendered(request, monkeypatch):
    """Pictures are drawn but not rendered, which would take most of the time of a page."""
    if "rendered" not in request.fixturenames:
        picture = b'<svg xmlns="http://www.w3.org/2000/svg" width="1">' + 600 * b" " + b"</svg>"
        monkeypatch.setattr("saccade.look._figure._saved", lambda figure, form: picture)


@pytest.fixture
def small(monkeypatch):
    """Recipes for models of next to nothing."""
    monkeypatch.setitem(RECIPES, "files", SMALL)
    for module in (recurrent, luong):
        monkeypatch.setitem(module.RECIPES, "files", {"hidden_dim": 16, "embedding_dim": 8})
    monkeypatch.setitem(bytenet.RECIPES, "files", {"hidden_dim": 8, "max_dilation": 2, "sets": 1})
    sizes = {"hidden_dim": 16, "heads": 2, "layers": 1, "feedforward_dim": 16}
    monkeypatch.setitem(transformer.RECIPES, "files", sizes)


@pytest.fixture
def corpus(tmp_path, small):
    """Sixty sentences of one, five or nine words and a number."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for split, count in (("train", 60), ("val", 4), ("test", 12)):
        for side in ("de", "en"):
            lines = (" ".join([side] * (1 + 4 * (number % 3))) + f" {number}\n" for number in range(count))
            (folder / f"{split}.{side}").write_text("".join(lines))
    return folder


def run_of(model, seed=1, **changed):
    """What report.json says of a run."""
    return {"model": model, "seed": seed, **ABOUT, "command": f"saccade train translate --model {model}", **changed}


def row_of(model, score, *, seed=1, error=0.5, slant=0.0, **about):
    """A row of a score; rows of the same error and slant owe the same to the choice of sentences."""
    step = error / 74.25**0.5 + slant  # of which the delete-a-group jackknife makes the error
    partial = [score + step * (fold - 4.5) for fold in range(10)]
    number = {"sentences": 100, "metric": "bleu", "score": score, "error": error, "replicates": partial}
    return {"model": model, "seed": seed, **about, **number, "signature": "s|1", "seconds": 0.1, "command": ""}


def content_of(name, runs, rows):
    """report.json of a trained report."""
    arguments = {"source": "de", "target": "en"}
    named = {f"{run['model']}-{run['seed']}": run for run in runs}
    return {"report": name, "command": "c", "arguments": arguments, "data": "d", "runs": named, "rows": rows}


def drawn(data, models, columns, seeds=3):
    """report.json of models; a row's columns are a function of name, value and random numbers."""
    rows, runs = [], {}
    for index, (name, value) in enumerate(models.items()):
        for seed in range(1, seeds + 1):
            numbers = torch.Generator().manual_seed(seed + 100 * index)
            rows.append({"model": name, "seed": seed, **columns(name, value, numbers)})
            runs[f"{name}-{seed}"] = run_of(name, seed)
    return {"rows": rows, "runs": runs, "data": data, "arguments": {"seeds": seeds}, "command": "c"}


def stored(folder):
    """The content of a report on disk."""
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))


def documented(name):
    """Words of the commands of a study in docs/reports.md."""
    docs = Path(__file__).resolve().parents[1] / "docs/reports.md"
    lines = re.findall(rf"^saccade (report {name} .*)$", docs.read_text(encoding="utf-8"), flags=re.M)
    return [shlex.split(line) for line in lines]


def published(name):
    """Words of the command of a report in `results/`."""
    _, *words = shlex.split(stored(Path(__file__).resolve().parents[1] / "results" / name)["command"])
    return words


@pytest.fixture
def few_digits(monkeypatch):
    """Thirty built-in digits of each split for eyes."""
    rows = open_digits().rows
    few = replace(rows, splits={split: digits[:30] for split, digits in rows.splits.items()})
    monkeypatch.setattr("saccade.tasks.glimpse.data.open_digits", lambda: ImageRows(few))


@pytest.fixture
def rejects(tmp_path, monkeypatch, capsys):
    """Check that a report's command is an error with some words, and writes nothing."""
    monkeypatch.chdir(tmp_path)

    def check(command, words):
        before = {*tmp_path.iterdir()}
        assert main(["report", *command.split()]) == 2
        assert words in capsys.readouterr().err and {*tmp_path.iterdir()} == before

    return check


def complete(study, content, folder, words, *pictures):
    """Check the words and the pictures of a study's page, and return it."""
    page = written(study, content, folder)
    files = {f"{name}.{kind}" for name in pictures for kind in ("png", "svg")}
    assert {path.name for path in folder.iterdir()} == {"index.html", "index.md", *files}
    assert not [text for text in words if text not in page]
    return page


def written(study, content, folder):
    """The page of a study in Markdown; the same content gives the same bytes."""
    from studies.frame import page

    with tempfile.TemporaryDirectory() as other:
        for path in (folder, Path(other)):
            page.publish(study, content, path)
        first, second = (sorted(path.iterdir()) for path in (folder, Path(other)))
        assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    html = (folder / "index.html").read_text(encoding="utf-8")
    assert "<svg" in html and not re.search("<script| src=|<img", html)
    return (folder / "index.md").read_text(encoding="utf-8")


def write_mnist(folder, side=6, count=40):
    """Write the four files of MNIST, with grey images of noise; the label of each is its number modulo 10."""
    numbers = np.random.default_rng(1)
    folder.mkdir()
    for name, many in (("train", count), ("t10k", count // 2)):
        images = numbers.integers(0, 256, (many, side, side), np.uint8)
        (folder / f"{name}-images-idx3-ubyte").write_bytes(idx_of(images))
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(idx_of(np.arange(many) % 10))
    return folder


def described(svg):
    """The title and the description of a picture."""
    root = ElementTree.fromstring(svg.read_text(encoding="utf-8"))
    return {element.tag.rsplit("}")[-1]: element.text for element in root if element.text}


class Echo:
    """A task that translates every source into one text."""

    codec = SimpleNamespace(encode=lambda pairs, split: pairs)

    def __init__(self, text, data, target=None):
        self.text, self.settings = text, SimpleNamespace(data=data, target=target)
        self.headline = "exact_match" if data == "dates" else "bleu"

    def answer(self, model, inputs, request):
        assert request is None  # as the run itself answers
        return [SimpleNamespace(outputs=[SimpleNamespace(text=self.text)]) for _ in inputs]
