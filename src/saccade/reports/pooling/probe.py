"""What "not" does to a classifier: how far a sentence moves when it is denied, and what the denied word weighs."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade.tasks.classify_text import ClassifyText

__all__ = ["PAIRS", "Pair", "moved", "relative"]

_LEAST = 1e-12  # a weight below it counts as that: its logarithm says no more


class Pair(NamedTuple):
    """A sentence and its denial.

    Args:
        plain: the sentence.
        denied: the same with "not" in it.
        positive: whether the plain one is praise, so that the denial has to move it down.
        word: what is denied.
    """

    plain: str
    denied: str
    positive: bool
    word: str


PAIRS = (
    Pair("the movie was good", "the movie was not good", True, "good"),
    Pair("the film is very funny", "the film is not very funny", True, "funny"),
    Pair("it is a great story", "it is not a great story", True, "great"),
    Pair("the plot was so moving", "the plot was not so moving", True, "moving"),
    Pair("it was a clever script", "it was not a clever script", True, "clever"),
    Pair("the acting is wonderful", "the acting is not wonderful", True, "wonderful"),
    Pair("the movie was bad", "the movie was not bad", False, "bad"),
    Pair("the film is boring", "the film is not boring", False, "boring"),
    Pair("it is a silly story", "it is not a silly story", False, "silly"),
    Pair("the plot was so dull", "the plot was not so dull", False, "dull"),
    Pair("it was a weak script", "it was not a weak script", False, "weak"),
    Pair("the acting is awful", "the acting is not awful", False, "awful"),
)
"""As many of praise as of blame, of words that reviews of films have."""


def moved(task: ClassifyText, model: Any, pairs: Sequence[Pair] = PAIRS) -> list[dict[str, Any]]:
    """Return of each pair what both sentences come to: the logit of the last label minus that of the first.

    Args:
        task: of two labels, of which the last by the alphabet is the positive one ("1", "positive").
        model: its model.
        pairs: what is asked.

    Returns:
        For each pair its sentences, "plain" and "denied", whether it is "positive", and the "word" that is denied; of
        both sentences the "scores", the "probabilities" of the positive label, and, of a model that attends, the
        "weights" of the word, the mean over queries, and how they are "relative" to those of the others (`relative`).
    """
    with torch.inference_mode():
        texts = [task.read(text, 1) for pair in pairs for text in (pair.plain, pair.denied)]
        answers = task.answer(model, texts, None, "json")
    shares = [float(one.ranking.probabilities[-1]) if one.ranking else 0.5 for one in answers]
    logits = [float(one.ranking.probabilities[-1].logit()) if one.ranking else 0.0 for one in answers]
    found = []
    for place, pair in enumerate(pairs):
        both = slice(2 * place, 2 * place + 2)
        weighed = [(one.weights, one.text.tokens) for one in answers[both] if one.weights is not None]
        attended = {} if len(weighed) < 2 else _attended(weighed, pair.word)
        numbers = {"scores": logits[both], "probabilities": shares[both], **attended}
        rounded = {name: [round(number, 6) for number in two] for name, two in numbers.items()}
        found.append({**pair._asdict(), **rounded})
    return found


def relative(weights: Tensor, place: int) -> float:
    r"""Return what one word weighs beside the others, in nats.

    .. math:: \log a_k - \frac{1}{n - 1} \sum_{j \ne k} \log a_j

    A word more in a sentence takes some weight from every other, by the softmax alone; in this difference of scores
    that falls out.

    Args:
        weights: of each query and word, `(queries, words)`; the mean over queries counts.
        place: k.

    Example:
        >>> [round(relative(torch.tensor([[0.5, 0.25, 0.25]]) * share, 0), 6) for share in (1.0, 0.5)]
        [0.693147, 0.693147]
    """
    logs = weights.double().clamp(min=_LEAST).log()
    others = torch.cat([logs[:, :place], logs[:, place + 1 :]], 1)
    return float((logs[:, place] - others.mean(1)).mean())


def _attended(weighed: Sequence[tuple[Tensor, list[str]]], word: str) -> dict[str, list[float]]:
    """What the denied word weighs in both sentences; among the words that both have."""
    weights, shares = [], []
    for own, tokens in weighed:
        kept = [place for place, token in enumerate(tokens) if token != "not"]
        place = [tokens[one] for one in kept].index(word)
        weights.append(float(own[:, kept[place]].mean()))
        shares.append(relative(own[:, kept], place))
    return {"weights": weights, "relative": shares}
