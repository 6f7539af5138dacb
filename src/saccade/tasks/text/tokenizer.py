"""Tokenizers of characters, words and pieces of words, saved as JSON."""

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
    """From text to token ids and back. Ids below 4 are special."""

    unknowns: ClassVar[bool]
    """Whether some texts have unknown tokens."""
    joint: ClassVar[str]
    """Separator of tokens in a text."""

    def __len__(self) -> int:
        """Return the number of ids."""

    def encode(self, text: str) -> list[int]:
        """Return token ids, without a begin or an end."""

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text."""

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of token ids."""

    def piece(self, number: int) -> str:
        r"""Return the text of a token.

        It is "" for a special one, and has bytes such as \xf0 for part of a character.
        """

    def pieces(self, text: str) -> list[str]:
        """Return the text of each token of a text, as people read it."""

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""


class _Units(ABC):
    """Unchanged parts of a text as tokens.

    Args:
        units: the vocabulary, in the order of ids from 4 on.
    """

    unknowns: ClassVar[bool] = True
    kind: ClassVar[str]
    joint: ClassVar[str]

    def __init__(self, units: Sequence[str]) -> None:
        self.units = tuple(units)
        self._ids = {unit: number for number, unit in enumerate(self.units, SPECIAL)}

    @classmethod
    def learn(cls, texts: Iterable[str], size: int | None = None) -> Self:
        """Learn the most frequent units of texts, for at most `size` ids."""
        counts = Counter(chain.from_iterable(map(cls.split, texts)))
        ranked = sorted(counts, key=lambda unit: (-counts[unit], unit))
        return cls(sorted(ranked if size is None else ranked[: size - SPECIAL]))

    @staticmethod
    @abstractmethod
    def split(text: str) -> list[str]:
        """Return the units of a text."""

    def __len__(self) -> int:
        """Return the number of ids."""
        return len(self.units) + SPECIAL

    def pieces(self, text: str) -> list[str]:
        """Return the text of each token."""
        return self.split(text)

    def encode(self, text: str) -> list[int]:
        """Return token ids, without begin and end, 3 for an unknown unit."""
        return self.numbers(self.split(text))

    def numbers(self, pieces: Iterable[str]) -> list[int]:
        """Return the ids of units."""
        return list(map(self._ids.get, pieces, repeat(UNKNOWN)))

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text."""
        return [self.encode(text) for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of token ids.

        An unknown token is U+FFFD, and other special ids are left out.
        """
        return self.joint.join(filter(None, map(self.piece, ids)))

    def piece(self, number: int) -> str:
        """Return the text of a token, as `decode` has it."""
        if number >= SPECIAL:
            return self.units[number - SPECIAL]
        return "\N{REPLACEMENT CHARACTER}" if number == UNKNOWN else ""


class Characters(_Units):
    """A token for each character, a code point of the text in NFC.

    Args:
        units: the vocabulary, in the order of ids from 4 on.

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
    """A token for each word between white space, in NFC.

    Args:
        units: the vocabulary, in the order of ids from 4 on.

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
        ArgumentError: if its kind is unknown, or a part is missing.

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
        kinds = "bpe, characters, words or spaced words"
        raise ArgumentError(f"tokenizer.json: expected a tokenizer of kind {kinds}, got kind {kind!r}")
    return Characters(_different(content["characters"], str, "characters"))


def _different(units: Any, kind: type[str] | type[list[str]], name: str) -> Sequence[str]:
    """Return the units of a tokenizer, a string or a list, each of them once."""
    whole = isinstance(units, kind) and all(isinstance(unit, str) for unit in units)
    if not whole or len(set(units)) != len(units):
        form = "one string" if kind is str else "a list of strings"
        raise ArgumentError(f"tokenizer.json: expected {name}, each of them once, as {form}")
    return units  # type: ignore[no-any-return]


def one_line(text: str) -> str:
    r"""Return a text in NFC with a space for each line break.

    >>> one_line("a\r\nb\nc")
    'a b c'
    """
    return composed(text).replace("\r\n", " ").replace("\n", " ").replace("\r", " ")
