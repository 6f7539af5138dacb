"""Answers of memories, translators and eyes with changed reads."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import groupby
from typing import Any

import torch
from torch import Tensor

from saccade.models.memorizer import Memorizer
from saccade.tasks.image.dataset import Dataset
from saccade.tasks.memorize.answer import logits_of
from saccade.tasks.memorize.episode import Episode
from saccade.tasks.memorize.episode import pad as padded
from saccade.tasks.memorize.metrics import judged
from saccade.tasks.task import Job
from saccade.tasks.translate.codec import encode, pad
from saccade.tasks.translate.data.corpus import Pair
from saccade.train.randomness import seeded
from saccade.train.results import undisturbed
from studies.frame.cells import Reweigh, beside, empty_cells, even, following, heaviest, reading, share_read, writing
from studies.frame.seeds import pack

LONGEST, CELLS = 10, 24  # vectors of training, and cells in the test
SIZES = (100, 1000)  # cells that were not in training
KEPT = (1, 2, 4, 8)  # heaviest cells of a read
WAYS: Mapping[str, Reweigh] = {
    "all": lambda weights: weights,
    **{str(count): heaviest(count) for count in KEPT},
    "even": even,
    "next": following,
}
PIXELS = (0, 1, 2, 4, 7)  # 7 are a tile
GATES = ("as it is", "hide shut", "hide open", "show shut", "hide shut once", "erase shut once")
_ALL = 2 * LONGEST + 1  # steps: vectors, a mark, and the answer
WRITTEN = {
    "at all steps": range(_ALL),
    "up to the mark": range(LONGEST + 1),
    "after the mark": range(LONGEST + 1, _ALL),
    "never": range(0),
}
_ROOM, _SENTENCES, _THIRD = 128, 500, 1 / 3


def _copied(task: Job, group: int) -> list[Episode]:
    items = [task.data.example("test", index) for index in range(task.data.size("test") or 0)]
    return [task.codec.language.episode(item) for item in items if item.group == f"{group}"]


def _memorized(model: Memorizer, episodes: Sequence[Episode]) -> dict[str, Any]:
    """Right sequences, and the share of wrong bits."""
    pairs = zip(logits_of(model, episodes), episodes, strict=True)
    scores = [judged(logits, episode.wanted) for logits, episode in pairs]
    wrong = sum(score.wrong for score in scores) / sum(score.size for score in scores)
    return _answers([not score.wrong for score in scores]) | {"bit_error": round(wrong, 6)}


def _answers(right: Sequence[bool]) -> dict[str, Any]:
    return {"right": pack(right, "bits"), "examples": len(right)}


@contextmanager
def _cells(model: Any, count: int) -> Iterator[None]:
    before, model.cells = model.cells, count
    try:
        yield
    finally:
        model.cells = before


def _shares(module: Any, run: Callable[[], object]) -> list[float]:
    """The mean share of cells that reads of a run take, by example."""
    shares = list[Tensor]()

    def recorded(weights: Tensor) -> Tensor:
        shares.append(share_read(weights).flatten(1).mean(1))
        return weights

    with reading(module, recorded):
        run()
    mean: list[float] = torch.stack(shares).mean(0).tolist()
    return mean


def memorized(task: Job, model: Any, seed: int) -> dict[str, Any]:
    """Return the columns of a model that copies vectors."""
    with undisturbed(model, seed, "test"):
        episodes = _copied(task, LONGEST)
        longer = (LONGEST, *(round(LONGEST * times) for times in (2, 4, 6)))
        room = _cells(model, _ROOM) if hasattr(model, "cells") else nullcontext()
        with room:
            lengths = {str(count): _memorized(model, _copied(task, count)) for count in longer}
        if not hasattr(model, "memory"):
            return {"lengths": lengths, "gates": _gated(model, episodes)}
        with seeded(seed, "untrained"):
            untrained = task.build().eval()
        before, after = (_shares(net.memory, partial(net, padded(episodes).source)) for net in (untrained, model))
        reads, written, sizes = dict[str, Any](), dict[str, Any](), dict[str, Any]()
        for way, reweigh in WAYS.items():
            with reading(model.memory, reweigh):
                reads[way] = _memorized(model, episodes)
        for way, steps in WRITTEN.items():
            with writing(model.memory, steps, _ALL):
                written[way] = _memorized(model, episodes)
        for count in SIZES:
            with _cells(model, count):
                sizes[str(count)] = _memorized(model, episodes)
    shares = {"before": pack(before, "shares"), "after": pack(after, "shares")}
    columns = {"lengths": lengths, "reads": reads, "written": written, "sizes": sizes}
    return {**columns, "shares": shares, "cells": CELLS}


def _gated(model: Any, episodes: Sequence[Episode]) -> dict[str, str]:
    """Share of wrong bits of each sequence, by the change of gates or cells."""
    batch = padded(episodes)
    results = dict[str, str]()
    for way in GATES:
        logits = model.output(_hidden(model.layers[0].lstm, batch.source.values, LONGEST, way))[batch.asked]
        wrong = (logits > 0) != (batch.targets[batch.asked] > 0)
        results[way] = pack(wrong.float().unflatten(0, (len(episodes), -1)).mean((1, 2)).tolist(), "shares")
    return results


def _hidden(lstm: Any, inputs: Tensor, mark: int, way: str) -> Tensor:
    """Outputs `(batch, length, units)` with units hidden, shown or erased."""
    of_input, of_hidden, *biases = lstm.all_weights[0]
    hidden, cell, outputs = inputs.new_zeros(len(inputs), lstm.hidden_size), torch.tensor(0.0), list[Tensor]()
    for step, x in enumerate(inputs.unbind(1)):
        write, keep, new, gate = (x @ of_input.T + hidden @ of_hidden.T + sum(biases)).chunk(4, -1)
        cell, gate = keep.sigmoid() * cell + write.sigmoid() * new.tanh(), gate.sigmoid()
        share = 1 - _THIRD if way == "hide open" else _THIRD
        limit = gate.quantile(share, -1, keepdim=True)
        chosen = (gate >= limit if way == "hide open" else gate <= limit) & (step == mark or not way.endswith("once"))
        if way.startswith("erase"):
            cell = torch.where(chosen, 0.0, cell)
        elif way.startswith("hide"):
            gate = torch.where(chosen, 0.0, gate)
        elif way.startswith("show"):
            gate = torch.where(chosen, 1.0, gate)
        hidden = gate * cell.tanh()
        outputs.append(hidden)
    return torch.stack(outputs, 1)


def _equal_lengths(task: Job, model: Any, pairs: Sequence[Pair]) -> list[Any]:
    """Batches without padding."""
    device = next(model.parameters()).device
    ids = sorted(encode(pairs, task.codec.source, task.codec.target), key=lambda pair: len(pair.source))
    return [pad(list(group)).to(device) for _, group in groupby(ids, lambda pair: (len(pair.source), len(pair.target)))]


def _translated(model: Any, batches: Sequence[Any]) -> list[bool]:
    """Whether the likeliest token is right after each true beginning, by sentence."""
    right = list[bool]()
    for batch in batches:
        best = model(batch.source, batch.target[:, :-1]).argmax(-1)
        right += (best == batch.target[:, 1:]).all(-1).tolist()
    return right


def translated(task: Job, model: Any, seed: int) -> dict[str, Any]:
    """Return the columns of a translator."""
    count = min(_SENTENCES, task.data.size("test") or 0)
    batches = _equal_lengths(task, model, [task.data.example("test", index) for index in range(count)])
    with undisturbed(model, seed, "test"):
        with seeded(seed, "untrained"):
            untrained = task.build().eval()
        before, after = list[float](), list[float]()
        for batch in batches:
            for net, read in ((untrained, before), (model, after)):
                read += _shares(net.attention, partial(net, batch.source, batch.target[:, :-1]))
        reads, sizes = dict[str, Any](), dict[str, Any]()
        for way, reweigh in WAYS.items():
            with reading(model.attention, reweigh):
                reads[way] = _answers(_translated(model, batches))
        for cells in SIZES:
            with empty_cells(model.attention, cells):
                sizes[str(cells)] = _answers(_translated(model, batches))
    mean = statistics.fmean(batch.source.values.shape[1] for batch in batches for _ in batch.source.values)
    shares = {"before": pack(before, "shares"), "after": pack(after, "shares")}
    return {"reads": reads, "sizes": sizes, "shares": shares, "cells": round(mean, 2)}


def looked(task: Job, model: Any, seed: int, data: Dataset) -> dict[str, Any]:
    """Return the columns of an eye: answers by patches beside the likeliest path."""
    examples = [data.example("test", index) for index in range(data.size("test") or 0)]
    images, labels, _ = task.codec.collate(task.codec.encode(examples, "test"))
    moved = dict[str, Any]()
    with undisturbed(model, seed, "test"):
        for pixels in PIXELS:
            with beside(model.glimpse.retina, pixels):
                moved[str(pixels)] = _answers((model(images).argmax(-1) == labels).tolist())
    return {"moved": moved}
