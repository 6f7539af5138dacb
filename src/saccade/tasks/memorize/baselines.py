"""What a memory has to beat: the most frequent answer, and of bits foretold by counting the best that can be known."""

import time
from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

from saccade.tasks.memorize.data.corpus import Item
from saccade.tasks.memorize.data.problems import NGrams
from saccade.tasks.memorize.languages import Language, Vectors
from saccade.tasks.memorize.measures import judged, measured
from saccade.train.task import Baseline

__all__ = ["baselines"]


def baselines(language: Language, learned: Sequence[Item], asked: Sequence[Item]) -> dict[str, Baseline]:
    """Return what plain ways come to.

    Args:
        language: how questions are read.
        learned: questions of training.
        asked: those that are measured.
    """
    found = {"majority" if language.sizes.symbols else "constant": _constant(language, learned, asked)}
    if isinstance(language, Vectors) and isinstance(language.problem, NGrams):
        found["counting"] = _counting(language, language.problem, asked)
    return found


def _constant(language: Language, learned: Sequence[Item], asked: Sequence[Item]) -> Baseline:
    """Each bit by itself, or the one symbol."""
    began = time.perf_counter()
    targets = [language.episode(item).wanted for item in learned]
    if language.sizes.symbols:
        counts = Counter(symbol for each in targets for symbol in each.tolist())
        best = min(counts, key=lambda symbol: (-counts[symbol], symbol))
        guess = torch.zeros(language.sizes.targets)
        guess[best] = 1.0
        about = f"always {language.said(guess[None], 1)[0] or 'nothing'}"
    else:
        guess = torch.cat(targets).mean(0).clamp(1e-3, 1 - 1e-3).logit()
        about = "each bit as it is most often"
    wanted = [language.episode(item).wanted for item in asked]
    return _measured(language, [guess.expand(len(each), -1) for each in wanted], wanted, about, began)


def _counting(language: Language, problem: NGrams, asked: Sequence[Item]) -> Baseline:
    """What followed the same five bits so far."""
    began = time.perf_counter()
    chances = [torch.from_numpy(problem.best(problem.parse(item.text))).logit() for item in asked]
    wanted = [language.episode(item).wanted for item in asked]
    return _measured(language, chances, wanted, "chances counted within the sequence, the best there is", began)


def _measured(
    language: Language, logits: Sequence[Tensor], wanted: Sequence[Tensor], about: str, began: float
) -> Baseline:
    said = [judged(*each) for each in zip(logits, wanted, strict=True)]
    metrics, _ = measured(said, [""] * len(said), vectors=not language.sizes.symbols)
    return Baseline(metrics, about, round(time.perf_counter() - began, 3))
