"""What a speech corpus is: recordings and their words in three splits."""

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from saccade.data.dataset import Dataset

__all__ = ["Corpus", "Recording"]


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """Something that was said, and its words.

    Args:
        name: what messages call it: a file, or an id.
        signal: `(samples,)`, a waveform in [-1, 1]; in a corpus of finished features `(frames, dim)`.
        text: the words, a space between two.
        group: what it is reported under, such as its speaker; "" for none.
        notes: a line for each thing that was changed to make a signal of the file.

    Example:
        >>> import torch
        >>> Recording("7_jackson_32.wav", torch.zeros(3457), "7", "jackson").text
        '7'
    """

    name: str
    signal: Tensor
    text: str
    group: str
    notes: tuple[str, ...] = ()


class Corpus(Dataset[Recording], Protocol):
    """Recordings in three splits."""

    def text(self, split: str, index: int) -> str:
        """Return the words of an utterance alone; no file is read for them."""

    @property
    def rate(self) -> int | None:
        """The samples a second of all signals, in Hz; None where signals are frames of features."""

    @property
    def dim(self) -> int | None:
        """How many features a frame has; None where signals are waveforms."""
