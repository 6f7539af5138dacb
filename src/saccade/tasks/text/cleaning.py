"""What a text of one's own is brought to before it is a part of an example."""

from saccade.errors import ArgumentError

__all__ = ["cleaned"]

_MOST = 1 << 16  # characters


def cleaned(text: str, where: str) -> str:
    r"""Return a text with one space between two words.

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
    return " ".join(text.split())
