"""Which speech corpora there are, and what they are called on the command line."""

from typing import Any

from saccade.data.arrow import is_arrow, read_arrow
from saccade.data.conversions import converted
from saccade.data.dataset import data_path, no_such_data
from saccade.data.objects import OBJECTS
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.transcribe.data.an4 import is_an4, open_an4
from saccade.tasks.transcribe.data.corpus import Corpus
from saccade.tasks.transcribe.data.fsdd import is_fsdd, open_fsdd
from saccade.tasks.transcribe.data.librispeech import is_librispeech, open_librispeech
from saccade.tasks.transcribe.data.objects import open_objects
from saccade.tasks.transcribe.data.recordings import RATE, is_recordings, open_recordings
from saccade.tasks.transcribe.data.tones import Tones
from saccade.tasks.transcribe.data.words import open_words

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
    path, names, own = data_path(data), names or SplitNames(), RATE if rate is None else rate
    if language is not None and data not in BUILTIN:
        raise ArgumentError(f"--language: expected only with --data {' or '.join(BUILTIN)}, got {language}")
    if data == OBJECTS:
        return open_objects(objects, own, names)
    if data in BUILTIN:
        names.refuse(data)
        return _checked(Tones(language), data, rate)
    if not path.exists():
        raise no_such_data(data, BUILTIN)
    if is_arrow(path):
        return open_objects(read_arrow(path, names), own, names, path if path.is_dir() else path.parent)
    if not path.is_dir() or is_recordings(path, names):
        return open_recordings(path, own, names)
    if is_fsdd(path) or is_an4(path):
        names.refuse(data)
        return _checked(open_fsdd(path) if is_fsdd(path) else open_an4(path), data, rate)
    if is_librispeech(path):
        return open_librispeech(path, own, names)
    if (words := open_words(path, own, names)) is not None:
        return words
    names.check("train", path, (each.name for each in path.iterdir()))
    wanted = "manifest.csv, .tsv, .jsonl or .json, or the same called train, validation and test"
    others = "a folder of recordings for each word, recordings (.tar.gz) as FSDD, or etc/an4_train.fileids as AN4 has"
    way_out = next(filter(None, map(converted, sorted(path.iterdir()))), "")
    raise ArgumentError(f"--data: expected in {data} {wanted}, {others}, found none of them{way_out}")


def _checked(corpus: Corpus, data: str, rate: int | None) -> Corpus:
    """A corpus that has a rate of its own, or none, once no other is asked for."""
    if rate not in (None, corpus.rate):
        own = f"its recordings have {corpus.rate} Hz" if corpus.rate else "its signals are features, which have none"
        raise ArgumentError(f"--rate: expected none for {data}, as {own}; leave {rate} out")
    return corpus
