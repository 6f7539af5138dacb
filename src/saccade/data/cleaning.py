"""What every text is brought to before it is a part of an example, an input or an output."""

import unicodedata

from saccade.errors import ArgumentError

__all__ = ["LONGEST", "WIDEST", "cleaned", "composed", "front"]

WIDEST = 64
"""Characters a token: in a longer text the tokens that are read are all in front."""
LONGEST = 1 << 16
"""Characters of a text that is asked, answered or compared."""


def composed(text: str) -> str:
    r"""Return a text whose letters and their marks are one character each where Unicode has one (NFC).

    Two spellings of one text are then one text for models, vocabularies and metrics.

    Source:
        Unicode Standard Annex 15, "Unicode Normalization Forms" (https://unicode.org/reports/tr15).

    Example:
        >>> composed("cafe\u0301") == "caf\u00e9"
        True
    """
    return unicodedata.normalize("NFC", text)


def front(text: str, most: int) -> str:
    """Return the part of a text that is read for so many tokens, and a character more if the text goes on.

    >>> len(front("a" * 1000, 2))
    129
    """
    return text[: WIDEST * most + 1]


def cleaned(text: str, where: str) -> str:
    r"""Return a text, composed (NFC), with one space between two words.

    Args:
        text: white space in it is of no matter.
        where: it stands, for messages.

    Raises:
        ArgumentError: if it is none, since JSON can write half a character, or is longer than 65,536 characters.

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
