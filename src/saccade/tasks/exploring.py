"""Sheets of a run for the explorer: pictures of answers, and all layers and heads."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from saccade import AuxOutput, AuxRequest, look
from saccade.errors import ArgumentError
from saccade.look._explorer.pictures import sheets_of_pictures
from saccade.look._explorer.recordings import sheets_of
from saccade.look._explorer.sheets import Sheet
from saccade.look._figure import collected
from saccade.look._labels import plain, shortened
from saccade.look._records import Record, Recording
from saccade.nn import MixtureOfExperts
from saccade.tasks.batches import moved
from saccade.tasks.generate.predictor import Generates
from saccade.tasks.task import Job
from saccade.tasks.text.special import BEGIN
from saccade.train.task import Answer

__all__ = ["run_sheets"]

_EXAMPLES = 5  # of the test split
_NAME = 40  # characters of an input before a title
_LARGEST = 1 << 22  # numbers of a sheet of all heads
_BEGIN = "⏵"
_DRAWN = AuxRequest(weights=True, index=True)


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
                sheets += (replace(sheet, title=f"{name}: every head, {sheet.title}") for sheet in heads)
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
    """Yield sheets of several layers or heads, and of hard attention.

    The picture of hard attention lacks its probabilities.
    """
    device = next(model.parameters()).device
    if not isinstance(job.predictor, Generates):
        tokens, arguments = _tokens(answer), moved(job.predictor.encode([item]), device)
        yield from _heads(_records(model, lambda: model(*arguments)), tokens, tokens, tokens)
        return
    best, source = answer.outputs[0], _tokens(answer)  # type: ignore[attr-defined]
    inputs, target = job.codec.inputs([item]).to(device), torch.tensor([[BEGIN, *best.ids]], device=device)
    yield from _heads(_records(model, lambda: model.encode(inputs)), source, source, source)
    state, tokens = model.encode(inputs), list(best.tokens)
    yield from _heads(_records(model, lambda: model.decode(target, state)), tokens, [_BEGIN, *tokens[:-1]], source)


def _tokens(answer: Any) -> Sequence[str]:
    """Return the tokens of the input of an answer, if it has some."""
    for tokens in (getattr(answer, "source_tokens", ()), getattr(getattr(answer, "text", None), "tokens", ())):
        if tokens:
            return list(tokens)
    return list(getattr(answer, "steps", ()))


def _records(model: Any, call: Callable[[], Any]) -> list[Record]:
    """Return the records of attention in a call, the steps of a module as one."""
    modules = dict(model.named_modules())
    hard = [name for name, module in modules.items() if getattr(module, "eval_read", None) is not None]
    with look.record(model, detach=True, required=False) as soft:
        call()
    calls = [record for record in soft if not isinstance(modules[record.name], MixtureOfExperts)]
    if hard:
        with look.record(model, _DRAWN, layers=hard, detach=True, required=False) as drawn:
            call()
        calls = [*drawn, *(record for record in calls if record.name not in hard)]
    steps = dict[str, list[Record]]()
    for record in calls:
        steps.setdefault(record.name, []).append(record)
    return [joined for records in steps.values() if (joined := _joined(records)) is not None]


def _joined(steps: Sequence[Record]) -> Record | None:
    """Return the calls of a module as one, None if their keys differ."""
    parts = [record.weights for record in steps if record.weights is not None]
    if len(parts) < len(steps) or len({(*part.shape[:-2], part.shape[-1]) for part in parts}) > 1:
        return None
    index = [record.index for record in steps if record.index is not None]
    drawn = torch.cat(index, -1) if index else None
    return Record(steps[0].name, AuxOutput(weights=torch.cat(parts, -2), index=drawn), 0, steps[0].kind)


def _heads(
    records: Sequence[Record], rows: Sequence[str], self_keys: Sequence[str], cross_keys: Sequence[str]
) -> Iterator[Sheet]:
    """Yield sheets of several layers or heads and of hard attention, with tokens.

    Args:
        records: of one call.
        rows: tokens of the queries.
        self_keys: tokens of the keys of self-attention.
        cross_keys: tokens of the keys of other attention.
    """
    for kind in dict.fromkeys(record.kind for record in records):
        keys = cross_keys if kind == "cross" else self_keys
        for sheet in sheets_of(Recording([record for record in records if record.kind == kind]), None, None):
            heads, size = len(sheet.layers) * sheet.heads, len(sheet.rows) * len(sheet.columns)
            several = (heads > 1 and len(sheet.rows) > 1) or "drawn" in sheet.extra
            if several and sheet.examples * heads * size <= _LARGEST:
                yield replace(sheet, rows=_fitting(rows, sheet.rows), columns=_fitting(keys, sheet.columns))


def _fitting(tokens: Sequence[str], numbered: Sequence[str]) -> Sequence[str]:
    return list(tokens) if len(tokens) == len(numbered) else numbered
