"""Normalization of texts: Unicode form C and single spaces."""

import unicodedata

from saccade.errors import ArgumentError

__all__ = ["LONGEST", "WIDEST", "cleaned", "composed", "front"]

WIDEST = 64
"""Largest number of characters of a token, if a text is cut before the tokenizer."""
LONGEST = 1 << 16
"""Largest number of characters of a text."""


def composed(text: str) -> str:
    r"""Return a text in Unicode normal form C: letter and accents are one character.

    Source:
        Unicode Standard Annex 15, "Unicode Normalization Forms" (https://unicode.org/reports/tr15).

    Example:
        >>> composed("cafe\u0301") == "caf\u00e9"
        True
    """
    return unicodedata.normalize("NFC", text)


def front(text: str, limit: int) -> str:
    """Return the start of a text, long enough for its first `limit` tokens.

    A longer text keeps one further character, so that its length shows that it goes on.

    >>> len(front("a" * 1000, 2))
    129
    """
    return text[: WIDEST * limit + 1]


def cleaned(text: str, where: str) -> str:
    r"""Return a text in normal form C, with one space between words.

    Args:
        text: the text, with any white space.
        where: its place, for messages.

    Raises:
        ArgumentError: if it has half a surrogate pair, for example from JSON, or more than 65,536 characters.

    Example:
        >>> cleaned(" what\t is it\n", "line 1")
        'what is it'
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(f"{where}: expected a text, got half a character ({error.reason})") from error
    if len(text) > LONGEST:
        raise ArgumentError(f"{where}: expected a text of at most {LONGEST} characters, got {len(text)}")
    return composed(" ".join(text.split()))
