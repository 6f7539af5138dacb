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
    "sample_rate",
    "wav",
]

#: Suffixes of sound files in a folder. A file with its own path may have any name.
SUFFIXES = (".aif", ".aiff", ".au", ".caf", ".flac", ".mp3", ".oga", ".ogg", ".opus", ".w64", ".wav")

#: Sample rates in Hz that a recording may have. Others mean a damaged file, or no speech.
RATES = range(1000, 1_000_001)

_CROSSINGS = 64  # zero crossings of the sinc on either side: a transition band of 8% of the lower Nyquist
_CUTOFF = 0.96  # share of the lower Nyquist frequency, the middle of those 8%
_BETA = 8.0  # of the Kaiser window: 80 dB of attenuation in the stop band
_FINEST = 1 << 16  # largest number in a ratio of rates: other ratios are rounded, by less than 1e-7
_PART = 1 << 16  # frames per read
_LARGEST = 1 << 30  # bytes of a file: two days of telephone speech, and a limit for endless devices
_LONGEST = 1 << 31  # samples of a decoded file
_CUT = re.compile(r"^ *(?:data|SSND|Data Size) *: (\d+) \(should be (\d+)\)", re.MULTILINE)  # libsndfile's log
_STREAM = 0x7FFF0000  # from here on the size in a header means a stream of unknown length


@dataclass(frozen=True, eq=False)
class Audio:
    """A decoded recording.

    Args:
        samples: `(samples,)`, float32 in [-1, 1].
        notes: a line for each change (channels, sample rate, level), and for missing sound.
        damage: description of missing sound, "" if the file is whole.
    """

    samples: Tensor
    notes: tuple[str, ...]
    damage: str = ""


def read_audio(source: Path | BinaryIO, rate: int, name: str) -> Audio:
    """Read a whole sound file as one channel at a sample rate.

    Formats are those of libsndfile, for example WAV, FLAC, Ogg, MP3 and AIFF. Several channels are averaged, and other
    sample rates are resampled. A waveform beyond [-1, 1] is scaled down as a whole. Each change has a note, and so does
    damage.

    Args:
        source: the file, or its bytes.
        rate: samples a second of the result, in Hz.
        name: of the file in messages.

    Raises:
        ArgumentError: with the name, if the file is missing, a folder, unreadable or empty, has a sample rate outside
            `RATES`, or holds NaN or infinity.
        SaccadeError: if soundfile is not installed.

    Example:
        >>> import soundfile
        >>> file = io.BytesIO()
        >>> soundfile.write(file, [[0.5, 0.0]] * 160, 16000, format="WAV")
        >>> audio = read_audio(io.BytesIO(file.getvalue()), 8000, "a.wav")
        >>> audio.samples.shape, audio.notes
        (torch.Size([80]), ('a.wav: mean of 2 channels', 'a.wav: resampled from 16000 to 8000 Hz'))
    """
    data = read_bytes(source, name, "a sound file", _LARGEST, "cut it into parts")
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
    """Reject a sample rate outside `RATES`."""
    if rate not in RATES:
        raise ArgumentError(f"--rate: expected a sample rate from {RATES[0]} to {RATES[-1]} Hz, got {rate}")


def leveled(samples: Tensor, name: str) -> tuple[Tensor, tuple[str, ...]]:
    """Return a waveform in [-1, 1], scaled down as a whole with a note if necessary.

    >>> leveled(torch.tensor([0.5, -2.0]), "a.wav")
    (tensor([ 0.2500, -1.0000]), ('a.wav: scaled down from a peak of 2 to 1',))
    """
    peak = float(samples.abs().max())
    if peak <= 1:
        return samples, ()
    return (samples / peak).clamp(-1, 1), (f"{name}: scaled down from a peak of {peak:.3g} to 1",)


def read_whole(source: Path | BinaryIO, rate: int, name: str) -> Audio:
    """Read a sound file, or raise an `ArgumentError` if a part is missing."""
    audio = read_audio(source, rate, name)
    if audio.damage:
        raise ArgumentError(f"{audio.damage}; copy it anew, or leave it out")
    return audio


