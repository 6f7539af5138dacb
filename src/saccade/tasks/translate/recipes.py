"""Recipes for corpora of different sizes."""

from collections.abc import Mapping
from statistics import median
from typing import Any

from saccade.data.cleaning import front
from saccade.data.dataset import training_sample
from saccade.tasks.translate.data.corpus import Corpus
from saccade.tasks.translate.options import RECIPES

__all__ = ["read", "smaller", "suited"]


def _of_size(tokens: int, warmup: int, steps: int, often: int) -> dict[str, Any]:
    schedule = {"warmup_steps": warmup, "max_steps": steps, "schedule_steps": steps}
    progress = {"checkpoint_steps": often, "validation_steps": often, "validation_examples": 200, "patience": 4}
    return {"batch_tokens": tokens, **schedule, **progress, "matmul_precision": "highest"}


#: Tuned on the first 500, 2,000 and 8,000 pairs of Multi30k, see docs/results.md. The models have sizes of their own
#: beside these. Products are not rounded: models so small gain nothing by it.
_BY_SIZE: dict[str, dict[str, Any]] = {
    "hundreds": _of_size(1000, 60, 600, 100),
    "thousands": _of_size(1000, 100, 1000, 200),
    "ten-thousands": _of_size(1500, 150, 1500, 300),
    "files": {},
}
_BELOW = {"hundreds": 1000, "thousands": 4000, "ten-thousands": 15_000}  # halfway between sizes of the trials
_CALLED = {"files": "tens of thousands", "ten-thousands": "some ten thousand"}
_LOOKED_AT = 1000  # pairs, spread over the corpus, in the sample of lengths
_LONG = 1000  # words: no median is longer, and no more is counted
_WORDS = 12  # in the median pair of Multi30k, the data of the trials for the recipes


def read(corpus: Corpus) -> tuple[int, float]:
    """Return the number of training pairs and their median number of words.

    The words of a pair are those of its longer side.
    """
    pairs = training_sample(corpus, _LOOKED_AT, _LOOKED_AT)
    words = median(max(len(front(text, _LONG).split()) for text in (pair.source, pair.target)) for pair in pairs)
    return corpus.size("train") or len(pairs), words


def suited(count: int, words: float, recipes: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, Any], str]:
    """Return the recipe for a number of pairs, and the reason.

    Pairs longer than those of the trials count for more. Shorter ones do not count for less, as texts without spaces
    are one word.

    Args:
        count: training pairs.
        words: of the longer side of the median pair.
        recipes: recipes of the model. The recipe "files" stands in for missing sizes.

    Example:
        >>> recipes = {"files": {"hidden_dim": 256}, "hundreds": {"hidden_dim": 64}}
        >>> options, reason = suited(500, 11.5, recipes)
        >>> options["hidden_dim"], reason.partition(" (")[0]
        (64, '500 pairs, 11.5 words in the median: the recipe for hundreds')
    """
    size = _size(count, words)
    options = _recipe(size, recipes)
    return options, f"{count:,} pairs, {words:g} words in the median: the recipe for {_called(size, options)}"


def smaller(count: int, words: float, recipes: Mapping[str, Mapping[str, Any]]) -> list[tuple[dict[str, Any], str]]:
    """Return recipes with smaller models and batches for a small budget.

    The largest is first. Their schedules are as long as that of the suited recipe.

    Args:
        count, words, recipes: as for `suited`.

    Example:
        >>> recipes = {"files": {"hidden_dim": 256}, "hundreds": {"hidden_dim": 64}}
        >>> [(options["hidden_dim"], options["max_steps"]) for options, _ in smaller(2000, 9, recipes)]
        [(64, 1000)]
    """
    sizes, size, results = [*_BY_SIZE], _size(count, words), []
    last = _recipe(size, recipes)
    steps = last["max_steps"]
    for name in reversed(sizes[: sizes.index(size)]):
        options = _recipe(name, recipes)
        if all(options[part] >= last[part] for part in ("batch_tokens", "hidden_dim")):
            continue  # its steps take as long
        last = options
        warmup = round(options["warmup_steps"] * steps / options["max_steps"])
        options |= {"max_steps": steps, "schedule_steps": steps, "warmup_steps": warmup}
        results.append((options, f"the recipe for {_called(name, options)} has smaller steps"))
    return results


def _size(count: int, words: float) -> str:
    worth = count * max(1.0, words / _WORDS)
    return next((name for name, below in _BELOW.items() if worth < below), "files")


def _recipe(size: str, recipes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {**RECIPES["files"], **_BY_SIZE[size], **recipes.get(size, recipes["files"])}


def _called(size: str, options: Mapping[str, Any]) -> str:
    how = f"{options['max_steps']:,} steps of {options['batch_tokens']:,} tokens, {options['hidden_dim']} features"
    return f"{_CALLED.get(size, size)} ({how})"
