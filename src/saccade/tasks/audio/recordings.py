"""Sound files as waveforms of one channel and one sample rate.

Source:
    J. O. Smith, Digital Audio Resampling Home Page (https://ccrma.stanford.edu/~jos/resample/): band-limited
    interpolation by a windowed sinc.
    J. F. Kaiser, Nonrecursive digital filter design using the I0-sinh window function, ISCAS 1974: the window.
"""

import io
import math
import os
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saccade.data.conversions import converted
from saccade.data.media import read_bytes
from saccade.errors import ArgumentError, SaccadeError, pip_install

__all__ = [
    "RATES",
    "SUFFIXES",
    "Audio",
    "check_rate",
    "leveled",
    "missing_bytes",
    "read_audio",
    "read_whole",
    "resample",
    "wav",
]

#: Ends of the names of sound files in a folder; a file that is named may be called anything.
SUFFIXES = (".aif", ".aiff", ".au", ".caf", ".flac", ".mp3", ".oga", ".ogg", ".opus", ".w64", ".wav")

#: Sample rates in Hz that a recording may have: another one is a damaged file's, or means no speech.
RATES = range(1000, 1_000_001)

_CROSSINGS = 64  # zero crossings of the sinc on either side: from full to nothing within 8% of the lower Nyquist
_CUTOFF = 0.96  # of the lower Nyquist frequency, the middle of those 8%
_BETA = 8.0  # of the Kaiser window: what is beyond is 80 dB down
_FINEST = 1 << 16  # largest number of a ratio of rates: another ratio is rounded, by less than 1e-7
_PART = 1 << 16  # sample times read at once
_MOST = 1 << 30  # bytes of a file: two days of telephone speech, and no end of what is no file
_LONGEST = 1 << 31  # samples of it, unpacked
_CUT = re.compile(r"^ *(?:data|SSND|Data Size) *: (\d+) \(should be (\d+)\)", re.MULTILINE)  # libsndfile's log
_STREAM = 0x7FFF0000  # sizes from here on are those of streams, whose writer could not know


@dataclass(frozen=True, eq=False)
class Audio:
    """A recording as models take it.

    Args:
        samples: `(samples,)`, float32 in [-1, 1].
        notes: a line for each thing that was changed (channels, sample rate, level) or is missing.
        damage: what is missing of the file, "" if nothing is.
    """

    samples: Tensor
    notes: tuple[str, ...]
    damage: str = ""


def read_audio(source: Path | BinaryIO, rate: int, name: str) -> Audio:
    """Read a sound file (WAV, FLAC, Ogg, MP3, AIFF and what else libsndfile knows), whole and at one sample rate.

    Of several channels the mean is taken, another sample rate is resampled, and what goes beyond [-1, 1] is scaled down
    as a whole; each of them is said in a note, and so is a file of which a part is missing.

    Args:
        source: the file, or its bytes.
        rate: samples a second of the result, in Hz.
        name: what messages call it.

    Raises:
        ArgumentError: naming it, if it is not there, is a folder, is no audio that can be read, is empty, has a sample
            rate that is not in `RATES`, or holds numbers that are not finite.
        SaccadeError: if soundfile is not installed.

    Example:
        >>> import soundfile
        >>> file = io.BytesIO()
        >>> soundfile.write(file, [[0.5, 0.0]] * 160, 16000, format="WAV")
        >>> audio = read_audio(io.BytesIO(file.getvalue()), 8000, "a.wav")
        >>> audio.samples.shape, audio.notes
        (torch.Size([80]), ('a.wav: mean of 2 channels', 'a.wav: resampled from 16000 to 8000 Hz'))
    """
    data = read_bytes(source, name, "a sound file", _MOST, "cut it into parts")
    channels, old, damage = _decode(data, name)
    notes = [damage] if damage else []
    if channels.shape[1] > 1:
        notes.append(f"{name}: mean of {channels.shape[1]} channels")
    if not channels.isfinite().all():
        raise ArgumentError(f"{name}: expected finite samples, got NaN or infinity; repair the file or leave it out")
    samples = channels.mean(1, dtype=torch.float64).float()
    if old != rate:
        samples = resample(samples, old, rate)
        notes.append(f"{name}: resampled from {old} to {rate} Hz")
        if not samples.isfinite().all():
            raise ArgumentError(f"{name}: expected samples in [-1, 1], got some too large to be resampled")
    samples, scaled = leveled(samples, name)
    return Audio(samples, (*notes, *scaled), damage)


def check_rate(rate: int) -> None:
    """Reject a number that is no sample rate of sound."""
    if rate not in RATES:
        raise ArgumentError(f"--rate: expected a sample rate from {RATES[0]} to {RATES[-1]} Hz, got {rate}")


def leveled(samples: Tensor, name: str) -> tuple[Tensor, tuple[str, ...]]:
    """Return a waveform in [-1, 1]: one that goes beyond is scaled down as a whole, with a note.

    >>> leveled(torch.tensor([0.5, -2.0]), "a.wav")
    (tensor([ 0.2500, -1.0000]), ('a.wav: scaled down from a peak of 2 to 1',))
    """
    peak = float(samples.abs().max())
    if peak <= 1:
        return samples, ()
    return (samples / peak).clamp(-1, 1), (f"{name}: scaled down from a peak of {peak:.3g} to 1",)


def read_whole(source: Path | BinaryIO, rate: int, name: str) -> Audio:
    """Read a sound file as `read_audio` does; an `ArgumentError` if a part of it is missing."""
    audio = read_audio(source, rate, name)
    if audio.damage:
        raise ArgumentError(f"{audio.damage}; copy it anew, or leave it out")
    return audio


