"""Speech corpora: recordings and their words in three splits."""

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from saccade.data.dataset import Dataset

__all__ = ["Corpus", "Recording"]


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """Something that was said, and its words.

    Args:
        name: in messages: a file, or an id.
        signal: `(samples,)`, a waveform in [-1, 1], or features `(frames, dim)`.
        text: the words, a space between two.
        group: what it is reported under, such as its speaker; "" for none.
        notes: a line for each thing that was changed to make a signal of the file.
    """

    name: str
    signal: Tensor
    text: str
    group: str
    notes: tuple[str, ...] = ()


class Corpus(Dataset[Recording], Protocol):
    """Recordings in three splits."""

    def text(self, split: str, index: int) -> str:
        """Return the words of an utterance alone, without its sound."""

    @property
    def rate(self) -> int | None:
        """Sample rate of all signals, in Hz; None of features."""

    @property
    def dim(self) -> int | None:
        """Features of a frame; None of waveforms."""
