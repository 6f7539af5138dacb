"""Sheets of a run for the explorer: pictures of answers, and all layers and heads."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import torch

from saccade import look
from saccade.errors import ArgumentError
from saccade.look._explorer.pictures import sheets_of_pictures
from saccade.look._explorer.recordings import sheets_of
from saccade.look._explorer.sheets import Sheet
from saccade.look._figure import collected
from saccade.look._labels import plain, shortened
from saccade.look._records import Recording
from saccade.nn import MixtureOfExperts
from saccade.tasks.batches import moved
from saccade.tasks.generate.predictor import Generates
from saccade.tasks.task import Job
from saccade.tasks.text.special import BEGIN
from saccade.train.task import Answer

__all__ = ["run_sheets"]

_EXAMPLES = 5  # of the test split
_NAME = 40  # characters of an input before a title
_MOST = 1 << 22  # numbers of a sheet of all heads
_BEGIN = "⏵"


def run_sheets(job: Job, model: Any, lines: Iterable[str] | None, request: Any) -> list[Sheet]:
    """Return the pictures of inputs as sheets, and all layers and heads of each.

    Args:
        job: of the run.
        model: in evaluation mode.
        lines: inputs, or None for the first examples of the test split.
        request: options of "look".

    Raises:
        ArgumentError: inputs without a picture.
    """
    sheets = list[Sheet]()
    with torch.no_grad():  # gradients are computed where they are drawn
        for item, name in _examples(job) if lines is None else _read(job, lines):
            [answer] = job.answer(model, [item], request, "pictures")
            with collected() as pictures:
                list(answer.draw(Path(), json=True))
            if pictures:
                sheets += sheets_of_pictures(pictures, name)
                heads = _recorded(job, model, item, answer)
                sheets += (replace(sheet, title=f"{name}: all heads, {sheet.title}") for sheet in heads)
    if not sheets:
        raise ArgumentError("inputs: expected an input with a picture, got none. Leave blank lines out")
    return sheets


def _examples(job: Job) -> Iterator[tuple[Any, str]]:
    """Yield the first inputs of the test split and their names."""
    size = job.data.size("test")
    for index in range(_EXAMPLES if size is None else min(size, _EXAMPLES)):
        example = job.example("test", index)
        yield example.input, shortened(plain(example.text), _NAME)


def _read(job: Job, lines: Iterable[str]) -> Iterator[tuple[Any, str]]:
    for number, line in enumerate(lines, 1):
        file, tab, rest = line.partition("\t")
        name = f"{Path(file).name}{tab}{rest}" if job.inputs == "files" else line
        yield job.read(line, number), shortened(plain(name), _NAME)


def _recorded(job: Job, model: Any, item: Any, answer: Answer) -> Iterator[Sheet]:
    """Yield sheets of all layers and heads, none of a model with a single head."""
    device = next(model.parameters()).device
    if not isinstance(job.predictor, Generates):
        with look.record(model, detach=True, required=False) as records:
            model(*moved(job.predictor.encode([item]), device))
        tokens = _tokens(answer)
        yield from _heads(model, records, tokens, tokens, tokens)
        return
    best, states = answer.outputs[0], list[Any]()  # type: ignore[attr-defined]
    source, target = _tokens(answer), list(best.tokens)
    with look.record(model, detach=True, required=False) as records:
        states.append(model.encode(job.codec.inputs([item]).to(device)))
    yield from _heads(model, records, source, source, source)
    with look.record(model, detach=True, required=False) as records:
        model.decode(torch.tensor([[BEGIN, *best.ids]], device=device), states[0])
    yield from _heads(model, records, target, [_BEGIN, *target[:-1]], source)


def _tokens(answer: Any) -> Sequence[str]:
    """Return the tokens of the input of an answer, if it has some."""
    for tokens in (getattr(answer, "source_tokens", ()), getattr(getattr(answer, "text", None), "tokens", ())):
        if tokens:
            return list(tokens)
    return list(getattr(answer, "steps", ()))


def _heads(
    model: Any, records: Recording, rows: Sequence[str], own: Sequence[str], read: Sequence[str]
) -> Iterator[Sheet]:
    """Yield sheets of several layers or heads, with tokens where their numbers fit.

    A module that was called step by step has none.

    Args:
        model: the recorded one.
        records: of one call.
        rows: tokens of the queries.
        own: tokens of the keys of self-attention.
        read: tokens of the keys of other attention.
    """
    experts = {name for name, module in model.named_modules() if isinstance(module, MixtureOfExperts)}
    calls = Counter(record.name for record in records)
    chosen = [record for record in records if record.name not in experts and calls[record.name] == 1]
    for kind in dict.fromkeys(record.kind for record in chosen):
        keys = read if kind == "cross" else own
        for sheet in sheets_of(Recording([record for record in chosen if record.kind == kind]), None, None):
            size = prod((sheet.examples, len(sheet.layers), sheet.heads, len(sheet.rows), len(sheet.columns)))
            if len(sheet.layers) * sheet.heads > 1 and len(sheet.rows) > 1 and size <= _MOST:
                yield replace(sheet, rows=_fitting(rows, sheet.rows), columns=_fitting(keys, sheet.columns))


def _fitting(tokens: Sequence[str], numbered: Sequence[str]) -> Sequence[str]:
    return list(tokens) if len(tokens) == len(numbered) else numbered
