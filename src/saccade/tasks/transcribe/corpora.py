"""Which speech corpora there are, and what they are called on the command line."""

import difflib
from pathlib import Path

from saccade.errors import ArgumentError
from saccade.tasks.transcribe.an4 import is_an4, open_an4
from saccade.tasks.transcribe.corpus import Corpus
from saccade.tasks.transcribe.fsdd import is_fsdd, open_fsdd
from saccade.tasks.transcribe.tones import Tones

__all__ = ["BUILTIN", "open_corpus"]

BUILTIN = {"tones": "strings of digits as a telephone's keys send them, in noise; endless, made as they are asked for"}


def open_corpus(data: str, rate: int | None = None) -> Corpus:
    """Return the corpus that --data names: a built-in one, or a folder.

    Args:
        data: a key of `BUILTIN`, or the path of a folder: the Free Spoken Digit Dataset, or AN4.
        rate: the samples a second that --rate asks for, in Hz; None: what suits the data.

    Raises:
        ArgumentError: if there is none, or something is wrong with it.

    Example:
        >>> open_corpus("tones").size("test")
        500
    """
    path = Path(data)
    if data == "tones":
        return _checked(Tones(), data, rate)
    if path.is_dir() and is_fsdd(path):
        return _checked(open_fsdd(path), data, rate)
    if path.is_dir() and is_an4(path):
        return _checked(open_an4(path), data, rate)
    near = difflib.get_close_matches(data, BUILTIN, 1)
    hint = f"did you mean {near[0]}?" if near else f"built in: {', '.join(BUILTIN)}"
    raise ArgumentError(f"--data: no data set {data}, and no folder or file; {hint}")


def _checked(corpus: Corpus, data: str, rate: int | None) -> Corpus:
    """A corpus that has a rate of its own, or none, once no other is asked for."""
    if rate not in (None, corpus.rate):
        own = f"its recordings have {corpus.rate} Hz" if corpus.rate else "its signals are features, which have none"
        raise ArgumentError(f"--rate: expected none for {data}, as {own}; leave {rate} out")
    return corpus
