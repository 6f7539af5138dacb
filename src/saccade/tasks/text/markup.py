"""HTML out of texts, as reviews from the web have it."""

import html
import re
from collections.abc import Iterator

__all__ = ["without_markup"]

_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


def without_markup(text: str) -> str:
    """Return a text without tags and comments, each a space, and with the characters that entities stand for.

    What only looks like a tag ("a < b", "<3") stays.

    >>> without_markup("Dull.<br /><br />The cast &amp; the <i>plot</i>: 1 < 2")
    'Dull.  The cast & the  plot : 1 < 2'
    """
    return html.unescape(_TAG.sub(" ", " ".join(_between_comments(text))))


def _between_comments(text: str) -> Iterator[str]:
    """The parts of a text; one that opens no comment, or never closes it, is one part.

    No regular expression: it would look for the end anew from each beginning, which of many takes minutes.
    """
    place = 0
    while (begin := text.find("<!--", place)) >= 0 and (end := text.find("-->", begin + 4)) >= 0:
        yield text[place:begin]
        place = end + 3
    yield text[place:]
