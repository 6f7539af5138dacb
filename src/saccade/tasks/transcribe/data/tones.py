"""The built-in corpus: digits as telephone keypad tones in noise.

    7 is 852 Hz and 1209 Hz together

Each digit is two tones. Tones and pauses last 60 to 140 ms each. Level and noise vary by utterance.

Source:
    ITU-T Recommendation Q.23 (1988), Technical features of push-button telephone sets: the frequencies.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from saccade.data.dataset import check_index
from saccade.data.generated import Generated
from saccade.tasks.transcribe.data.corpus import Recording
from saccade.tasks.transcribe.data.digits import spelled
from saccade.train.randomness import generator

__all__ = ["FREQUENCIES", "RATE", "Tones", "digits_at_random", "noisy", "sent"]

RATE = 8000  # Hz, as on the telephone
LONGEST = 6  # digits in a string
HELD_OUT = 500  # strings of validation, and of test
LENGTHS = (0.06, 0.14)  # seconds of a tone, and of a pause between, before and after tones
LEVELS = (-30.0, -15.0)  # dB of a tone's amplitude, relative to full scale
NOISE = (5.0, 30.0)  # dB of the tones' power above that of the noise

_LOW, _HIGH = (697, 770, 852, 941), (1209, 1336, 1477)  # Hz, of the rows and columns of keys
_KEYS = ("123", "456", "789", " 0 ")

#: The two frequencies of each digit, in Hz.
FREQUENCIES = {key: (_LOW[row], _HIGH[keys.index(key)]) for row, keys in enumerate(_KEYS) for key in keys if key != " "}


class Tones(Generated[Recording]):
    """Strings of one to six digits in dual-tone multi-frequency signalling.

        x(t) = a (sin 2πf₁t + sin 2πf₂t) + noise,    Gaussian, 5 to 30 dB below the keys' power

    Training is endless. Validation and test hold 500 strings each. The sound does not depend on the language.

    Args:
        language: of the words, a key of `saccade.tasks.transcribe.data.digits.DIGITS`. Default: digits.

    Raises:
        ArgumentError: if the language is another.

    Example:
        >>> FREQUENCIES["7"]
        (852, 1209)
        >>> Tones().text("test", 6), Tones("fr").text("test", 6)
        ('6 3', 'six trois')
    """

    rate = RATE
    dim = None

    def __init__(self, language: str | None = None) -> None:
        spelled("", language)
        self.language = language

    @property
    def held_out(self) -> int:
        """Utterances of validation, and of test."""
        return HELD_OUT

    def make(self, split: str, index: int) -> Recording:
        """Draw an utterance. Its group is ""."""
        digits, draws = self._digits(split, index)
        signal = noisy(lambda: sent(digits, draws), draws)
        return Recording(f"{split} {index}", signal, self.words(digits), "")

    def text(self, split: str, index: int) -> str:
        """Return the words of an utterance alone, without its sound."""
        check_index(split, index, self.size(split))
        return self.words(self._digits(split, index)[0])

    def words(self, digits: str) -> str:
        """Return the words of digits, separated by spaces."""
        return spelled(digits, self.language)

    @property
    def fingerprint(self) -> str:
        """Parameters of the utterances, in one string."""
        ends = ", ".join(f"{low:g} to {high:g}" for low, high in (LENGTHS, LEVELS, NOISE))
        words = "" if self.language is None else f", {spelled('0123456789', self.language)}"
        return f"tones 1 to {LONGEST} at {RATE} Hz, {ends}{words}"

    def _digits(self, split: str, index: int) -> tuple[str, torch.Generator]:
        """The digits of an utterance, and the draws that follow."""
        draws = generator(0, "tones", split, index)
        return digits_at_random(draws), draws


def digits_at_random(draws: torch.Generator) -> str:
    """Draw a string of one to six digits.

    >>> digits_at_random(torch.Generator().manual_seed(1))
    '94'
    """
    count = int(torch.randint(1, LONGEST + 1, (), generator=draws))
    return "".join(map(str, torch.randint(0, 10, (count,), generator=draws).tolist()))


def sent(digits: str, draws: torch.Generator, pitch: float = 1.0) -> Tensor:
    """Return the keys of digits, with pauses around them.

    Keys have an amplitude of 1. The lengths of keys and pauses are random.

    Args:
        digits: 0 to 9, one after the other.
        draws: of the lengths.
        pitch: factor of all frequencies.

    >>> draws = torch.Generator().manual_seed(1)
    >>> sent("73", draws).shape, sent("73", draws, pitch=2.0).abs().max() <= 2
    (torch.Size([3811]), tensor(True))
    """
    lengths = (_between(*LENGTHS, 2 * len(digits) + 1, draws) * RATE).round().int().tolist()
    return torch.cat([_part(digits, position, length, pitch) for position, length in enumerate(lengths)])


def noisy(sound: Callable[[], Tensor], draws: torch.Generator) -> Tensor:
    """Return a sound at a random level in Gaussian noise, within [-1, 1].

    >>> draws = torch.Generator().manual_seed(1)
    >>> noisy(lambda: torch.zeros(5), draws).shape
    torch.Size([5])
    """
    level, distance = (_between(*ends, 1, draws).item() for ends in (LEVELS, NOISE))
    amplitude = 10 ** (level / 20)
    clean = amplitude * sound()
    noise = amplitude * 10 ** (-distance / 20) * torch.randn(len(clean), generator=draws)
    return (clean + noise).clamp(-1, 1)


def _between(least: float, largest: float, count: int, draws: torch.Generator) -> Tensor:
    return least + (largest - least) * torch.rand(count, generator=draws)


def _part(digits: str, position: int, length: int, pitch: float) -> Tensor:
    """A pause at even places of a string, a key at odd ones."""
    if position % 2 == 0:
        return torch.zeros(length)
    turns = 2 * torch.pi / RATE * pitch * torch.arange(length)
    return sum((torch.sin(frequency * turns) for frequency in FREQUENCIES[digits[position // 2]]), torch.zeros(length))
