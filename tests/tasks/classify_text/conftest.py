"""What the tests of the task share: data made by hand, and a tiny run of every model."""

import pytest

from saccade.cli import main

SIZES = {
    "rnn-attention": ["--hidden-dim", "8"],
    "self-attention": ["--hidden-dim", "8", "--heads", "2", "--feedforward-dim", "8"],
    "fixed": [],
    "sum": [],
}


def train(run, *more, model="fixed", data="reviews"):
    """Train a tiny classifier in this process; returns the exit code."""
    shared = ["--data", str(data), "--model", model, "--run", str(run), "--embedding-dim", "8"]
    return main(["train", "classify-text", *shared, *SIZES[model], *map(str, more)])


def labelled(path, rows, form="{text}\t{label}\n"):
    path.write_text("".join(form.format(text=text, label=label) for text, label in rows), encoding="utf-8")
    return path


@pytest.fixture
def rows():
    """Sixty different texts of two labels."""
    return [(f"{'good' if n % 2 else 'bad'} film number {n}", "yes" if n % 2 else "no") for n in range(60)]
