"""All tasks and models: a new model is one line here, a new task one entry, and every law holds it.

A task is its own built-in data, cut down to a size at which twelve models are trained in seconds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from saccade.tasks import TASKS, batches
from saccade.tasks.answer import codec as questions_codec
from saccade.tasks.answer import task as question_task
from saccade.tasks.answer.data import scenes as questions_on_scenes
from saccade.tasks.caption import codec as captions
from saccade.tasks.caption import task as caption_task
from saccade.tasks.caption.data import scenes as captioned_scenes
from saccade.tasks.classify_text import codec as words
from saccade.tasks.classify_text import task as text_task
from saccade.tasks.classify_text.data import reviews
from saccade.tasks.glimpse import data as eyes
from saccade.tasks.image import dataset as images
from saccade.tasks.image import shapes
from saccade.tasks.image.dataset import InMemory, Part
from saccade.tasks.image.digits import open_digits
from saccade.tasks.labels import ranks
from saccade.tasks.memorize import task as memory_task
from saccade.tasks.memorize.data import made as memorized
from saccade.tasks.memorize.data import problems
from saccade.tasks.regress.data import builtin as numbers
from saccade.tasks.transcribe import codec as spoken
from saccade.tasks.transcribe import task as speech_task
from saccade.tasks.transcribe.data import tones
from saccade.tasks.translate import codec as tokens
from saccade.tasks.translate import task as translation_task
from saccade.tasks.translate.data import dates

HELD_OUT, LEARNED_FROM, STEPS, EARLIER = 13, 120, 6, 4
SHRUNK = (
    *((module, "HELD_OUT", HELD_OUT) for module in (dates, reviews, tones, shapes, memorized, numbers)),
    *((module, "HELD_OUT", HELD_OUT) for module in (captioned_scenes, questions_on_scenes)),
    (numbers, "TRAINED_ON", LEARNED_FROM),
    (tones, "LONGEST", 3),
    *((module, "_ENDLESS", LEARNED_FROM) for module in (tokens, words, spoken)),
    *((module, "_ENDLESS", LEARNED_FROM) for module in (text_task, speech_task, translation_task)),
    *((module, "_ENDLESS", LEARNED_FROM) for module in (caption_task, captions, question_task, questions_codec)),
    (memory_task, "_ENDLESS", LEARNED_FROM),
    (ranks.Ranks, "endless", LEARNED_FROM),
    (text_task.TextRanks, "endless", LEARNED_FROM),
    (problems.Copy, "usual", 3),
    (captions.Captions, "limit", 12),  # models that learned nothing never end, and every word is drawn
    (eyes, "open_digits", lambda: few_digits()),
    (images, "_SEEN", 40),
    (batches, "_LOOKED_AT", 50),
)


def few_digits() -> InMemory:
    """The built-in digits, of which few are held out."""
    known = open_digits()
    few = {split: Part(*(each[:HELD_OUT] for each in known.parts[split])) for split in ("validation", "test")}
    parts = {"train": known.parts["train"], **few}
    return InMemory(parts, known.labels, known.note)


@dataclass(frozen=True)
class Entry:
    """What the laws have to know of a task.

    Args:
        options: of all its runs, beside those that a run of a few steps has anyway.
        models: what each model has of its own, by its name.
        group: the group that an example is measured in, from the data, a split and an index; None where there are none.
        row: a Python object of the data with what it asks and its answer.
        blank: an input without an answer; None where there is none but what cannot be read.
        file: what damages a run if it is changed, beside its configuration and weights.
        beside: whether a line names a file before its text.
        formal: whether a line has a form that others are refused for, blank ones where there is no `blank`.
    """

    options: Mapping[str, Any]
    models: Mapping[str, Mapping[str, Any]]
    group: Callable[[Any, str, int], str] | None
    row: Callable[[Any], Any]
    blank: str | None = None
    file: str = "tokenizer.json"
    beside: bool = False
    formal: bool = False

    @property
    def exact(self) -> bool:
        """Whether lines that mean nothing are refused, blank ones too."""
        return self.formal and self.blank is None


SEEING = {"glimpses": 3, "patch": 4, "hidden_dim": 8, "glimpse_dim": 4}
EYE = {**SEEING, "samples": 2}
SIGHT = {"widths": "4,6", "stem_stride": 4, "cell_dim": 6, "dropout": 0.2}
RECURRENT = {"hidden_dim": 10, "embedding_dim": 6, "dropout": 0.2}
TABLE = {
    "translate": Entry(
        {"batch_tokens": 150, "label_smoothing": 0.1, "tokenizer": "characters"},
        {
            "rnnsearch": RECURRENT,
            "encoder-decoder": RECURRENT,
            "luong": {**RECURRENT, "layers": 1, "score": "general"},
            "transformer": {"hidden_dim": 8, "heads": 2, "layers": 1, "feedforward_dim": 12, "dropout": 0.2},
            "bytenet": {"hidden_dim": 8, "sets": 1, "max_dilation": 2, "dropout": 0.2},
        },
        lambda data, split, index: dates.LANGUAGES[data.example(split, index).group],
        lambda pair: (pair.source, pair.target),
        blank="",
    ),
    "classify-text": Entry(
        {"batch_tokens": 80, "label_smoothing": 0.1, "embedding_dim": 6},
        {
            "rnn-attention": {"hidden_dim": 6, "dropout": 0.2},
            "self-attention": {"hidden_dim": 8, "heads": 2, "layers": 1, "feedforward_dim": 8, "queries": 2},
            "fixed": {"dropout": 0.2},
            "sum": {"dropout": 0.2},
            "hierarchical": {"hidden_dim": 6, "dropout": 0.2, "sentence_words": 3},
        },
        lambda data, split, index: data.example(split, index).label,
        lambda example: (example.text, example.label),
        blank=" \u3000",
    ),
    "transcribe": Entry(
        {"batch_tokens": 300, "mels": 12, "label_smoothing": 0.1},
        {"las": {"hidden_dim": 8, "embedding_dim": 4, "layers": 2, "dropout": 0.2, "ctc_weight": 0.3}},
        None,
        lambda recording: (recording.signal, recording.text),
    ),
    "classify-image": Entry(
        {"batch_size": 6, "label_smoothing": 0.1, "flip": True, "shift": 2},
        {
            "cnn": {"widths": "4,6", "dropout": 0.2},
            "cnn-attention": {"widths": "4,6", "attention_dim": 4, "heads": 2, "attention_stage": 1},
        },
        lambda data, split, index: data.example(split, index).label,
        lambda example: (example.image, example.label),
        file="labels.json",
    ),
    "glimpse": Entry(
        {"batch_size": 6, "label_smoothing": 0.1, "rollouts": 3, "shift": 1},
        {
            "ram": {**EYE, "scales": 2},
            "ram-grid": {**EYE, "rows": 3, "columns": 2},
            "tiles": {**EYE, "thumbnail": 2, "key_dim": 4},
            "soft-tiles": {**SEEING, "thumbnail": 2, "key_dim": 4},
            "dram": {**EYE, "coarse": 6, "context_channels": 2},
            "random": SEEING,
            "whole": {"channels": 2, "pooled": 4, "hidden_dim": 8},
        },
        lambda data, split, index: data.example(split, index).label,
        lambda example: (example.image, example.label),
        file="labels.json",
    ),
    "caption": Entry(
        {"batch_size": 6, "label_smoothing": 0.1, "shift": 1, "flip": True},
        {
            "show-attend-and-tell": {**SIGHT, "hidden_dim": 6, "embedding_dim": 4, "doubly_stochastic": 1.0},
            "adaptive-attention": {**SIGHT, "hidden_dim": 6, "embedding_dim": 4},
            "show-and-tell": {**SIGHT, "hidden_dim": 6, "embedding_dim": 4},
            "m-rnn": {**SIGHT, "hidden_dim": 6, "embedding_dim": 4},
            "transformer": {**SIGHT, "hidden_dim": 8, "heads": 2, "layers": 1, "feedforward_dim": 12},
        },
        lambda data, split, index: data.example(split, index).group,
        lambda example: (example.image, example.caption),
    ),
    "answer": Entry(
        {"batch_size": 6, "label_smoothing": 0.1, "shift": 1},
        {
            "ask-attend-and-answer": {**SIGHT, "hidden_dim": 6},
            "show-ask-attend-and-answer": {**SIGHT, "hidden_dim": 6, "embedding_dim": 4, "classifier_dim": 8},
            "attention-lstm": {**SIGHT, "hidden_dim": 6, "embedding_dim": 4, "classifier_dim": 8},
            "show-and-answer": {**SIGHT, "hidden_dim": 6, "embedding_dim": 4, "classifier_dim": 8},
            "question-only": {"hidden_dim": 6, "embedding_dim": 4, "dropout": 0.2, "shift": 0},
            "image-only": {**SIGHT, "hidden_dim": 6},
        },
        lambda data, split, index: data.posed(split, index).group,
        lambda asked: (asked.image, asked.posed.question, asked.posed.answers[0]),
        beside=True,
    ),
    "memorize": Entry(
        {"batch_size": 4},
        {
            "ntm": {"hidden_dim": 6, "cells": 5, "cell_dim": 4},
            "dnc": {"hidden_dim": 6, "cells": 4, "cell_dim": 3, "read_heads": 2},
            "lstm": {"hidden_dim": 6},
            "past-attention": {"hidden_dim": 6, "attention_dim": 4},
            "transformer": {"hidden_dim": 8, "heads": 2, "layers": 1, "feedforward_dim": 12},
        },
        lambda data, split, index: data.example(split, index).group,
        lambda item: (item.text, item.answer),
        blank=" ",
        formal=True,
    ),
    "regress": Entry(
        {"batch_size": 6},
        {
            "nadaraya-watson": {"metric": "diagonal"},
            "learned-kernel": {"hidden_dim": 6, "key_dim": 4},
            "set-transformer": {"hidden_dim": 8, "heads": 2, "layers": 1},
            "mlp": {"hidden_dim": 6, "layers": 1},
            "mean": {},
        },
        lambda data, split, index: data.example(split, index).group,
        lambda example: (example.numbers, example.answers),
        file="columns.json",
        formal=True,
    ),
}
CASES = [(task, model) for task, entry in TABLE.items() for model in entry.models]
FIRST = [(task, next(iter(entry.models))) for task, entry in TABLE.items()]
REST = [pytest.param(case, id=" ".join(case), marks=pytest.mark.slow) for case in CASES if case not in FIRST]
MARKED = [*(pytest.param(case, id=" ".join(case)) for case in FIRST), *REST]
"""All cases, those slow that are not the first of their task."""


LIGHT = [task for task in TABLE if task not in ("transcribe", "caption")]
"""Tasks whose runs take little time."""


def quick(*tasks: str) -> list[Any]:
    """The first case of each task, those slow that are not of the tasks named."""
    return [pytest.param(case, id=" ".join(case), marks=[pytest.mark.slow] * (case[0] not in tasks)) for case in FIRST]


each_task = pytest.mark.parametrize("run", FIRST, indirect=True, ids=" ".join)
"""For laws that hold whatever the model is: the first run of each task."""


light_tasks = pytest.mark.parametrize("run", [*quick(*LIGHT), *REST], indirect=True)
"""For laws that take time: the first runs of light tasks, and slowly all others."""


def settings(task: str, model: str, **more: Any) -> dict[str, Any]:
    """Return the options of a tiny run."""
    entry = TABLE[task]
    shared = {"threads": 1, "warmup_steps": 3, "checkpoint_steps": 2, "validation_steps": 4, "validation_examples": 5}
    return {"model": model, "seed": 3, "max_steps": STEPS, **shared, **entry.options, **entry.models[model], **more}


def shrink(patch: Callable[[Any, str, Any], None] = setattr) -> None:
    """Cut the built-in data down."""
    for module, name, size in SHRUNK:
        patch(module, name, size)


def several(task: Any, count: int) -> dict[str, int]:
    """Return what asks for so many answers, where a task has several: numbers have one."""
    return {"nbest": count} if "nbest" in task.requests["predict"].__dataclass_fields__ else {}


def questions(task: Any, folder: Path, count: int = 3) -> list[str]:
    """Return what a shell would ask: the first examples of the test, as lines or as the paths of files."""
    found = []
    for index in range(count):
        example = task.example("test", index)
        if example.file is None:
            found.append(example.text)
            continue
        suffix, content = example.file
        path = folder / f"{index}{suffix}"
        path.write_bytes(content)
        found.append(f"{path}\t{example.text}" if TABLE[task.name].beside else str(path))
    return found


assert list(TABLE) == list(TASKS)