def wav(samples: Tensor, rate: int) -> bytes:
    """Return a waveform `(samples,)` as a lossless WAV file of 32-bit floats.

    >>> samples = torch.rand(800)
    >>> torch.equal(read_audio(io.BytesIO(wav(samples, 8000)), 8000, "a.wav").samples, samples)
    True
    """
    from scipy.io import wavfile  # soundfile writes a timestamp into the header of a float file

    file = io.BytesIO()
    wavfile.write(file, rate, samples.numpy())
    return file.getvalue()


def missing_bytes(path: Path) -> int:
    """Return the bytes of sound missing by a file's header, 0 if it is unreadable."""
    soundfile = _soundfile()
    try:
        with soundfile.SoundFile(os.fsencode(path)) as file:
            return _missing(file)
    except soundfile.SoundFileError:
        return 0


def sample_rate(path: Path) -> int:
    """Return the sample rate of a file, the highest of `RATES` if unreadable."""
    soundfile = _soundfile()
    try:
        return int(soundfile.info(os.fsencode(path)).samplerate)
    except soundfile.SoundFileError:
        return RATES[-1]


def resample(samples: Tensor, rate: int, new_rate: int) -> Tensor:
    """Return a waveform at another sample rate, by band-limited interpolation.

        y_n = (2c / rate) Σ_m x_m sinc(2c t) w(t),    t = n / new_rate − m / rate,    sinc(u) = sin(πu) / πu,

    with the cutoff c = 0.96 · min(rate, new_rate) / 2 in Hz and Kaiser's window w (β = 8), which is zero beyond 64 zero
    crossings on either side. Frequencies below 0.92 of the lower Nyquist frequency keep amplitude and phase. From that
    Nyquist frequency on they vanish. Both hold to about 1e-4. Outside its samples a waveform is zero.

    Args:
        samples: `(samples,)`, of any floating type.
        rate: of the samples, in Hz.
        new_rate: of the result, in Hz.

    Returns:
        `(⌈samples · new_rate / rate⌉,)`, the same tensor if the rates are equal.

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


@lru_cache(4)  # many files share a rate
def _taps(many: int) -> NDArray[np.float64]:
    """Low-pass filter for two rates, the higher `many` times their common divisor."""
    scale = _CUTOFF / many
    reach = math.floor(_CROSSINGS / scale)
    offsets = scale * np.arange(-reach, reach + 1)
    window = np.i0(_BETA * np.sqrt(1 - (offsets / _CROSSINGS) ** 2)) / np.i0(_BETA)
    taps: NDArray[np.float64] = scale * np.sinc(offsets) * window
    return taps


def _missing(file: Any) -> int:
    """Bytes missing at the end of an open sound file, by libsndfile's log."""
    match = _CUT.search(file.extra_info)
    promised, there = map(int, match.groups()) if match else (0, 0)
    return promised - there if promised < _STREAM else 0


def _decode(data: bytes, name: str) -> tuple[Tensor, int, str]:
    """Samples `(samples, channels)` of a file's bytes, their rate, and the damage."""
    soundfile, parts, count = _soundfile(), list[Tensor](), 0
    try:
        with soundfile.SoundFile(_Bytes(data)) as file:
            rate, promised, missing = file.samplerate, file.frames, _missing(file)
            while len(part := file.read(_PART, dtype="float32", always_2d=True)):  # the length in a header may be wrong
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
    """Bytes with a `seek` to any offset.

    Damaged headers make libsndfile seek out of range, and it prints an exception there.
    """

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        size = len(self.getbuffer())
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self.tell(), io.SEEK_END: size}[whence]
        return super().seek(min(max(0, start + offset), size))


def _soundfile() -> Any:
    try:
        import soundfile
    except (ImportError, OSError) as error:  # OSError: the package is there without libsndfile
        way_out = pip_install("train")
        raise SaccadeError(f"reading audio needs soundfile, which is not installed: {way_out}") from error
    return soundfile
