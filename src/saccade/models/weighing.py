"""What makes weights of scores, by the names that models have for it, and the options of those that answer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from saccade import normalizers
from saccade.errors import ArgumentError
from saccade.models import hard

__all__ = ["NORMALIZERS", "Name", "Options", "attention_options", "check_normalizer"]

Name = Literal["softmax", "sparsemax", "entmax"]
NORMALIZERS: dict[Name, Callable[[], normalizers.Normalizer]] = {
    "softmax": normalizers.Softmax,
    "sparsemax": normalizers.Sparsemax,
    "entmax": normalizers.Entmax,
}
"""Each makes a normalizer as it is where nothing else is said of it."""


@dataclass(frozen=True, kw_only=True)
class Options(hard.Options):
    """How cells are weighed, and how they are read.

    >>> Options(normalizer="sparsemax").read
    'soft'
    """

    normalizer: Name = "softmax"
    """Normalizer of the scores. Sparsemax and entmax make most weights exactly 0."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        super().__post_init__()
        check_normalizer(self.normalizer)


def check_normalizer(name: str) -> None:
    """Refuse a normalizer that there is not.

    Raises:
        ArgumentError: naming the option.
    """
    if name not in NORMALIZERS:
        raise ArgumentError(f"--normalizer: expected one of {', '.join(NORMALIZERS)}, got {name}")


def attention_options(options: Options) -> dict[str, Any]:
    """Return what `saccade.nn.Attention` is told of how it weighs and reads.

    >>> attention_options(Options(normalizer="sparsemax"))
    {'normalizer': Sparsemax()}
    """
    return {"normalizer": NORMALIZERS[options.normalizer](), **hard.attention_options(options)}
