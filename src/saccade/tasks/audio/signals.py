"""From what a corpus or a user hands over to frames of features."""

import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from torch import Tensor

from saccade.data.media import read_bytes
from saccade.errors import ArgumentError
from saccade.tasks.audio.features import LogMel, normalized
from saccade.tasks.audio.recordings import SUFFIXES, read_audio, wav
from saccade.tasks.audio.sphinx import COEFFICIENTS, SUFFIX, cepstra, encode, features

__all__ = ["Signals"]

_FEATURE_HOP = 0.01  # seconds between features that were computed elsewhere
_MOST = 1 << 30  # bytes of a file of features


@dataclass(frozen=True)
class Signals:
    """Signals of a run, and their features.

    Args:
        rate: samples a second of waveforms; None if signals are frames of features.
        dim: features of such a frame; None if signals are waveforms.
        mels, window_ms, hop_ms: of the log-mel features of a waveform, see `LogMel`; 0 if there are none.

    Raises:
        ArgumentError: naming --mels if there are too many for such a window.
    """

    rate: int | None
    dim: int | None
    mels: int = 0
    window_ms: int = 0
    hop_ms: int = 0

    def __post_init__(self) -> None:
        self.logmel  # noqa: B018 (checks the options)

    @property
    def width(self) -> int:
        """Features of a frame."""
        return self.mels if self.dim is None else self.dim

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Ends of the names of such files."""
        return SUFFIXES if self.dim is None else (SUFFIX,)

    @property
    def frame_seconds(self) -> float:
        """Seconds from one frame to the next, a whole number of samples."""
        return self.logmel.hop / self.logmel.rate if self.logmel else _FEATURE_HOP

    @cached_property
    def logmel(self) -> LogMel | None:
        """The features of a waveform."""
        return None if self.rate is None else LogMel(self.rate, self.mels, self.window_ms, self.hop_ms)

    def frames(self, signal: Tensor) -> tuple[Tensor, Tensor]:
        """Return a signal's frames and how loud each is beside the others.

        Returns:
            Frames `(length, width)`, of a waveform log-mel features, each of mean 0, variance 1; and `(length,)`, of a
            waveform the logarithm of its energy, of cepstra the first, which is a mean of such.
        """
        if self.logmel is None:
            return signal, signal[:, 0]
        bands = self.logmel(signal)
        return normalized(bands), bands.logsumexp(1)

    def file(self, signal: Tensor) -> tuple[str, bytes]:
        """Return a signal as a file that `read` reads: the end of its name, and its bytes."""
        if self.rate is None:
            return SUFFIX, encode(signal[:, :COEFFICIENTS])
        return ".wav", wav(signal, self.rate)

    def read(self, path: str) -> tuple[Tensor, Tensor, tuple[str, ...]]:
        """Return the frames of a file, or of standard input if the path is "-", how loud each is, and what was changed.

        Raises:
            ArgumentError: naming the file, if it cannot be read or is of another kind.
        """
        name = "standard input" if path == "-" else path
        source: Any = sys.stdin.buffer if path == "-" else Path(path)
        if self.rate is not None:
            audio = read_audio(source, self.rate, name)
            return (*self.frames(audio.samples), audio.notes)
        if path != "-" and source.suffix != SUFFIX:
            raise ArgumentError(f"{name}: expected Sphinx features ({SUFFIX}), as this run was trained on, got another")
        data = read_bytes(source, name, "a feature file", _MOST, "cut it into parts")
        return (*self.frames(features(cepstra(data, name))), ())
