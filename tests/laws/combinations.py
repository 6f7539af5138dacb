"""Which members of the tables meet in one call: all pairs of two factors in few combinations."""

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from laws.table import NORMALIZERS, READS, SCORES


def sensible(
    score: str, normalizer: str, mask: str = "none", bias: str = "none", gate: str = "none", read: str = "soft", *_: str
) -> bool:
    """Sums divide what is not negative alone; draws and renormalized reads need weights that are not negative."""
    positive = "nonnegative" in SCORES[score].traits and bias == "none"
    if normalizer.startswith("sum") and not positive:
        return False
    return "weights" not in READS[read].traits or positive or "nonnegative" in NORMALIZERS[normalizer].traits


def each(*factors: Sequence[str], seed: int = 0) -> list[tuple[str, ...]]:
    """Fewer: combinations in which every entry of a factor occurs with every entry of the last, the backends."""
    last = len(factors) - 1
    return pairwise(*factors, seed=seed, pairs=[(first, last) for first in range(last)])


def interacting(*factors: Sequence[str], seed: int = 0) -> list[Any]:
    """`each`, and, where everything is run, every score with every normalizer and every mask with every bias."""
    first = each(*factors, seed=seed)
    more = pairwise(*factors, seed=seed, pairs=[(0, 1), (2, 3)])
    return [*first, *(pytest.param(combination, marks=pytest.mark.slow) for combination in more)]


def thinned(combinations: Sequence[Any], step: int = 4) -> list[Any]:
    """One of a few, the others in the slow tier."""
    return [
        combination if number % step == 0 else pytest.param(combination, marks=pytest.mark.slow)
        for number, combination in enumerate(combinations)
    ]


def pairwise(
    *factors: Sequence[str], seed: int = 0, pairs: Sequence[tuple[int, int]] | None = None
) -> list[tuple[str, ...]]:
    """Few combinations in which every sensible pair of entries of two factors occurs, of all factors or of `pairs`."""
    rng, factors = random.Random(seed), tuple(map(tuple, factors))
    missing = {
        (i, a, j, b)
        for i, j in itertools.combinations(range(len(factors)), 2)
        for a in factors[i]
        for b in factors[j]
        if pairs is None or (i, j) in pairs
    }
    chosen = []
    for pair in sorted(missing):
        if pair not in missing:
            continue
        tried = list(_containing(pair, factors, rng))
        if tried:
            chosen.append(max(tried, key=lambda combo: len(_pairs(combo) & missing)))
            missing -= _pairs(chosen[-1])
    return chosen


def _containing(
    pair: tuple[int, str, int, str], factors: Sequence[Sequence[str]], rng: random.Random
) -> Iterator[tuple[str, ...]]:
    count = 0
    for _ in range(600):  # one in fifty is sensible where sums divide
        combo = [rng.choice(factor) for factor in factors]
        combo[pair[0]], combo[pair[2]] = pair[1], pair[3]
        if sensible(*combo):
            count += 1
            yield tuple(combo)
        if count == 30:
            return


def _pairs(combo: tuple[str, ...]) -> set[tuple[int, str, int, str]]:
    return {(i, combo[i], j, combo[j]) for i, j in itertools.combinations(range(len(combo)), 2)}
