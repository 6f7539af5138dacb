"""From what a corpus or a user hands over to frames of features."""

import io
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
from saccade.train.options import flag

__all__ = ["Signals"]

_FEATURE_HOP_MS = 10  # of features that were computed elsewhere
_MOST = 1 << 30  # bytes of a file of features


@dataclass(frozen=True)
class Signals:
    """What signals a run takes, and what it makes of them.

    Args:
        rate: samples a second of its waveforms; None where signals are frames of features.
        dim: features of a frame that comes as such; None where signals are waveforms.
        mels, window_ms, hop_ms: of the log-mel features of a waveform, see `LogMel`; 0 where there are none.
    """

    rate: int | None
    dim: int | None
    mels: int = 0
    window_ms: int = 0
    hop_ms: int = 0

    @property
    def width(self) -> int:
        """Features of a frame."""
        return self.mels if self.dim is None else self.dim

    @property
    def suffixes(self) -> tuple[str, ...]:
        """What the names of files end in that such signals come in."""
        return SUFFIXES if self.dim is None else (SUFFIX,)

    @property
    def frame_seconds(self) -> float:
        """Seconds from one frame to the next, a whole number of samples."""
        return _FEATURE_HOP_MS / 1000 if self.rate is None else self.logmel.hop / self.rate

    @cached_property
    def logmel(self) -> LogMel:
        """What makes frames of a waveform."""
        assert self.rate is not None
        return LogMel(self.rate, self.mels, self.window_ms, self.hop_ms)

    def check(self) -> None:
        """See that such features can be computed.

        Raises:
            ArgumentError: naming the option that they cannot have.
        """
        if self.dim is None:
            try:
                self.logmel  # noqa: B018 (made when it is asked for)
            except ArgumentError as error:
                raise ArgumentError(error.complaint, flag(error.argument or "mels")) from error

    def frames(self, signal: Tensor) -> tuple[Tensor, Tensor]:
        """Return a signal's frames and how loud each is beside the others.

        Returns:
            Frames `(length, width)`, of a waveform log-mel features, each of mean 0, variance 1; and `(length,)`, of a
            waveform the logarithm of its energy, of cepstra the first, which is a mean of such.
        """
        if self.dim is not None:
            return signal, signal[:, 0]
        bands = self.logmel(signal)
        return normalized(bands), bands.logsumexp(1)

    def file(self, signal: Tensor) -> tuple[str, bytes]:
        """Return a signal as a file that `read` reads: what its name ends in, and its bytes."""
        if self.dim is not None:
            return SUFFIX, encode(signal[:, :COEFFICIENTS])
        assert self.rate is not None
        return ".wav", wav(signal, self.rate)

    def read(self, path: str) -> tuple[Tensor, Tensor, tuple[str, ...]]:
        """Return the frames of a file, or of standard input if the path is "-", how loud each is, and what was changed.

        Raises:
            ArgumentError: naming the file, if it cannot be read or is of another kind.
        """
        name = "standard input" if path == "-" else path
        source: Any = sys.stdin.buffer if path == "-" else Path(path)
        if self.dim is not None:
            return (*self.frames(_features(source, name)), ())
        assert self.rate is not None
        audio = read_audio(source, self.rate, name)
        return (*self.frames(audio.samples), audio.notes)


def _features(source: Any, name: str) -> Tensor:
    """The frames of a Sphinx feature file."""
    if isinstance(source, Path):
        if source.suffix != SUFFIX:
            raise ArgumentError(f"{name}: expected Sphinx features ({SUFFIX}), as this run was trained on, got another")
        source = io.BytesIO(read_bytes(source, str(source), "a feature file", _MOST, "cut it into parts"))
    return features(cepstra(source.read(), name))
