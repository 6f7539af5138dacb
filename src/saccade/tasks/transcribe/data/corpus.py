"""Speech corpora: recordings and their words in three splits."""

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from saccade.data.dataset import Dataset

__all__ = ["Corpus", "Recording"]


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """A recording and its text.

    Args:
        name: a file or an id, for messages.
        signal: `(samples,)`, a waveform in [-1, 1], or features `(frames, dim)`.
        text: the words, separated by spaces.
        group: of the metrics by group, for example the speaker, "" for none.
        notes: a line for each change of the signal.
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
        """Sample rate of all signals in Hz, None for features."""

    @property
    def dim(self) -> int | None:
        """Features of a frame, None for waveforms."""
