"""Text to token ids and back: characters now, described by JSON that says what kind it is."""

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from saccade.errors import ArgumentError

__all__ = ["BEGIN", "END", "PADDING", "UNKNOWN", "Characters", "from_json"]

PADDING, BEGIN, END, UNKNOWN = range(4)
_SPECIAL = 4  # ids below are no characters


class Characters:
    """One token a character (a Unicode code point, composed where Unicode composes: NFC).

    Args:
        characters: all that are known, in the order of their ids, from 4 on.

    Example:
        >>> tokenizer = Characters.learn(["cab", "bad"])
        >>> tokenizer.encode("dab?"), tokenizer.decode([7, 4, 5])
        ([7, 4, 5, 3], 'dab')
    """

    def __init__(self, characters: str) -> None:
        self.characters = characters
        self._ids = {character: number for number, character in enumerate(characters, _SPECIAL)}

    @classmethod
    def learn(cls, texts: Iterable[str]) -> "Characters":
        """Know the characters of some texts."""
        return cls("".join(sorted({character for text in texts for character in unicodedata.normalize("NFC", text)})))

    def __len__(self) -> int:
        """How many ids there are."""
        return len(self.characters) + _SPECIAL

    def pieces(self, text: str) -> list[str]:
        """Return the text of each token."""
        return list(unicodedata.normalize("NFC", text))

    def encode(self, text: str) -> list[int]:
        """Return token ids, without a begin or an end; a character that is not known is 3."""
        known = self._ids
        return [known.get(character, UNKNOWN) for character in unicodedata.normalize("NFC", text)]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of token ids; unknown is the replacement character, and other special ids are nothing."""
        return "".join(map(self._character, ids))

    def _character(self, number: int) -> str:
        if number >= _SPECIAL:
            return self.characters[number - _SPECIAL]
        return "\N{REPLACEMENT CHARACTER}" if number == UNKNOWN else ""

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return {"kind": "characters", "normalization": "NFC", "characters": self.characters}


def from_json(content: Mapping[str, Any]) -> Characters:
    """Return the tokenizer that a part of tokenizer.json describes.

    Raises:
        ArgumentError: if its kind is not known.

    Example:
        >>> from_json(Characters("ab").to_json()).encode("ba")
        [5, 4]
    """
    if content.get("kind") != "characters":
        raise ArgumentError(f"tokenizer.json: expected a tokenizer of characters, got kind {content.get('kind')!r}")
    characters = content["characters"]
    if not isinstance(characters, str) or len(set(characters)) != len(characters):
        raise ArgumentError("tokenizer.json: expected characters, each of them once, as one string")
    return Characters(characters)
