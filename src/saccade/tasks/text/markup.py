"""HTML out of texts, as reviews from the web have it."""

import html
import re

__all__ = ["without_markup"]

_TAG = re.compile(r"<!--.*?-->|</?[A-Za-z][^<>]*>", re.DOTALL)


def without_markup(text: str) -> str:
    """Return a text without tags and comments, each a space, and with the characters that entities stand for.

    What only looks like a tag ("a < b", "<3") stays.

    >>> without_markup("Dull.<br /><br />The cast &amp; the <i>plot</i>: 1 < 2")
    'Dull.  The cast & the  plot : 1 < 2'
    """
    return html.unescape(_TAG.sub(" ", text))
