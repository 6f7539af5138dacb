"""Which speech corpora there are, and what they are called on the command line."""

from functools import partial
from pathlib import Path
from typing import Any

from saccade.data import OBJECTS, Row, load
from saccade.data.dataset import no_such_data
from saccade.data.layouts.librispeech import librispeech
from saccade.data.layouts.speech_commands import speech_commands
from saccade.data.layouts.speech_lists import kaldi, ljspeech
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.audio.recordings import SUFFIXES
from saccade.tasks.transcribe.data.an4 import is_an4, open_an4
from saccade.tasks.transcribe.data.corpus import Corpus
from saccade.tasks.transcribe.data.fsdd import is_fsdd, open_fsdd
from saccade.tasks.transcribe.data.recordings import BLANK, RATE, Recordings, check_rate, columns
from saccade.tasks.transcribe.data.tones import Tones

__all__ = ["BUILTIN", "open_corpus"]

BUILTIN = {"tones": "strings of digits as telephone keypad tones, with noise; generated on the fly"}


def open_corpus(
    data: str,
    rate: int | None = None,
    objects: Any = None,
    names: SplitNames | None = None,
    language: str | None = None,
) -> Corpus:
    """Return the corpus that --data names: a built-in one, a data set's own folder, or what a manifest lists.

    Args:
        data: a key of `BUILTIN`; or the path of the Free Spoken Digit Dataset, of AN4, of LibriSpeech, of Common Voice,
            of a manifest, of a folder with one, of tables, or of recordings in a folder for each word.
        rate: the samples a second that --rate asks for, in Hz; None: those of the data, and 16,000 for a manifest.
        objects: the waveforms and texts themselves, where `data` says that they are Python objects.
        names: what splits are called.
        language: whose words the digits of the built-in corpus are written in; None: digits.

    Raises:
        ArgumentError: if there is none, or something is wrong with it.
        OSError: if a file cannot be read.

    Example:
        >>> open_corpus("tones").size("test")
        500
    """
    path, names, own = Path(data), names or SplitNames(), RATE if rate is None else rate
    if language is not None and data not in BUILTIN:
        raise ArgumentError(f"--language: expected only with --data {' or '.join(BUILTIN)}, got {language}")
    if data in BUILTIN:
        names.refuse(data)
        return _checked(Tones(language), data, rate)
    check_rate(own)
    folder = None if data == OBJECTS else path if path.is_dir() else path.parent
    read = partial(
        load,
        data,
        columns(own, folder),
        names,
        objects,
        blank=BLANK,
        what="recordings",
        key=_key,
        ends=_ENDS,
        whole=("manifest", "validated"),
    )
    rows = read()
    if rows is None and path.is_dir() and (is_fsdd(path) or is_an4(path)):
        names.refuse(data)
        return _checked(open_fsdd(path) if is_fsdd(path) else open_an4(path), data, rate)
    rows = rows or read(layouts=_LAYOUTS)
    if rows is None:
        names.check("train", data)
        raise no_such_data(data, BUILTIN, holds=_HOLDS)
    return Recordings(rows, own)


_ENDS = tuple(f"{stem}{end}" for end in (".csv", ".tsv", ".jsonl", ".json") for stem in ("", "_manifest"))
_LAYOUTS = (librispeech, ljspeech, kaldi, partial(speech_commands, suffixes=SUFFIXES))
_HOLDS = (
    "manifest.csv (.tsv, .jsonl, .json, .parquet), or the same called train, validation and test, a folder of "
    "recordings for each word, recordings/ as FSDD has it, or etc/an4_train.fileids as AN4"
)


def _key(row: Row) -> Any:
    """The listed path of a recording; a recording without a path itself."""
    return row["listed"] or row["audio"]


def _checked(corpus: Corpus, data: str, rate: int | None) -> Corpus:
    """A corpus that has a rate of its own, or none, once no other is asked for."""
    if rate not in (None, corpus.rate):
        own = f"its recordings have {corpus.rate} Hz" if corpus.rate else "its signals are features, which have none"
        raise ArgumentError(f"--rate: expected none for {data}, as {own}; leave {rate} out")
    return corpus
