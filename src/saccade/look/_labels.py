"""Labels of tokens. A letter and its marks are one label of one or more tokens."""

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

ZERO_WIDTH_JOINER, ZERO_WIDTH_NON_JOINER = "\u200d", "\u200c"
END = "⏎"
JOINERS = (ZERO_WIDTH_JOINER, ZERO_WIDTH_NON_JOINER)
THAI_LAO_AM = ("\u0e33", "\u0eb3")  # letters by category, half of each stands above the consonant before
#: Ties a consonant to the next: Devanagari, Bengali, Gujarati, Oriya, Telugu, Kannada, Malayalam, Myanmar, Khmer.
LINKERS = "\u094d\u09cd\u0acd\u0b4d\u0c4d\u0ccd\u0d4d\u1039\u17d2"


class Label(NamedTuple):
    """A text that stands for tokens `start` to `stop` (exclusive)."""

    start: int
    stop: int
    text: str


def labels(tokens: Sequence[str]) -> list[Label]:
    """Group tokens of one written sign, so that each mark stays with its letter.

    The groups are the grapheme clusters of Unicode Standard Annex 29, as far as writing needs them: marks, joined
    emoji, conjuncts of the Indic scripts, syllables of separate Hangul letters.

    Args:
        tokens: characters, pieces of words or words, in logical order.

    Returns:
        One label or more tokens each, in order and without gaps; unprintable characters have stand-ins.

    Example:
        >>> [label.text for label in labels("जून 5")]
        ['जू', 'न', '␣', '5']
        >>> labels(["Un", " chat"])
        [Label(start=0, stop=1, text='Un'), Label(start=1, stop=2, text='␣chat')]
    """
    before = ["", *tokens][: len(tokens)]
    starts = [i for i, token in enumerate(tokens) if not i or not _continues(before[i][-1:], token[:1])]
    stops = [*starts[1:], len(tokens)]
    texts = ("".join(map(visible, "".join(tokens[i:j]))) for i, j in zip(starts, stops, strict=True))
    return list(map(Label, starts, stops, texts))


def _continues(last: str, character: str) -> bool:
    """Whether a character is written as one with the one before it; "" is none."""
    if not last or not character or last.isspace():
        return False
    mark = unicodedata.category(character).startswith("M") or character in JOINERS or character in THAI_LAO_AM
    conjunct = last in LINKERS and character.isalpha()
    syllable = "\u1160" <= character <= "\u11ff" and "\u1100" <= last <= "\u11ff"
    return mark or conjunct or syllable or last == ZERO_WIDTH_JOINER or "\U0001f3fb" <= character <= "\U0001f3ff"


def visible(character: str) -> str:
    r"""A character, or a stand-in for one that cannot be seen.

    >>> [visible(character) for character in " \u202b\x00-"]
    ['␣', '·', '·', '-']
    """
    if character.isspace():
        return "␣"
    return character if character in JOINERS or character.isprintable() else "·"


def sentence(tokens: Sequence[str]) -> str:
    """The text of tokens of one character each, "" if a token is longer.

    The sign of its end, "⏎", is no part of a text.

    >>> sentence(list("18 juin⏎")), sentence(["18", "juin"])
    ('18 juin', '')
    """
    if any(len(token) > 1 for token in tokens):
        return ""
    return plain("".join(tokens).removesuffix(END))


def plain(text: str) -> str:
    r"""A text with stand-ins for characters that cannot be seen; its spaces stay.

    >>> plain("18 juin\t2025\x00")
    '18 juin␣2025·'
    """
    return "".join(character if character == " " else visible(character) for character in text)


def right_to_left(text: str) -> bool:
    """Whether a text runs from right to left, by its first letter (Unicode Annex 9).

    >>> right_to_left("18 ביוני"), right_to_left("18 juin")
    (True, False)
    """
    directions = (unicodedata.bidirectional(character) for character in text)
    return next((direction for direction in directions if direction in ("L", "R", "AL")), "L") != "L"
