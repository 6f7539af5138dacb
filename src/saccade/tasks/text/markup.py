"""Texts without HTML."""

import html
import re
from collections.abc import Iterator

__all__ = ["without_markup"]

_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


def without_markup(text: str) -> str:
    """Return a text without HTML.

    Tags and comments become spaces, and entities their characters. Other signs stay, for example "a < b" and "<3".

    >>> without_markup("Dull.<br /><br />The cast &amp; the <i>plot</i>: 1 < 2")
    'Dull.  The cast & the  plot : 1 < 2'
    """
    return html.unescape(_TAG.sub(" ", " ".join(_between_comments(text))))


def _between_comments(text: str) -> Iterator[str]:
    """Parts of a text between comments. A comment without an end is text.

    A regular expression would search for the end from each beginning, which takes minutes if there are many.
    """
    start = 0
    while (begin := text.find("<!--", start)) >= 0 and (end := text.find("-->", begin + 4)) >= 0:
        yield text[start:begin]
        start = end + 3
    yield text[start:]
