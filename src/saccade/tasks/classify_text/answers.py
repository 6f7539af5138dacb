"""Classifying with a trained model: texts in, their probabilities out, with what was attended to."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from saccade.tasks.batches import by_length
from saccade.tasks.classify_text.batches import Encoded, pad
from saccade.train.notes import say

if TYPE_CHECKING:
    from saccade.tasks.classify_text.task import ClassifyText

__all__ = ["Answer", "answers", "asked", "classify", "described", "mention", "read", "written"]

_AHEAD = 64  # lines that are read before the first is answered
_TOKENS = 8_000  # words, padding included, read at once
_WIDEST = 64  # characters a word: in a longer text the words that count are all in front


@dataclass(frozen=True)
class Answer:
    """What a model makes of one text.

    Args:
        text: as it was given.
        tokens: its words that were read, as they were written.
        probabilities: `(labels,)`, on the CPU.
        weights: how much each learned query took of each word, `(queries, words)`; None if not asked for or without
            attention.
    """

    text: str
    tokens: list[str]
    probabilities: Tensor
    weights: Tensor | None = None

    def ranked(self) -> list[int]:
        """The numbers of the labels, the likeliest first; of two that are as likely, that of the lower number."""
        return torch.argsort(self.probabilities, descending=True, stable=True).tolist()


def read(task: "ClassifyText", text: str) -> tuple[list[str], bool]:
    """Return the words of a text that are read, and whether they are all of them."""
    most = int(task.settings.max_length)
    stripped = text.strip()
    part = stripped[: _WIDEST * most]
    tokens = task.words.pieces(part)
    return tokens[:most], len(tokens) <= most and len(part) == len(stripped)


def asked(model: Any, texts: Sequence[Encoded], *, attended: bool = False) -> list[tuple[Tensor, Tensor | None]]:
    """Return the probabilities of the labels of each text, `(labels,)` float64 on the CPU, and what was attended to.

    Args:
        model: the model.
        texts: what it reads; in batches of like length, which change nothing.
        attended: whether weights `(queries, words)` are wanted.
    """
    from saccade import look

    found: list[tuple[Tensor, Tensor | None]] = [(torch.empty(0), None)] * len(texts)
    device = next(model.parameters()).device
    for places in by_length([text.size for text in texts], _TOKENS):
        batch = pad([texts[place] for place in places]).to(device)
        weights = None
        if attended:
            with look.record(model, detach=True) as records:
                logits = model(batch.tokens, batch.lengths)
            weights = model.pooled(records)
        else:
            logits = model(batch.tokens, batch.lengths)
        for row, place in enumerate(places):
            own = None if weights is None else weights[row, :, : texts[place].size].cpu()
            found[place] = (logits[row].double().softmax(-1).cpu(), own)
    return found


def classify(task: "ClassifyText", model: Any, texts: Sequence[str], *, attended: bool = False) -> list[Answer | None]:
    """Return what a model makes of each text; None for a blank one.

    Args:
        task: the task.
        model: its model.
        texts: the texts.
        attended: whether answers shall have their weights.
    """
    tokens = [read(task, text)[0] for text in texts]
    filled = [place for place, own in enumerate(tokens) if own]
    encoded = [Encoded(task.words.numbers(tokens[place]), 0) for place in filled]
    results: list[Answer | None] = [None] * len(texts)
    for place, (found, weights) in zip(filled, asked(model, encoded, attended=attended), strict=True):
        results[place] = Answer(texts[place], tokens[place], found, weights)
    return results


def answers(
    task: "ClassifyText", model: Any, inputs: Iterable[str], ahead: int | None, *, attended: bool = False
) -> Iterator[tuple[str, Answer | None]]:
    """Classify lines as they come: each line with its answer, in order; no more are in memory than are read ahead."""
    remaining, line = iter(inputs), 0
    while texts := list(islice(remaining, _AHEAD if ahead is None else ahead)):
        for text in texts:
            line += 1
            mention(task, f"line {line}", text)
        yield from zip(texts, classify(task, model, texts, attended=attended), strict=True)


def written(task: "ClassifyText", answer: Answer | None, count: int) -> list[str]:
    """Return the likeliest labels of a text, each with a tab and its probability; of a blank one blank lines."""
    if answer is None:
        return [""] * count
    return [f"{task.labels[number]}\t{answer.probabilities[number]:.4f}" for number in answer.ranked()[:count]]


def described(task: "ClassifyText", text: str, answer: Answer | None, count: int) -> dict[str, Any]:
    """Return a text, its likeliest labels, the probabilities of all, and what was attended to, as JSON has it."""
    if answer is None:
        return {"text": text, "tokens": [], "answers": [], "probabilities": {}, "weights": None}
    rounded = [round(probability, 6) for probability in answer.probabilities.tolist()]
    best = [{"label": task.labels[number], "probability": rounded[number]} for number in answer.ranked()[:count]]
    weights = None
    if answer.weights is not None:
        weights = [[round(weight, 6) for weight in row] for row in answer.weights.tolist()]
    named = dict(zip(task.labels, rounded, strict=True))
    return {"text": text, "tokens": answer.tokens, "answers": best, "probabilities": named, "weights": weights}


def mention(task: "ClassifyText", name: str, text: str) -> None:
    """Say so where a text is too long."""
    if not read(task, text)[1]:
        say(f"{name}: longer than {task.settings.max_length} words (--max-length); what follows them is not read")
