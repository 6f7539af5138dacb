"""What moves each output of a translator of dates, and whether it is the word that decides it."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from saccade.look import shares
from saccade.reports.difference import packed_shares
from saccade.tasks.generate.attention import weights_of
from saccade.tasks.translate import Translate
from saccade.tasks.translate.batches import encode, pad
from saccade.tasks.translate.data.corpus import Pair
from saccade.tasks.translate.data.deciding import deciding
from saccade.tasks.translate.gradients import jacobian
from saccade.tasks.translate.metrics import length_groups

__all__ = ["ATTENTION", "DISTANCES", "JACOBIAN", "STEPS", "WORD", "Way", "measured", "ways"]

JACOBIAN, ATTENTION, WORD = "jacobian", "attention", "word"
STEPS = (5, 10, 20)
"""Steps beyond which a share is told."""
DISTANCES = ("0-5", "6-10", "11-20", "21-")
"""Steps from an output to the middle of the word that decides it, in groups."""
_DATE = len("2025-06-18 ")
_YEAR = len("2025")


@dataclass
class Way:
    """What one way of weighing inputs comes to, over sentences.

    Args:
        share: of each sentence, the mean share that is on the word that decides, over outputs that a word decides.
        found: of each, the share of these outputs whose largest weight is on the word.
        digit: of each, the share of a year's digits whose largest weight is on the very digit.
        beyond: by the source's length, then by steps: shares of outputs that are more steps away than that.
        near: by distance, whether the largest weight of each output is on the word.
    """

    share: list[float] = field(default_factory=list)
    found: list[float] = field(default_factory=list)
    digit: list[float] = field(default_factory=list)
    beyond: dict[str, dict[int, list[float]]] = field(default_factory=dict)
    near: dict[str, list[bool]] = field(default_factory=dict)

    def add(self, weights: Tensor, words: Sequence[range], group: str) -> None:
        """Take one sentence.

        Args:
            weights: `(outputs, inputs)`, rows that sum to one; what is behind the words of outputs is left out.
            words: which inputs decide each output; of an output that is always the same, none.
            group: of the source's length.
        """
        decided = [place for place, word in enumerate(words) if word]
        most = weights.argmax(-1).tolist()
        right = {place: most[place] in words[place] for place in decided}
        self.share.append(statistics.fmean(float(weights[place, list(words[place])].sum()) for place in decided))
        self.found.append(statistics.fmean(right.values()))
        years = [place for place in decided if place % _DATE < _YEAR]
        self.digit.append(statistics.fmean(most[place] == words[place][place % _DATE] for place in years))
        steps = (torch.arange(weights.shape[1]) - torch.arange(len(weights))[:, None]).abs()
        for least in STEPS:
            far = torch.where(steps > least, weights, 0.0).sum(-1)
            self.beyond.setdefault(group, {}).setdefault(least, []).extend(far[decided].tolist())
        for place in decided:
            middle = (words[place].start + words[place].stop - 1) / 2
            self.near.setdefault(_distance(abs(middle - place)), []).append(right[place])

    def told(self) -> dict[str, Any]:
        """Return what a row of the report says of it."""
        beyond = {
            group: {str(least): round(statistics.fmean(far), 5) for least, far in by_steps.items()}
            for group, by_steps in self.beyond.items()
        }
        near = {name: [sum(self.near[name]), len(self.near[name])] for name in DISTANCES if name in self.near}
        packed = {name: packed_shares(getattr(self, name)) for name in ("share", "found", "digit")}
        return {**packed, "beyond": beyond, "near": near}


def measured(task: Translate, model: Any, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return what a row of the report says of a model on sentences, the true targets being written.

    Args:
        task: of the run.
        model: a translator, in evaluation mode.
        pairs: of the built-in dates.
    """
    groups = length_groups([pair.source for pair in pairs], "characters")
    found: dict[str, Way] = {}
    for pair, group in zip(pairs, groups, strict=True):
        words = deciding(pair)
        for name, weights in ways(task, model, pair).items():
            found.setdefault(name, Way()).add(weights, words, group)
        found.setdefault(WORD, Way()).add(_on_words(words, len(pair.source)), words, group)
    even = [statistics.fmean(len(word) / len(pair.source) for word in deciding(pair) if word) for pair in pairs]
    example = {name: _rounded(weights) for name, weights in ways(task, model, pairs[0]).items()}
    return {
        "sentences": len(pairs),
        "even": round(statistics.fmean(even), 5),
        "lengths": {
            group: groups.count(group) for group in sorted(set(groups), key=lambda name: int(name.split("-")[0]))
        },
        "ways": {name: way.told() for name, way in found.items()},
        "example": {"source": pairs[0].source, "target": pairs[0].target, **example},
    }


def ways(task: Translate, model: Any, pair: Pair) -> Mapping[str, Tensor]:
    """Return shares of each output that are each input's: by the Jacobian, and by attention where there is some.

    Returns:
        `(outputs, inputs)` each, in float64, without the ends of both sides; rows sum to one but for what the source's
        end has.
    """
    [ids] = encode([pair], task.vocabulary.source, task.vocabulary.target)
    rows, columns = len(ids.target), len(ids.source)
    found = {JACOBIAN: shares(jacobian(model, ids.source, ids.target))[:rows, :columns]}
    batch = pad([ids]).to(next(model.parameters()).device)
    with torch.no_grad():
        weights = weights_of(model, model.encode(batch.source), batch.target[:, :-1])
    if weights is not None:
        found[ATTENTION] = weights[0, :rows, :columns].double()
    return found


def _on_words(words: Sequence[range], length: int) -> Tensor:
    """What would be seen of a model that looks at nothing but the word, evenly."""
    found = torch.zeros(len(words), length, dtype=torch.float64)
    for place, word in enumerate(words):
        if word:
            found[place, list(word)] = 1 / len(word)
    return found


def _distance(steps: float) -> str:
    ends = (int(name.split("-")[0]) for name in DISTANCES[1:])
    return DISTANCES[sum(steps >= end for end in ends)]


def _rounded(weights: Tensor) -> list[list[float]]:
    return [[round(each, 4) for each in row] for row in weights.tolist()]
