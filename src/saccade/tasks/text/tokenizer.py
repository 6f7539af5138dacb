"""Text to token ids and back, by characters, words or pieces of words; described by JSON that says which."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from saccade.errors import ArgumentError

__all__ = ["BEGIN", "END", "PADDING", "SPECIAL", "UNKNOWN", "Characters", "Tokenizer", "from_json"]

PADDING, BEGIN, END, UNKNOWN = range(4)
SPECIAL = 4  # ids below are no text


class Tokenizer(Protocol):
    """Text to token ids and back; the ids are 0 to 3 as above, and the tokens of text from 4 on."""

    unknowns: ClassVar[bool]
    """Whether there are texts that it does not know."""

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


class Characters:
    """One token a character (a Unicode code point, composed where Unicode composes: NFC).

    Args:
        characters: all that are known, in the order of their ids, from 4 on.

    Example:
        >>> tokenizer = Characters.learn(["cab", "bad"])
        >>> tokenizer.encode("dab?"), tokenizer.decode([7, 4, 5])
        ([7, 4, 5, 3], 'dab')
    """

    unknowns: ClassVar[bool] = True

    def __init__(self, characters: str) -> None:
        self.characters = characters
        self._ids = {character: number for number, character in enumerate(characters, SPECIAL)}

    @classmethod
    def learn(cls, texts: Iterable[str], size: int | None = None) -> "Characters":
        """Know the characters of some texts: the most frequent, so that there are at most `size` ids."""
        counts = Counter(character for text in texts for character in unicodedata.normalize("NFC", text))
        ranked = sorted(counts, key=lambda character: (-counts[character], character))
        return cls("".join(sorted(ranked if size is None else ranked[: size - SPECIAL])))

    def __len__(self) -> int:
        """How many ids there are."""
        return len(self.characters) + SPECIAL

    def pieces(self, text: str) -> list[str]:
        """Return the text of each token."""
        return list(unicodedata.normalize("NFC", text))

    def encode(self, text: str) -> list[int]:
        """Return token ids, without a begin or an end; a character that is not known is 3."""
        known = self._ids
        return [known.get(character, UNKNOWN) for character in unicodedata.normalize("NFC", text)]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text."""
        return [self.encode(text) for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of token ids; unknown is the replacement character, and other special ids are nothing."""
        return "".join(map(self.piece, ids))

    def piece(self, number: int) -> str:
        """Return the text of one token, as `decode` has it."""
        if number >= SPECIAL:
            return self.characters[number - SPECIAL]
        return "\N{REPLACEMENT CHARACTER}" if number == UNKNOWN else ""

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return {"kind": "characters", "normalization": "NFC", "characters": self.characters}


def from_json(content: Mapping[str, Any]) -> Tokenizer:
    """Return the tokenizer that a part of tokenizer.json describes.

    Raises:
        ArgumentError: if its kind is not known, or it is not whole.

    Example:
        >>> from_json(Characters("ab").to_json()).encode("ba")
        [5, 4]
    """
    from saccade.tasks.text.bpe import BytePairs
    from saccade.tasks.text.words import Words

    kind = content.get("kind")
    if kind == "words":
        return Words.from_json(content)
    if kind == "bpe":
        return BytePairs.from_json(content)
    if kind != "characters":
        raise ArgumentError(f"tokenizer.json: expected a tokenizer of kind bpe, characters or words, got kind {kind!r}")
    characters = content["characters"]
    if not isinstance(characters, str) or len(set(characters)) != len(characters):
        raise ArgumentError("tokenizer.json: expected characters, each of them once, as one string")
    return Characters(characters)
