"""What can be said about a run that answers questions about images, and the defaults that suit each data set."""

from dataclasses import dataclass
from typing import Any, Literal

from saccade.checks import in_ranges
from saccade.errors import ArgumentError
from saccade.tasks.image.decoded import check_size
from saccade.tasks.labels.request import EvalRequest, Request
from saccade.tasks.splits import SplitOptions

__all__ = ["RECIPES", "REQUESTS", "LookRequest", "Options"]

#: What suits each data set, for all models; those have recipes of their own beside these.
RECIPES: dict[str, dict[str, Any]] = {
    "scenes": {},
    "files": {"shift": 2},
}
_THINGS, _LARGE = ("least", "most", "data_seed"), 1_000_000


@dataclass(frozen=True, kw_only=True)
class Options(SplitOptions):
    """The options of every run that answers questions about images, whatever its model.

    >>> Options(answers=100).batch_size
    32
    """

    least: int = 4
    """Things of a built-in scene, at the least."""

    most: int = 6
    """Things of a built-in scene, at the most: 8 or fewer."""

    data_seed: int = 0
    """What built-in scenes are drawn from."""

    size: int | None = None
    """Pixels of the longer side that images of files are scaled to; as the first image has them, 96 at most, if not
    given."""

    features: str | None = None
    """Folder of features that `python -m saccade.tasks.image.features` made of the images, by whose names they are
    found; they are taken as they are, and no image is read."""

    batch_size: int = 32
    """Questions a batch, each with its image."""

    answers: int = 1000
    """How many answers there are to choose from: the most frequent of the training split."""

    generate: bool = False
    """Write answers word by word, with the words of the training split's answers, instead of choosing one."""

    beam_size: int = 5
    """Answers that beam search keeps at once as one is written (--generate); 1 is greedy decoding."""

    vocabulary_size: int = 10_000
    """The most words there may be, learned from the training split: the most frequent."""

    min_count: int = 1
    """How often a word has to be in the training split to be known."""

    max_length: int = 40
    """Words of a question that are read; what follows them is not."""

    shift: int = 0
    """Pixels by which images are shifted in training, at most."""

    label_smoothing: float = 0.0
    """Share of the answer's probability that is spread evenly over all answers."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        SplitOptions.__post_init__(self)
        in_ranges(self, (("batch_size", 1, _LARGE), ("min_count", 1, _LARGE), ("max_length", 1, 10_000)))
        in_ranges(self, (("shift", 0, 64), ("answers", 2, _LARGE), ("vocabulary_size", 5, _LARGE)))  # 4 are special
        in_ranges(self, (("beam_size", 1, 1000),))
        if self.size is not None and self.features is not None:
            raise ArgumentError(f"--size: expected none with --features, got {self.size}")
        for name, ignored in (("answers", self.generate), ("beam_size", not self.generate)):
            if ignored and (value := getattr(self, name)) != type(self).__dataclass_fields__[name].default:
                way = "without" if self.generate else "with"
                raise ArgumentError(f"--{name.replace('_', '-')}: expected only {way} --generate, got {value}")
        check_size(self.size)
        if not 0 <= self.label_smoothing < 1:
            raise ArgumentError(f"--label-smoothing: expected 0 <= label smoothing < 1, got {self.label_smoothing}")

    def refuse_ignored(self, builtin: bool) -> None:
        """Refuse what the data would ignore: things of scenes, for data of one's own.

        Args:
            builtin: whether the data are built in.

        Raises:
            ArgumentError: naming the option.
        """
        for name in () if builtin else _THINGS:
            if (value := getattr(self, name)) != type(self).__dataclass_fields__[name].default:
                raise ArgumentError(f"--{name.replace('_', '-')}: expected only with --data scenes, got {value}")


@dataclass(frozen=True, kw_only=True)
class LookRequest:
    """What is drawn over an image and its question.

    >>> LookRequest().by is None
    True
    """

    by: Literal["attention", "gradient"] | None = None
    """Where the model looked (attention), or how much each pixel and each word moves the answer (gradient); attention
    if not given, and gradient of a model without."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        if self.by not in (None, "attention", "gradient"):
            raise ArgumentError(f"--by: expected attention or gradient, got {self.by}")

    def check(self, model: Any) -> None:
        """Refuse attention of a model without.

        Raises:
            ArgumentError: naming the option.
        """
        if self.by == "attention" and not getattr(model, "attends", False):
            raise ArgumentError("--by: expected gradient of a model that does not attend, got attention")


REQUESTS: dict[str, type] = {"predict": Request, "eval": EvalRequest, "look": LookRequest}
