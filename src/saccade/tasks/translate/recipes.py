"""Which recipe suits a corpus, by how many pairs there are and how long they are."""

from collections.abc import Mapping
from statistics import median
from typing import Any

from saccade.data.cleaning import front
from saccade.data.dataset import training_sample
from saccade.tasks.translate.data.corpus import Corpus
from saccade.tasks.translate.options import RECIPES

__all__ = ["read", "smaller", "suited"]

#: Found on the first 500, 2,000 and 8,000 pairs of Multi30k, see docs/results.md; the models have sizes of their own
#: beside these. Products are not rounded: models so small gain nothing by it.
_COMMON: dict[str, Any] = {"matmul_precision": "highest", "validation_examples": 200, "patience": 4}
_BY_SIZE: dict[str, dict[str, Any]] = {
    "hundreds": {
        **_COMMON,
        "batch_tokens": 1000,
        "warmup_steps": 60,
        "max_steps": 600,
        "schedule_steps": 600,
        "checkpoint_steps": 100,
        "validation_steps": 100,
    },
    "thousands": {
        **_COMMON,
        "batch_tokens": 1000,
        "warmup_steps": 100,
        "max_steps": 1000,
        "schedule_steps": 1000,
        "checkpoint_steps": 200,
        "validation_steps": 200,
    },
    "ten-thousands": {
        **_COMMON,
        "batch_tokens": 1500,
        "warmup_steps": 150,
        "max_steps": 1500,
        "schedule_steps": 1500,
        "checkpoint_steps": 300,
        "validation_steps": 300,
    },
    "files": {},
}
_BELOW = {"hundreds": 1000, "thousands": 4000, "ten-thousands": 15_000}  # halfway, by factors, between what was tried
_CALLED = {"files": "tens of thousands", "ten-thousands": "some ten thousand"}
_LOOKED_AT = 1000  # pairs, spread over the corpus, whose lengths are read
_LONG = 1000  # words: no median is longer, and no more is counted
_WORDS = 12  # in the median pair of Multi30k, on which the recipes were found


def read(corpus: Corpus) -> tuple[int, float]:
    """Return how many training pairs there are, and the words of the longer side of the median one."""
    pairs = training_sample(corpus, _LOOKED_AT, _LOOKED_AT)
    words = median(max(len(front(text, _LONG).split()) for text in (pair.source, pair.target)) for pair in pairs)
    return corpus.size("train") or len(pairs), words


def suited(count: int, words: float, own: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, Any], str]:
    """Return the recipe for so many pairs, and why it is that one.

    Pairs longer than those that recipes were found on count for more; shorter ones do not count for less, as texts
    without spaces are one word.

    Args:
        count: training pairs.
        words: of the longer side of the median pair.
        own: the model's recipes; where it has none for a size it takes that of files.

    Example:
        >>> own = {"files": {"hidden_dim": 256}, "hundreds": {"hidden_dim": 64}}
        >>> found, reason = suited(500, 11.5, own)
        >>> found["hidden_dim"], reason.partition(" (")[0]
        (64, '500 pairs, 11.5 words in the median: the recipe for hundreds')
    """
    size = _size(count, words)
    options = _recipe(size, own)
    return options, f"{count:,} pairs, {words:g} words in the median: the recipe for {_called(size, options)}"


def smaller(count: int, words: float, own: Mapping[str, Mapping[str, Any]]) -> list[tuple[dict[str, Any], str]]:
    """Return recipes with smaller models and batches, the largest first, for when few steps of the suited one fit.

    Their schedule is as long as that of the recipe that suits: so much there is to learn from.

    Args:
        count, words, own: as for `suited`.

    Example:
        >>> own = {"files": {"hidden_dim": 256}, "hundreds": {"hidden_dim": 64}}
        >>> [(options["hidden_dim"], options["max_steps"]) for options, _ in smaller(2000, 9, own)]
        [(64, 1000)]
    """
    sizes = [*_BY_SIZE]
    size = _size(count, words)
    steps = _recipe(size, own)["max_steps"]
    found = []
    last = _recipe(size, own)
    for name in reversed(sizes[: sizes.index(size)]):
        options = _recipe(name, own)
        if all(options[part] >= last[part] for part in ("batch_tokens", "hidden_dim")):
            continue  # it differs in what it forgets, and not in what a step takes
        last = options
        warmup = round(options["warmup_steps"] * steps / options["max_steps"])
        options |= {"max_steps": steps, "schedule_steps": steps, "warmup_steps": warmup}
        found.append((options, f"the recipe for {_called(name, options)} has smaller steps"))
    return found


def _size(count: int, words: float) -> str:
    worth = count * max(1.0, words / _WORDS)
    return next((name for name, below in _BELOW.items() if worth < below), "files")


def _recipe(size: str, own: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {**RECIPES["files"], **_BY_SIZE[size], **own.get(size, own["files"])}


def _called(size: str, options: Mapping[str, Any]) -> str:
    how = f"{options['max_steps']:,} steps of {options['batch_tokens']:,} tokens, {options['hidden_dim']} features"
    return f"{_CALLED.get(size, size)} ({how})"
