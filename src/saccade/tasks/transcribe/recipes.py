"""Recipes for recordings, by their number, length and words."""

from collections.abc import Mapping
from statistics import median
from typing import Any, NamedTuple

from saccade.data.dataset import training_sample
from saccade.tasks.audio.signals import Signals
from saccade.tasks.transcribe.data.corpus import Corpus

__all__ = ["Heard", "hear", "smaller", "suited"]

_LISTENED_TO = 50  # measured training recordings, spread over the corpus
_SHORT = 1.5  # seconds below which a recording of one word is a command rather than a sentence
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
        (1000, 8, '320 recordings of 0.6 s in the median, a word each: the recipe for few words')
    """
    if heard.recordings is None:
        return dict(usual), ""
    single = heard.words <= 1 and heard.seconds <= _SHORT
    minutes = heard.recordings * heard.seconds / 60
    if not single and minutes >= _FEW_MINUTES:
        return dict(usual), ""
    steps = 2000 if not single or 1000 <= heard.recordings < 10_000 else 1000 if heard.recordings < 1000 else 5000
    schedule = {"warmup_steps": steps // 10, "schedule_steps": steps, "max_steps": steps}
    often = {"checkpoint_steps": steps // 10, "validation_steps": steps // 5}
    options = {**usual, **_NARROW, **({} if single else _SMALL), **schedule, **often}
    amount = "a word each" if single else f"{minutes:.0f} minutes of speech"
    kind = ("few words" if heard.recordings < 1000 else "words") if single else "little speech"
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
