"""Metrics of answers in bits or symbols, and baselines."""

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.tasks.groups import by_group
from saccade.tasks.memorize.data import Language
from saccade.tasks.memorize.episode import Item
from saccade.tasks.memorize.problems import NGrams
from saccade.train.task import Baseline, Metric

__all__ = ["HEADLINE", "Score", "baselines", "cost", "judged", "measured"]

HEADLINE = "accuracy"


class Score(NamedTuple):
    """Number of bits or symbols of an answer, errors, and cross-entropy in bits."""

    size: int
    wrong: int
    bits: float = 0.0


def cost(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the cross-entropy of each bit or symbol in nats.

    Args:
        logits: of bits `(steps, bits)`, or of symbols `(steps, symbols)`.
        targets: bits `(steps, bits)` float, or symbols `(steps,)` int64.
    """
    if targets.is_floating_point():
        return F.binary_cross_entropy_with_logits(logits, targets, reduction="none")
    return F.cross_entropy(logits, targets, reduction="none")


def judged(logits: Tensor, targets: Tensor) -> Score:
    """Return the score of one answer, with the shapes of `cost`.

    >>> judged(torch.tensor([[2.0, -2.0]]), torch.tensor([[1.0, 1.0]]))
    Score(size=2, wrong=1, bits=3.2...)
    """
    if not targets.is_floating_point():
        return Score(len(targets), int((logits.argmax(-1) != targets).sum()))
    bits = float(cost(logits.double(), targets.double()).sum()) / math.log(2)
    return Score(targets.numel(), int(((logits > 0) != (targets > 0)).sum()), bits)


_METRICS: dict[str, Callable[[Sequence[Score]], float]] = {
    "accuracy": lambda scores: 1 - math.fsum(s.wrong / max(1, s.size) for s in scores) / max(1, len(scores)),
    "exact_match": lambda scores: sum(not s.wrong for s in scores) / max(1, len(scores)),
    "bit_error": lambda scores: sum(s.wrong for s in scores) / max(1, sum(s.size for s in scores)),
    "bits": lambda scores: math.fsum(s.bits for s in scores) / max(1, len(scores)),
}


def measured(
    scores: Sequence[Score], groups: Sequence[str], *, vectors: bool
) -> tuple[dict[str, Metric], dict[str, dict[str, float]]]:
    """Return the metrics of all answers and of groups.

    Args:
        scores: of the answers.
        groups: of each answer, "" for none.
        vectors: whether answers are bits.

    Returns:
        "accuracy", the mean over answers of the share of right bits or symbols, and "exact_match". For bits also
        "bit_error", the share of all bits that are wrong, and "bits", the mean cross-entropy of an answer.

    Example:
        >>> metrics, parts = measured([Score(8, 0, 1.0), Score(8, 4, 9.0)], ["20", "40"], vectors=True)
        >>> metrics["bit_error"], parts["bit_error"], metrics["bits"]
        (0.25, {'20': 0.0, '40': 0.5}, 5.0)
    """
    names = list(_METRICS)[: None if vectors else 2]

    def parts(name: str) -> dict[str, float]:
        return by_group(lambda _, part: _METRICS[name](part), groups, scores, groups)

    metrics: dict[str, Metric] = {name: _METRICS[name](scores) for name in names}
    return metrics, {name: parts(name) for name in names} if any(groups) else {}


def baselines(language: Language, train: Sequence[Item], items: Sequence[Item]) -> dict[str, Baseline]:
    """Measure the most frequent answer, and counts for predicted bits.

    Args:
        language: of the questions.
        train: questions of training.
        items: questions to measure.
    """
    began, answers = time.perf_counter(), [language.episode(item).wanted for item in train]
    targets, vectors = [language.episode(item).wanted for item in items], not language.sizes.symbols

    def baseline(logits: Sequence[Tensor], about: str) -> Baseline:
        scores = [judged(*pair) for pair in zip(logits, targets, strict=True)]
        metrics, _ = measured(scores, [""] * len(scores), vectors=vectors)
        return Baseline(metrics, about, round(time.perf_counter() - began, 3))

    if vectors:
        guess = torch.cat(answers).mean(0).clamp(1e-3, 1 - 1e-3).logit()
        name, about = "constant", "each bit as it is most often"
    else:
        counts = Counter(symbol for answer in answers for symbol in answer.tolist())
        best = min(counts, key=lambda symbol: (-counts[symbol], symbol))
        guess = F.one_hot(torch.tensor(best), language.sizes.targets).float()
        name, about = "majority", f"always {language.said(guess[None], 1)[0] or 'nothing'}"
    results = {name: baseline([guess.expand(len(part), -1) for part in targets], about)}
    if isinstance(language, NGrams):
        began = time.perf_counter()
        counted = [torch.from_numpy(language.best(language.parse(item.text))).logit() for item in items]
        results["counting"] = baseline(counted, "chances counted within the sequence, the best there is")
    return results
