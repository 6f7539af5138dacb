"""Features of a waveform: log-mel spectra, differences over time, normalization.

Source:
    S. Young et al., The HTK Book (for HTK 3.4), chapter 5: the mel scale, filterbank, and regression coefficients.
"""

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.errors import ArgumentError

__all__ = ["LogMel", "deltas", "mel_filters", "normalized"]

_LOWEST = 20.0  # Hz, start of the lowest band; the highest one ends at half the sample rate
_FLOOR = 1e-10  # energy of silence: about the noise of 16 bits


@dataclass(frozen=True)
class LogMel:
    """Log energies of a waveform's frames in bands of equal width on the mel scale.

        X_t(k) = Σ_n w_n x_{th+n} e^{−2πikn/N},    y_{t,m} = ln max(Σ_k F_{m,k} |X_t(k)|², 1e-10)

    Frame t begins at sample th, h = `hop_ms`, and is `window_ms` long under Hann's window w (periodic). N is the next
    power of two. Zeros pad the last frame, so every sample is in a frame: `(samples,)` make
    max(1, 1 + ⌈(samples − window) / h⌉) frames. F is `mel_filters`.

    Args:
        rate: samples a second, in Hz.
        mels: bands.
        window_ms: length of a frame in milliseconds, at least one sample.
        hop_ms: step between frames in milliseconds, at least one sample and at most `window_ms`.

    Raises:
        ArgumentError: if a band has no frequency.

    Source:
        Davis, Mermelstein, Comparison of parametric representations for monosyllabic word recognition, IEEE
        Transactions on Acoustics, Speech, and Signal Processing 28 (1980). HTK Book, 5.4.

    Example:
        >>> logmel = LogMel(8000)
        >>> logmel(torch.zeros(8000)).shape, logmel.frames(8000)
        (torch.Size([99, 40]), 99)
    """

    rate: int
    mels: int = 40
    window_ms: float = 25.0
    hop_ms: float = 10.0

    def __post_init__(self) -> None:
        if self.mels > self.size or bool((self.filters == 0).all(0).any()):
            why = f"some would have no frequency of their own in {self.window_ms:g} ms at {self.rate} Hz"
            raise ArgumentError(f"--mels: expected fewer bands, as {why}, got {self.mels}")

    @property
    def window(self) -> int:
        """Samples of a frame."""
        return round(self.rate * self.window_ms / 1000)

    @property
    def hop(self) -> int:
        """Samples from one frame to the next."""
        return round(self.rate * self.hop_ms / 1000)

    @property
    def size(self) -> int:
        """Samples of the Fourier transform, a power of two: a frame padded with zeros."""
        return 1 << (self.window - 1).bit_length()

    @property
    def filters(self) -> Tensor:
        """The bands, `(size // 2 + 1, mels)`."""
        return mel_filters(self.rate, self.size, self.mels, _LOWEST, self.rate / 2)

    def frames(self, samples: int) -> int:
        """Return the number of frames of a waveform."""
        return max(1, 1 - (self.window - samples) // self.hop)

    def __call__(self, samples: Tensor) -> Tensor:
        """Return the features `(frames, mels)` of a waveform `(samples,)`.

        They have its dtype and device.

        Raises:
            ArgumentError: if there are no samples.
        """
        if samples.ndim != 1 or not len(samples):
            raise ArgumentError(f"samples: expected shape (samples,) and one or more, got {tuple(samples.shape)}")
        whole = (self.frames(len(samples)) - 1) * self.hop + self.window
        frames = F.pad(samples, (0, whole - len(samples))).unfold(0, self.window, self.hop)
        hann = torch.hann_window(self.window, dtype=torch.float64).to(samples)
        spectrum = torch.view_as_real(torch.fft.rfft(frames * hann, self.size))
        return (spectrum.square().sum(-1) @ self.filters.to(samples)).clamp(min=_FLOOR).log()


@lru_cache(8)  # computing them takes longer than applying them
@torch.inference_mode(False)  # a later call may need gradients
def mel_filters(rate: int, size: int, mels: int, low: float, high: float) -> Tensor:
    """Return triangular filters with equally spaced peaks on the mel scale.

        F_m(f) = max(0, min((f − c_{m−1}) / (c_m − c_{m−1}), (c_{m+1} − f) / (c_{m+1} − c_m)))
        mel(f) = 2595 log10(1 + f / 700)

    with c_0 = `low` to c_{mels+1} = `high` at equal distances in mel(c). A filter is 1 at its peak, and falls linearly
    in Hz to 0 at both neighbouring peaks.

    Args:
        rate: samples a second, in Hz.
        size: samples of the Fourier transform.
        mels: filters.
        low: in Hz.
        high: in Hz.

    Returns:
        `(size // 2 + 1, mels)`, float64: the weight of each frequency k · rate / size in each filter. All calls share
        one tensor.

    Source:
        HTK Book, eq. 5.13 (the scale) and figure 5.3 (the filters).

    Example:
        >>> mel_filters(8000, 256, 40, 20.0, 4000.0).shape
        torch.Size([129, 40])
    """
    ends = torch.tensor([low, high], dtype=torch.float64)
    first, last = (2595 * torch.log10(1 + ends / 700)).tolist()
    centers = 700 * (10 ** (torch.linspace(first, last, mels + 2, dtype=torch.float64) / 2595) - 1)
    frequencies = torch.arange(size // 2 + 1, dtype=torch.float64)[:, None] * (rate / size)
    rising = (frequencies - centers[:-2]) / (centers[1:-1] - centers[:-2])
    falling = (centers[2:] - frequencies) / (centers[2:] - centers[1:-1])
    return torch.minimum(rising, falling).clamp(min=0)


def deltas(features: Tensor) -> Tensor:
    """Return the slopes of features over two frames before and two after each frame.

        d_t = Σ_{θ=1}^{2} θ (c_{t+θ} − c_{t−θ}) / 10

    The first and the last frame are repeated as padding.

    Args:
        features: `(frames, dim)`.

    Returns:
        `(frames, dim)`, per frame.

    Source:
        HTK Book, eq. 5.16.

    Example:
        >>> deltas(torch.tensor([[0.0], [3.0], [6.0], [9.0], [12.0]]))[2]
        tensor([3.])
    """
    padded = torch.cat([features[:1]] * 2 + [features] + [features[-1:]] * 2)
    return (padded[3:-1] - padded[1:-3] + 2 * (padded[4:] - padded[:-4])) / 10


def normalized(features: Tensor) -> Tensor:
    """Normalize features `(frames, dim)` to mean 0 and variance 1 over the frames.

    A constant feature becomes 0.

    >>> normalized(torch.tensor([[1.0, 5.0], [3.0, 5.0]]))
    tensor([[-1.,  0.],
            [ 1.,  0.]])
    """
    exact = features.double()
    centered = exact - exact.mean(0)
    deviation = centered.square().mean(0).sqrt()
    constant = features.amax(0) == features.amin(0)
    return torch.where(constant, 0.0, centered / deviation.masked_fill(constant, 1.0)).to(features)
