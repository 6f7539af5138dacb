"""What every text is brought to before it is a part of an example, an input or an output."""

import unicodedata

from saccade.errors import ArgumentError

__all__ = ["cleaned", "composed"]

_MOST = 1 << 16  # characters


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
    if len(text) > _MOST:
        raise ArgumentError(f"{where}: expected a text of at most {_MOST} characters, got {len(text)}")
    return composed(" ".join(text.split()))
