"""A tiny speech run and sound files, for tests that need them."""

import soundfile

from saccade.cli import main
from saccade.tasks.transcribe.data.tones import Tones

TINY = ["--hidden-dim", "16", "--embedding-dim", "8", "--layers", "2", "--batch-tokens", "600", "--dropout", "0.1"]


def train(run, *more):
    """Train a tiny recognizer in this process; returns the exit code."""
    options = ["--data", "tones", *TINY, "--checkpoint-steps", "4", *map(str, more)]
    return main(["train", "transcribe", "--run", str(run), *options])


def record(path, index=0, rate=8000, columns=1):
    """Write a string of tones as a sound file; returns its path."""
    samples = Tones().example("test", index).signal.numpy()
    soundfile.write(path, samples if columns == 1 else samples[:, None].repeat(columns, 1), rate)
    return path
