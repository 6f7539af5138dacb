"""The fields of JSON objects that a user's files hold, each of the type it has to be of."""

from collections.abc import Mapping
from typing import Any

from saccade.errors import ArgumentError

__all__ = ["text", "whole_number"]


def text(content: Mapping[str, Any], name: str, where: str) -> str:
    """Return a field that has to be a text.

    Args:
        content: the object.
        name: of the field.
        where: the object stands, for messages.

    Raises:
        ArgumentError: if it is missing, or of another type.

    Example:
        >>> text({"question": "is it red?"}, "question", "questions 1")
        'is it red?'
    """
    if not isinstance(found := content.get(name), str):
        raise ArgumentError(f"{where}: expected a text called {name}, got {found!r:.60}")
    return found


def whole_number(content: Mapping[str, Any], name: str, where: str) -> int:
    """Return a field that has to be a whole number, which true and false are not.

    Args:
        content: the object.
        name: of the field.
        where: the object stands, for messages.

    Raises:
        ArgumentError: if it is missing, or of another type.

    Example:
        >>> whole_number({"question_id": 90}, "question_id", "questions 1")
        90
    """
    if type(found := content.get(name)) is not int:
        raise ArgumentError(f"{where}: expected a whole number called {name}, got {found!r:.60}")
    return found
