"""What "not" does to a classifier: how far a sentence moves when it is denied."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from saccade.tasks.classify_text import ClassifyText

__all__ = ["PAIRS", "Pair", "moved"]


class Pair(NamedTuple):
    """A sentence and its denial.

    Args:
        plain: the sentence.
        denied: the same with "not" in it.
        positive: whether the plain one is praise, so that the denial has to move it down.
    """

    plain: str
    denied: str
    positive: bool


PAIRS = (
    Pair("the movie was good", "the movie was not good", True),
    Pair("the film is very funny", "the film is not very funny", True),
    Pair("it is a great story", "it is not a great story", True),
    Pair("the movie was bad", "the movie was not bad", False),
    Pair("the film is boring", "the film is not boring", False),
    Pair("it is a silly story", "it is not a silly story", False),
)
"""Three of praise and three of blame, of words that reviews of films have."""


def moved(task: ClassifyText, model: Any, pairs: Sequence[Pair] = PAIRS) -> list[dict[str, Any]]:
    """Return of each pair the score of both sentences: the logit of the last label minus that of the first.

    Args:
        task: of two labels, of which the last by the alphabet is the positive one ("1", "positive").
        model: its model.
        pairs: what is asked.

    Returns:
        For each pair its sentences, "plain" and "denied", whether it is "positive", the "scores" of both, and the
        "probabilities" of the positive label.
    """
    with torch.inference_mode():
        texts = [task.read(text, 1) for pair in pairs for text in (pair.plain, pair.denied)]
        rankings = [answer.ranking for answer in task.answer(model, texts, None)]
    shares = [float(ranking.probabilities[-1]) if ranking else 0.5 for ranking in rankings]
    logits = [float(ranking.probabilities[-1].logit()) if ranking else 0.0 for ranking in rankings]
    return [
        {
            **pair._asdict(),
            "scores": [round(logit, 6) for logit in logits[2 * place : 2 * place + 2]],
            "probabilities": [round(share, 6) for share in shares[2 * place : 2 * place + 2]],
        }
        for place, pair in enumerate(pairs)
    ]