def wav(samples: Tensor, rate: int) -> bytes:
    """Return a waveform `(samples,)` as a WAV file of 32-bit floats, which loses and adds nothing.

    >>> samples = torch.rand(800)
    >>> torch.equal(read_audio(io.BytesIO(wav(samples, 8000)), 8000, "a.wav").samples, samples)
    True
    """
    from scipy.io import wavfile  # soundfile would write the time of day into the header of such a file

    file = io.BytesIO()
    wavfile.write(file, rate, samples.numpy())
    return file.getvalue()


def missing_bytes(path: Path) -> int:
    """Return how many bytes of sound a file lacks by its header, 0 if that cannot be read."""
    soundfile = _soundfile()
    try:
        with soundfile.SoundFile(os.fsencode(path)) as file:
            return _missing(file)
    except soundfile.SoundFileError:
        return 0


def resample(samples: Tensor, rate: int, new_rate: int) -> Tensor:
    """Return a waveform at another sample rate, by band-limited interpolation.

        y_n = (2c / rate) Σ_m x_m sinc(2c t) w(t),    t = n / new_rate − m / rate,    sinc(u) = sin(πu) / πu,

    with the cutoff c = 0.96 · min(rate, new_rate) / 2 in Hz and Kaiser's window w (β = 8), which is zero beyond 64 zero
    crossings on either side. What is below 0.92 of the lower Nyquist frequency keeps amplitude and phase, what is at or
    above it is gone, both to about 1e-4. Outside its samples a waveform is zero.

    Args:
        samples: `(samples,)`, of any floating type.
        rate: theirs, in Hz.
        new_rate: the result's, in Hz.

    Returns:
        `(⌈samples · new_rate / rate⌉,)`; the same tensor where the rates are equal.

    Raises:
        ArgumentError: if a rate is not above zero, or there are no samples.

    Source:
        Smith, Digital Audio Resampling, "Theory of Ideal Bandlimited Interpolation"; Kaiser (1974).

    Example:
        >>> tone = torch.sin(2 * torch.pi * 440 * torch.arange(16000) / 16000)
        >>> resample(tone, 16000, 8000).shape
        torch.Size([8000])
    """
    for argument, value in (("rate", rate), ("new_rate", new_rate)):
        if value < 1:
            raise ArgumentError(f"{argument}: expected a sample rate above 0 Hz, got {value}")
    if not samples.numel():
        raise ArgumentError("samples: expected one or more, got none")
    if rate == new_rate:
        return samples
    from scipy.signal import resample_poly

    ratio = Fraction(*sorted((rate, new_rate))).limit_denominator(_FINEST)
    few, many = max(1, ratio.numerator), ratio.denominator
    up, down = (many, few) if new_rate > rate else (few, many)
    return torch.from_numpy(resample_poly(samples.detach().numpy(), up, down, window=_taps(many))).to(samples)


@lru_cache(4)  # many files have one rate
def _taps(many: int) -> NDArray[np.float64]:
    """The filter between rates of which the higher one is `many` of their common divisor."""
    scale = _CUTOFF / many
    reach = math.floor(_CROSSINGS / scale)
    places = scale * np.arange(-reach, reach + 1)
    window = np.i0(_BETA * np.sqrt(1 - (places / _CROSSINGS) ** 2)) / np.i0(_BETA)
    taps: NDArray[np.float64] = scale * np.sinc(places) * window
    return taps


def _missing(file: Any) -> int:
    """The bytes that an open sound file lacks at its end, as libsndfile's log of its header has them."""
    match = _CUT.search(file.extra_info)
    promised, there = map(int, match.groups()) if match else (0, 0)
    return promised - there if promised < _STREAM else 0


def _decode(data: bytes, name: str) -> tuple[Tensor, int, str]:
    """The samples `(samples, channels)` of a file's bytes, their rate, and what is missing of the file."""
    soundfile, parts, count = _soundfile(), list[Tensor](), 0
    try:
        with soundfile.SoundFile(_Bytes(data)) as file:
            rate, promised, missing = file.samplerate, file.frames, _missing(file)
            while len(part := file.read(_PART, dtype="float32", always_2d=True)):  # a header may promise anything
                parts.append(torch.from_numpy(part))
                count += part.size
                if count > _LONGEST:
                    raise ArgumentError(f"{name}: expected at most {_LONGEST} samples, got more; cut it into parts")
    except soundfile.SoundFileError as error:
        reason = getattr(error, "error_string", str(error)).strip().rstrip(".")
        kind = "an empty file" if not data else f"one that cannot be read ({reason})"
        way_out = converted(Path(name))
        raise ArgumentError(f"{name}: expected a sound file such as WAV, FLAC or Ogg, got {kind}{way_out}") from error
    if rate not in RATES:
        raise ArgumentError(f"{name}: expected a sample rate from {RATES[0]} to {RATES[-1]} Hz, got {rate}")
    if not parts:
        raise ArgumentError(f"{name}: expected audio, got a sound file without a sample")
    channels, damage = torch.cat(parts), ""
    if len(channels) < promised:
        damage = f"{name}: damaged, only {len(channels)} of {promised} samples could be read"
    elif missing:
        damage = f"{name}: cut short, {missing} bytes of sound are missing at its end"
    return channels, rate, damage


class _Bytes(io.BytesIO):
    """Bytes of which any place can be sought, as damaged headers have libsndfile do: an exception there is printed."""

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        size = len(self.getbuffer())
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self.tell(), io.SEEK_END: size}[whence]
        return super().seek(min(max(0, start + offset), size))


def _soundfile() -> Any:
    try:
        import soundfile
    except (ImportError, OSError) as error:  # the second where the package is there without libsndfile
        way_out = pip_install("train")
        raise SaccadeError(f"reading audio needs soundfile, which is not installed: {way_out}") from error
    return soundfile
