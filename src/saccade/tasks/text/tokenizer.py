"""Text to token ids and back, by characters, words or pieces of words; described by JSON that says which."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import Any, ClassVar, Protocol, Self

from saccade.data.cleaning import composed
from saccade.errors import ArgumentError
from saccade.tasks.text.bpe import BytePairs
from saccade.tasks.text.special import SPECIAL, UNKNOWN
from saccade.tasks.text.words import Words

__all__ = ["Characters", "SpacedWords", "Tokenizer", "from_json", "one_line"]


class Tokenizer(Protocol):
    """Text to token ids and back; the ids are 0 to 3 as above, and the tokens of text from 4 on."""

    unknowns: ClassVar[bool]
    """Whether there are texts that it does not know."""
    joint: ClassVar[str]
    """What stands between two tokens in a text."""

    def __len__(self) -> int:
        """How many ids there are."""

    def encode(self, text: str) -> list[int]:
        """Return token ids, without a begin or an end."""

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text."""

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of token ids."""

    def piece(self, number: int) -> str:
        """Return the text of one token, "" for a special one; where it is part of a character, U+FFFD."""

    def pieces(self, text: str) -> list[str]:
        """Return the text of each token of a text, as people read it."""

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""


class _Units(ABC):
    """Tokens that are parts of a text as they stand there.

    Args:
        units: all that are known, in the order of their ids, from 4 on.
    """

    unknowns: ClassVar[bool] = True
    kind: ClassVar[str]
    joint: ClassVar[str]

    def __init__(self, units: Sequence[str]) -> None:
        self.units = tuple(units)
        self._ids = {unit: number for number, unit in enumerate(self.units, SPECIAL)}

    @classmethod
    def learn(cls, texts: Iterable[str], size: int | None = None) -> Self:
        """Know the units of some texts: the most frequent, so that there are at most `size` ids."""
        counts = Counter(chain.from_iterable(map(cls.split, texts)))
        ranked = sorted(counts, key=lambda unit: (-counts[unit], unit))
        return cls(sorted(ranked if size is None else ranked[: size - SPECIAL]))

    @staticmethod
    @abstractmethod
    def split(text: str) -> list[str]:
        """Return the units of a text."""

    def __len__(self) -> int:
        """How many ids there are."""
        return len(self.units) + SPECIAL

    def pieces(self, text: str) -> list[str]:
        """Return the text of each token."""
        return self.split(text)

    def encode(self, text: str) -> list[int]:
        """Return token ids, without a begin or an end; a unit that is not known is 3."""
        return self.numbers(self.split(text))

    def numbers(self, pieces: Iterable[str]) -> list[int]:
        """Return the ids of units as `pieces` has them."""
        return list(map(self._ids.get, pieces, repeat(UNKNOWN)))

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text."""
        return [self.encode(text) for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of token ids; unknown is the replacement character, and other special ids are nothing."""
        return self.joint.join(filter(None, map(self.piece, ids)))

    def piece(self, number: int) -> str:
        """Return the text of one token, as `decode` has it."""
        if number >= SPECIAL:
            return self.units[number - SPECIAL]
        return "\N{REPLACEMENT CHARACTER}" if number == UNKNOWN else ""


class Characters(_Units):
    """One token a character (a Unicode code point, composed where Unicode composes: NFC).

    Args:
        units: all that are known, in the order of their ids, from 4 on.

    Example:
        >>> tokenizer = Characters.learn(["cab", "bad"])
        >>> tokenizer.encode("dab?"), tokenizer.decode([7, 4, 5])
        ([7, 4, 5, 3], 'dab')
    """

    kind: ClassVar[str] = "characters"
    joint: ClassVar[str] = ""

    @staticmethod
    def split(text: str) -> list[str]:
        """Return the characters of a text."""
        return list(composed(text))

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return {"kind": self.kind, "normalization": "NFC", "characters": "".join(self.units)}


class SpacedWords(_Units):
    """One token a word: what stands between white space, composed (NFC).

    Args:
        units: all that are known, in the order of their ids, from 4 on.

    Example:
        >>> tokenizer = SpacedWords.learn(["7 3", "3 oh"])
        >>> tokenizer.encode("oh  7 8"), tokenizer.decode([4, 6])
        ([6, 5, 3], '3 oh')
    """

    kind: ClassVar[str] = "spaced words"
    joint: ClassVar[str] = " "

    @staticmethod
    def split(text: str) -> list[str]:
        """Return the words of a text."""
        return composed(text).split()

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return {"kind": self.kind, "words": list(self.units)}


def from_json(content: Mapping[str, Any]) -> Tokenizer:
    """Return the tokenizer that a part of tokenizer.json describes.

    Raises:
        ArgumentError: if its kind is not known, or it is not whole.

    Example:
        >>> from_json(Characters("ab").to_json()).encode("ba")
        [5, 4]
    """
    kind = content.get("kind")
    if kind == "bpe":
        return BytePairs.from_json(content)
    if kind == "words":
        return Words.from_json(content)
    if kind == SpacedWords.kind:
        return SpacedWords(_different(content["words"], list, "words"))
    if kind != "characters":
        known = "bpe, characters, words or spaced words"
        raise ArgumentError(f"tokenizer.json: expected a tokenizer of kind {known}, got kind {kind!r}")
    return Characters(_different(content["characters"], str, "characters"))


def _different(units: Any, kind: type[str] | type[list[str]], name: str) -> Sequence[str]:
    """The units of a tokenizer, each of which stands once: one string of characters, or a list of words."""
    whole = isinstance(units, kind) and all(isinstance(unit, str) for unit in units)
    if not whole or len(set(units)) != len(units):
        form = "one string" if kind is str else "a list of strings"
        raise ArgumentError(f"tokenizer.json: expected {name}, each of them once, as {form}")
    found: Sequence[str] = units
    return found


def one_line(text: str) -> str:
    r"""Return a text, composed (NFC), whose every line break is a space: a line is answered by a line.

    >>> one_line("a\r\nb\nc")
    'a b c'
    """
    return composed(text).replace("\r\n", " ").replace("\n", " ").replace("\r", " ")
