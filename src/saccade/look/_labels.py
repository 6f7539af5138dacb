"""Labels of tokens. A letter and its marks are one label of one or more tokens."""

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

_ZERO_WIDTH_JOINER = "\u200d"
_JOINERS = ("\u200c", _ZERO_WIDTH_JOINER)
_THAI_LAO_AM = ("\u0e33", "\u0eb3")  # letters by category, half of each stands above the consonant before
#: Ties a consonant to the next: Devanagari, Bengali, Gujarati, Oriya, Telugu, Kannada, Malayalam, Myanmar, Khmer.
_LINKERS = "\u094d\u09cd\u0acd\u0b4d\u0c4d\u0ccd\u0d4d\u1039\u17d2"


class Label(NamedTuple):
    """A text that stands for tokens `start` to `stop` (exclusive)."""

    start: int
    stop: int
    text: str


def labels(tokens: Sequence[str]) -> list[Label]:
    """Group tokens of one written sign, so that each mark stays with its letter.

    The groups are the grapheme clusters of Unicode Standard Annex 29, as far as writing needs them: marks, joined
    emoji, conjuncts of the Indic scripts, syllables of separate Hangul letters.
    """
    before = ["", *tokens][: len(tokens)]
    starts = [i for i, token in enumerate(tokens) if not i or not _continues(before[i][-1:], token[:1])]
    stops = [*starts[1:], len(tokens)]
    return [Label(i, j, visible("".join(tokens[i:j]))) for i, j in zip(starts, stops, strict=False)]


def _continues(last: str, character: str) -> bool:
    """Whether a character is written as one with the one before it; "" is none."""
    if not last or not character or last.isspace():
        return False
    mark = unicodedata.category(character).startswith("M") or character in _JOINERS or character in _THAI_LAO_AM
    conjunct = last in _LINKERS and character.isalpha()
    syllable = "\u1160" <= character <= "\u11ff" and "\u1100" <= last <= "\u11ff"
    return mark or conjunct or syllable or last == _ZERO_WIDTH_JOINER or "\U0001f3fb" <= character <= "\U0001f3ff"


def visible(text: str) -> str:
    """A text with stand-ins for spaces and for characters that cannot be seen."""
    return plain(text).replace(" ", "␣")


def plain(text: str) -> str:
    r"""A text with stand-ins for characters that cannot be seen; its spaces stay.

    >>> plain("18 juin\t2025\u202b\x00")
    '18 juin␣2025··'
    """
    return "".join(c if c in _JOINERS or c.isprintable() else "␣" if c.isspace() else "·" for c in text)


def sentence(tokens: Sequence[str]) -> str:
    """The text of tokens of a character each, without its end; "" for longer tokens."""
    return "" if any(len(token) > 1 for token in tokens) else plain("".join(tokens).removesuffix("⏎"))


def right_to_left(text: str) -> bool:
    """Whether a text runs from right to left, by its first letter (Unicode Annex 9)."""
    directions = (unicodedata.bidirectional(character) for character in text)
    return next((direction for direction in directions if direction in ("L", "R", "AL")), "L") != "L"


def shortened(text: str, length: int = 40) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
