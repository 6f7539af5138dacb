"""Two directions among the vectors of words: the one that a learned query looks for, and the one that decides."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade.models.fixed import Fixed
from saccade.reports.pooling.probe import PAIRS
from saccade.tasks.classify_text import ClassifyText
from saccade.tasks.text.special import SPECIAL

__all__ = ["Word", "directions"]

_FREQUENT = 500  # words that are looked at: rare ones have hardly moved from where they were drawn
_ENDS = 8  # that are shown, at either end of either direction


class Word(NamedTuple):
    """A word and how far its vector goes along both directions.

    Args:
        text: as it is written.
        query: along the learned query: the more, the more of the sentence's weight it takes.
        sentiment: along the output's weight vector, of the positive label less the negative one.
    """

    text: str
    query: float
    sentiment: float


def directions(task: ClassifyText, model: Any, shown: Sequence[str] = ()) -> list[Word]:
    r"""Return words by their vectors' projections on two directions, of a model whose query is compared by a product.

    .. math:: \frac{q^\top E w}{\|q\|} \qquad \frac{(u_1 - u_0)^\top E w}{\|u_1 - u_0\|}

    with the learned query q, and the output's weights \(u_1\) of the positive and \(u_0\) of the negative label.

    Args:
        task: of two labels.
        model: its model; of one whose words are no points of that space, none are returned.
        shown: words that are returned besides those at the ends, where the task knows them; those of `PAIRS` and "not"
            if not given.
    """
    settings = task.settings
    if not isinstance(model, Fixed) or (settings.score, settings.queries, settings.hidden_dim) != ("dot", 1, None):
        return []
    words = task.vocabulary.words.words[:_FREQUENT]
    query, weight = model.pool.queries[0], model.output.weight
    with torch.inference_mode():
        vectors = model.words.embedding.weight[SPECIAL : SPECIAL + len(words)]
        along = [_projected(vectors, one) for one in (query, weight[-1] - weight[0])]
    wanted = {*shown} or {"not", *(pair.word for pair in PAIRS)}
    ends = {int(place) for one in along for place in (*one.argsort()[:_ENDS], *one.argsort()[-_ENDS:])}
    places = sorted(ends | {place for place, word in enumerate(words) if word in wanted})
    return [Word(words[place], *(round(float(one[place]), 4) for one in along)) for place in places]


def _projected(vectors: Tensor, direction: Tensor) -> Tensor:
    found: Tensor = vectors @ (direction / direction.norm())
    return found.cpu()
