"""Recipes for recordings, by their number, length and words."""

from collections.abc import Mapping
from statistics import median
from typing import Any, NamedTuple

from saccade.data.dataset import training_sample
from saccade.tasks.audio.signals import Signals
from saccade.tasks.transcribe.data.corpus import Corpus

__all__ = ["Heard", "advice", "hear", "smaller", "suited"]

_LISTENED_TO = 50  # measured training recordings, spread over the corpus
_SHORT = 1.5  # seconds below which a recording of one word is a command rather than a sentence
_FEW_WORDS = 1000  # recordings of a word below which a small model is enough
_MANY_WORDS = 10_000  # and from which on more steps are needed
_STEPS = 2000  # 199 clips of nine words, judged by 400 others, seeds 1 and 2: 0.941, and 0.929 after 1,000
_FEW_MINUTES = 20  # minutes of speech below which fewer steps are enough

#: Tuned on digits, alone and in strings, see docs/results.md. Masks of the usual 40 frames hide whole words.
_NARROW: dict[str, Any] = {"time_width": 8, "frequency_masks": 1, "beam_size": 5}
_SMALL: dict[str, Any] = {
    "hidden_dim": 128,
    "layers": 2,
    "dropout": 0.2,
    "learning_rate": 4e-3,
    "batch_tokens": 2000,
}
#: Features of single words. Bands that each have mean 0 in a word lose the vowel, and their noise is as loud as speech.
_WORD: dict[str, Any] = {"normalization": "recording", "trim_db": 40.0, "attend_to": "loud"}
#: Tuned on 210 digits, judged by 400 others, see docs/results.md. Batches are small, as in the recipe "files".
_FEW: dict[str, Any] = {**_SMALL, "dropout": 0.4, "batch_tokens": 1300}


class Heard(NamedTuple):
    """Number of training recordings (None if endless), median seconds and words."""

    recordings: int | None
    seconds: float
    words: float


def hear(corpus: Corpus) -> Heard:
    """Measure a corpus by a few of its recordings."""
    some = training_sample(corpus, _LISTENED_TO, _LISTENED_TO)
    seconds = Signals(None, corpus.dim).frame_seconds if corpus.rate is None else 1 / corpus.rate
    lengths = [len(recording.signal) * seconds for recording in some]
    return Heard(corpus.size("train"), median(lengths), median(len(recording.text.split()) for recording in some))


def suited(heard: Heard, usual: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the recipe for an amount of speech, and the reason.

    The reason of the usual recipe is "".

    Args:
        heard: measures of the corpus.
        usual: the recipe "files".

    Example:
        >>> options, reason = suited(Heard(320, 0.6, 1), {"max_steps": 5000, "time_width": 40})
        >>> options["max_steps"], options["time_width"], reason.partition(" (")[0]
        (2000, 8, '320 recordings of 0.6 s in the median, a word each: the recipe for few words')
    """
    if heard.recordings is None:
        return dict(usual), ""
    single = heard.words <= 1 and heard.seconds <= _SHORT
    minutes = heard.recordings * heard.seconds / 60
    if not single and minutes >= _FEW_MINUTES:
        return dict(usual), ""
    few = heard.recordings < _FEW_WORDS
    steps = _STEPS if not single or heard.recordings < _MANY_WORDS else 5000
    schedule = {"warmup_steps": steps // 10, "schedule_steps": steps, "max_steps": steps}
    often = {"checkpoint_steps": steps // 10, "validation_steps": steps // 5}
    sizes = _SMALL if not single else {**_WORD, **(_FEW if few else {})}
    options = {**usual, **_NARROW, **sizes, **schedule, **often}
    amount = "a word each" if single else f"{minutes:.0f} minutes of speech"
    kind = ("few words" if few else "words") if single else "little speech"
    about = f"{heard.recordings:,} recordings of {heard.seconds:.1f} s in the median, {amount}"
    return options, f"{about}: the recipe for {kind} ({steps:,} steps)"


def smaller(options: Mapping[str, Any]) -> tuple[dict[str, Any], str] | None:
    """Return a recipe with a smaller model and the reason, or None without one.

    >>> smaller({"hidden_dim": 128, "max_steps": 10})
    """
    if options["hidden_dim"] <= _SMALL["hidden_dim"]:
        return None
    how = f"{_SMALL['hidden_dim']} features, {_SMALL['layers']} layers"
    return {**options, **_SMALL}, f"a smaller listener has smaller steps ({how})"


def advice(options: Any) -> str:
    """Return the way to a better model of single words.

    >>> from types import SimpleNamespace
    >>> advice(SimpleNamespace(normalization="bands"))
    'try --normalization recording --trim-db 40'
    """
    if options.normalization != _WORD["normalization"]:
        return f"try --normalization {_WORD['normalization']} --trim-db {_WORD['trim_db']:g}"
    steps = max(_STEPS, 2 * (options.max_steps or options.schedule_steps or 0))
    minutes = f"--max-minutes {2 * options.max_minutes:g} " if options.max_minutes else ""
    return f"try {minutes}--max-steps {steps} --schedule-steps {steps}"
