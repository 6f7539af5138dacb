"""Normalizers of attention by name, and options of models that read cells."""

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
"""Functions that return a normalizer with its default options."""


@dataclass(frozen=True, kw_only=True)
class Options(hard.Options):
    """Normalizer and read of an attention over cells.

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
    """Reject an unknown normalizer.

    Raises:
        ArgumentError: naming the option.
    """
    if name not in NORMALIZERS:
        raise ArgumentError(f"--normalizer: expected one of {', '.join(NORMALIZERS)}, got {name}")


def attention_options(options: Options) -> dict[str, Any]:
    """Return the normalizer and the reads as arguments of `saccade.nn.Attention`.

    >>> attention_options(Options(normalizer="sparsemax"))
    {'normalizer': Sparsemax()}
    """
    return {"normalizer": NORMALIZERS[options.normalizer](), **hard.attention_options(options)}
