"""Options of visual question answering."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from saccade._definitions.checks import in_ranges
from saccade.errors import ArgumentError
from saccade.tasks.image.options import VisualOptions
from saccade.tasks.looking import By, check_by, check_signed

__all__ = ["LookRequest", "Options"]


@dataclass(frozen=True, kw_only=True)
class Options(VisualOptions):
    """Options of all runs that answer questions about images.

    >>> Options(answers=100).batch_size
    32
    """

    least: int = 4
    """Fewest shapes of a built-in scene."""

    most: int = 6
    """Most shapes of a built-in scene, up to 8."""

    size: int | None = None
    """Longer side of images in pixels. Default: that of the first, at most 96."""

    batch_size: int = 32
    """Questions per batch, each with its image."""

    answers: int = 1000
    """Number of answers to choose from: the most frequent of the training split."""

    generate: bool = False
    """Write answers word by word instead of choosing one."""

    beam_size: int = 5
    """Beam size of --generate. 1 is greedy decoding."""

    max_length: int = 40
    """Most words of a question. Later words are not read."""

    label_smoothing: float = 0.0
    """Probability spread evenly over all answers."""

    def __post_init__(self) -> None:
        VisualOptions.__post_init__(self)
        in_ranges(self, (("answers", 2, 1_000_000), ("beam_size", 1, 1000)))
        if self.generate:
            self.refuse_given(["answers"], "only without --generate")
        else:
            self.refuse_given(["beam_size"], "only with --generate")
        if not 0 <= self.label_smoothing < 1:
            raise ArgumentError(f"--label-smoothing: expected 0 <= label smoothing < 1, got {self.label_smoothing}")


@dataclass(frozen=True, kw_only=True)
class LookRequest:
    """Options of a picture of an answer.

    >>> LookRequest(by="jacobian").by
    'jacobian'
    """

    by: By | None = None
    """Method of the picture: attention, gradients by pixels and words, Grad-CAM,
    the Jacobian of all answers by each word, or integrated gradients of pixels.
    Default: attention, or gradient for a model without it."""

    signed: bool = False
    """With --by jacobian: derivatives of the best answer's logit, with their signs,
    by a factor on each word. Default: norms of the Jacobian of all logits."""

    def __post_init__(self) -> None:
        check_by(self.by, get_args(By))
        check_signed(self.signed, self.by)

    def check(self, methods: Sequence[str], *, writes: bool = False) -> None:
        """Reject options of a request that its model cannot follow."""
        if self.signed and writes:
            raise ArgumentError("--signed: expected a run that chooses an answer, got one that writes. Leave it out.")
        check_by(self.by, methods)
