"""Docstrings for Markdown: doctests as code, an entry for each parameter."""

import re
from typing import Any

import griffe

_DOCTEST = re.compile(r"^(?P<indent> *)>>> .*(?:\n(?P=indent)\S.*|\n(?P=indent) +\S.*)*", flags=re.M)
_PARAMETERS = re.compile(r"^    (\w+(?:, \w+)+)(: .*(?:\n {5,}\S.*)*)", flags=re.M)
_SENTENCE = re.compile(r"^(?:Args|Raises):\s+[Aa]s (?=.)", flags=re.M)


class Doctests(griffe.Extension):
    """Fences around doctests, with sections for Griffe's parser."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of an object as it is loaded."""
        if obj.docstring is not None:
            text = _PARAMETERS.sub(_apart, obj.docstring.value)
            text = _SENTENCE.sub("Arguments and errors are as ", text)
            obj.docstring.value = _DOCTEST.sub(r"\g<indent>```pycon\n\g<0>\n\g<indent>```", text)


def _apart(entry: re.Match[str]) -> str:
    names, description = entry.groups()
    return "\n".join(f"    {name}{description}" for name in names.split(", "))
