"""Speech corpora by their names on the command line."""

from functools import partial
from pathlib import Path
from typing import Any

from saccade.data import OBJECTS, load
from saccade.data.dataset import no_such_data
from saccade.data.layouts.an4 import an4
from saccade.data.layouts.fsdd import fsdd
from saccade.data.layouts.librispeech import librispeech
from saccade.data.layouts.speech_commands import speech_commands
from saccade.data.layouts.speech_lists import kaldi, ljspeech
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.audio.recordings import SUFFIXES, check_rate
from saccade.tasks.transcribe.data.corpus import Corpus
from saccade.tasks.transcribe.data.phrases import Phrases
from saccade.tasks.transcribe.data.recordings import BLANK, RATE, Recordings, columns
from saccade.tasks.transcribe.data.strings import Digits
from saccade.tasks.transcribe.data.tones import Tones
from saccade.tasks.transcribe.data.voices import Voices

__all__ = ["BUILTIN", "PROMPT_WORDS", "open_corpus"]

BUILTIN = {
    "tones": "strings of digits as telephone keypad tones, with noise; generated on the fly",
    "voices": "two such strings at once; the first word names the voice to write; generated on the fly",
    "phrases": "colours and shapes as keypad tones, in English or French; generated on the fly",
}
PROMPT_WORDS = {"voices": 1}
"""Number of first words of each text that the model is given, 0 for other data."""

_BUILTIN = {"tones": Tones, "voices": Voices, "phrases": Phrases}


def open_corpus(
    data: str,
    rate: int | None = None,
    objects: Any = None,
    names: SplitNames | None = None,
    language: str | None = None,
) -> Corpus:
    """Return a built-in corpus, or the corpus of a path.

    Args:
        data: a key of `BUILTIN`, or a path. It holds the Free Spoken Digit Dataset, AN4, LibriSpeech, Common Voice,
            a manifest, tables, or recordings in a folder for each word.
        rate: sample rate in Hz. Default: that of the data, 16,000 for a manifest.
        objects: waveforms and texts, if `data` is `OBJECTS`.
        names: the names of splits.
        language: of the words of built-in data. Default: digits, or English words of phrases.

    Raises:
        ArgumentError: if there is no such corpus, or it has a fault.
        OSError: if a file cannot be read.

    Example:
        >>> open_corpus("tones").size("test")
        500
    """
    path, names, hertz = Path(data), names or SplitNames(), RATE if rate is None else rate
    if language is not None and data not in BUILTIN:
        raise ArgumentError(f"--language: expected only with --data {', '.join(BUILTIN)}, got {language}")
    if data in BUILTIN:
        names.refuse(data)
        return _checked(_BUILTIN[data](language), data, rate)
    check_rate(hertz)
    cells = columns(hertz, None if data == OBJECTS else path if path.is_dir() else path.parent)
    read = partial(load, data, cells, names, objects, key=lambda row: row["listed"] or row["audio"], **_HOW)
    rows = read()
    for layout, corpus in ((fsdd, Digits.of), (an4, partial(Recordings, rate=None))):
        if rows is None and (published := read(layouts=[layout])):
            return _checked(corpus(published), data, rate)
    rows = rows or read(layouts=_LAYOUTS)
    if rows is None:
        names.check("train", data)
        raise no_such_data(data, BUILTIN, holds=_HOLDS)
    return Recordings(rows, hertz)


_HOW: dict[str, Any] = {
    "blank": BLANK,
    "what": "recordings",
    "ends": [f"{stem}{end}" for end in (".csv", ".tsv", ".jsonl", ".json") for stem in ("", "_manifest")],
    "whole": ("manifest", "validated"),
}
_LAYOUTS = (librispeech, ljspeech, kaldi, partial(speech_commands, suffixes=SUFFIXES))
_HOLDS = (
    "manifest.csv (.tsv, .jsonl, .json, .parquet), or the same called train, validation and test, a folder of "
    "recordings for each word, recordings/ as FSDD has it, or etc/an4_train.fileids as AN4"
)


def _checked(corpus: Corpus, data: str, rate: int | None) -> Corpus:
    """Return a corpus with a fixed rate or none, or reject another `rate`."""
    if rate not in (None, corpus.rate):
        reason = f"its recordings have {corpus.rate} Hz" if corpus.rate else "its signals are features, which have none"
        raise ArgumentError(f"--rate: expected none for {data}, as {reason}; leave {rate} out")
    return corpus
