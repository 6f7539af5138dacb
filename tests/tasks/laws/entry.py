"""One task as the laws see it: `entries/NAME.py` has the `ENTRY` of the task NAME."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

from torch import Tensor
from torch.nn import functional as F

from saccade.models.padded import Padded
from tasks.laws.checks import is_near

__all__ = [
    "HELD_OUT",
    "LEARNED_FROM",
    "REINFORCED",
    "SELF_REINFORCED",
    "Entry",
    "accuracy_of_words",
    "label_each_word",
    "longer",
    "padded",
    "repeated",
]

HELD_OUT, LEARNED_FROM = 13, 120
AVERAGED = {"baseline": "moving-average", "soft_share": 0.5, "entropy_bonus": 0.01}
REINFORCED = {"read": "reinforce", **AVERAGED}
"""Options with which a model learns where to look from rewards less a moving average."""
SELF_REINFORCED = {"self_read": "sample", **AVERAGED}
"""Options with which self-attention learns so."""


def longer(values: Tensor | Padded, count: int = 5) -> Any:
    """Return values `(batch, length, ...)` with more padding."""
    if isinstance(values, Padded):
        return Padded(longer(values.values, count), values.lengths)
    return F.pad(values, (0, 0) * (values.ndim - 2) + (0, count))


def padded(batch: Any) -> Any:
    """Return a batch with more padding of its `source`, if that is `Padded`, and of other tensors `(batch, length)`."""
    source = longer(batch.source) if isinstance(batch.source, Padded) else batch.source
    return type(batch)(source, *(longer(part, 3) if part.ndim == 2 else part for part in batch[1:]))


def accuracy_of_words(predictions: Sequence[str], labels: Sequence[str]) -> float:
    """Return the share of words with the right label, for texts of labels. A single label is for all words."""
    pairs = (zip(cycle(text.split()), label.split()) for text, label in zip(predictions, labels, strict=True))
    right = [predicted == target for text in pairs for predicted, target in text]
    return sum(right) / len(right)


def label_each_word(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a row of a text and labels with as many labels as words."""
    text, labels = row
    return text, " ".join(label for _, label in zip(text.split(), cycle(labels.split())))


def repeated(both: Any, alone: Any) -> bool:
    """Return whether an ensemble of two copies has the weights of a run twice."""
    both, alone = (list(each.values()) if isinstance(each, dict) else each for each in (both, alone))
    return is_near(both, [*alone, *alone])


@dataclass(frozen=True, kw_only=True)
class Entry:
    """The data, models and answers of a task for its laws. Only the first five fields have no default.

    Args:
        options: options of all tiny runs.
        models: further options of each model. A run is tiny if it trains in a second.
        row: from a built-in example, a row of Python objects: the inputs and then the label.
        columns: names of the cells of a row.
        by_hand: the headline from predictions and labels, both texts, by another way than the task's own, for
            example `accuracy_of_words`.
        small: (module or class, name, value) of each constant that makes built-in data or learning small. Splits have
            `HELD_OUT` examples.
        group: the group of an example from the data, a split and an index. None: evaluations have no groups.
        repair: a row after a cell came from another row, for example `label_each_word`.
        object_options: options of runs on Python objects.
        blank: an input without an answer. None: only unreadable inputs have none.
        file: the file beside config.json and the weights that a run needs.
        beside: whether a line has the path of a file before its text.
        formal: whether malformed lines are errors, blank ones too if `blank` is None.
        silent: whether a model of a few steps may answer with an empty text.
        content: attribute of an input that a model reads.
        pad: a batch with more padding, which changes no loss. None: batches have no padding.
        images: whether examples have images, of which none is made before a batch.
        classes: whether answers have the probabilities of classes.
        baselines: names of the baselines if none is `majority`, the most frequent label.
        unbounded: metrics of groups that may be outside 0 and 1.
        asked: requests of `predict` that read all its options together.
        looked: requests of `look` likewise.
        looked_model: the model that reads them. None: the first.
        omitted: keys of an answer's JSON that ensembles may lack. Where the first key of a group is missing, so are the
            others.
        joined: check of a key of an answer's JSON, from the values of an ensemble of two copies and of the run alone.
        incompatible: options of a run that cannot be in an ensemble with the first, and the part that the error names.
        averaging: by model, options with which it learns from rewards less a moving average.
        light: whether the first model is tested in the fast tier by laws that take time.
    """

    options: Mapping[str, Any]
    models: Mapping[str, Mapping[str, Any]]
    row: Callable[[Any], tuple[Any, ...]]
    columns: Sequence[str]
    by_hand: Callable[[Sequence[str], Sequence[str]], float]
    small: Sequence[tuple[Any, str, Any]] = ()
    group: Callable[[Any, str, int], str] | None = None
    repair: Callable[[tuple[Any, ...]], tuple[Any, ...]] = tuple
    object_options: Mapping[str, Any] = field(default_factory=dict)
    blank: str | None = None
    file: str = "tokenizer.json"
    beside: bool = False
    formal: bool = False
    silent: bool = False
    content: str = "ids"
    pad: Callable[[Any], Any] | None = padded
    images: bool = False
    classes: bool = False
    baselines: Sequence[str] = ()
    unbounded: Sequence[str] = ()
    asked: Sequence[Mapping[str, Any]] = ({},)
    looked: Sequence[Mapping[str, Any]] = ({},)
    looked_model: str | None = None
    omitted: Sequence[Sequence[str]] = ()
    joined: Mapping[str, Callable[[Any, Any], bool]] = field(default_factory=dict)
    incompatible: tuple[Mapping[str, Any], str] | None = None
    averaging: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    light: bool = True

    @property
    def exact(self) -> bool:
        """Whether blank lines are errors."""
        return self.formal and self.blank is None
