"""Texts of examples, inputs and outputs: composed, with single spaces."""

import unicodedata

from saccade.errors import ArgumentError

__all__ = ["LONGEST", "WIDEST", "cleaned", "composed", "front"]

WIDEST = 64
"""Characters of a token, at most, where a text is cut in front of the tokenizer."""
LONGEST = 1 << 16
"""Characters of a text, at most."""


def composed(text: str) -> str:
    r"""Return a text in Unicode's normal form C: a letter and its accents are one character.

    Source:
        Unicode Standard Annex 15, "Unicode Normalization Forms" (https://unicode.org/reports/tr15).

    Example:
        >>> composed("cafe\u0301") == "caf\u00e9"
        True
    """
    return unicodedata.normalize("NFC", text)


def front(text: str, most: int) -> str:
    """Return the start of a text that has the first `most` tokens, and a character more if the text goes on.

    >>> len(front("a" * 1000, 2))
    129
    """
    return text[: WIDEST * most + 1]


def cleaned(text: str, where: str) -> str:
    r"""Return a text, composed (NFC), with one space between two words.

    Args:
        text: the text, with any white space.
        where: its place, for messages.

    Raises:
        ArgumentError: if it has half a surrogate pair, as in JSON, or more than 65,536 characters.

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
