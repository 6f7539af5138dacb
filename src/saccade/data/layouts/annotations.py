"""JSON files with lists of objects: images, captions and answers of COCO and VQA."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from saccade.data.media import read_bytes
from saccade.data.table import Row, Table
from saccade.errors import ArgumentError

__all__ = ["filled", "objects", "read_objects"]

_MOST_BYTES = 1 << 30
_KINDS = {str: "a text", int: "a whole number", list: "a list"}


def read_objects(path: Path, holds: str) -> dict[str, Any]:
    """Return the object in a JSON file, for example captions.

    Raises:
        ArgumentError: if it is no object.
        OSError: if the file cannot be read.
    """
    data = read_bytes(path, str(path), f"{holds} in JSON", _MOST_BYTES, f"leave out everything but {holds}")
    try:
        content = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"{path}: expected {holds} in JSON, got another text ({error})") from error
    if not isinstance(content, dict):
        raise ArgumentError(f"{path}: expected a JSON object with {holds}, got {type(content).__name__}")
    return content


def objects(content: Mapping[str, Any], name: str, where: object, **fields: type) -> Iterator[tuple[str, Any]]:
    """Yield the position and the content of each object of a list.

    Args:
        content: the object with the list.
        name: key of the list.
        where: the file, for messages.
        fields: required fields of each object, and their kinds: str, int or list.

    Raises:
        ArgumentError: for an invalid object, with its position.

    Example:
        >>> list(objects({"questions": [{"question_id": 7}]}, "questions", "a.json", question_id=int))
        [('a.json: questions 1', {'question_id': 7})]
    """
    items = content.get(name)
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ArgumentError(f"{where}: expected a list of objects called {name}, got {items!r:.60}")
    for number, item in enumerate(items, 1):
        position = f"{where}: {name} {number}"
        for field, kind in fields.items():
            if type(item.get(field)) is not kind:
                raise ArgumentError(f"{position}: expected {_KINDS[kind]} called {field}, got {item.get(field)!r:.60}")
        yield position, item


def filled(rows: list[tuple[str, Row]], column: str, source: Path, *notes: str) -> Table:
    """Return a table of rows and their positions, without rows of a blank text.

    >>> table = filled([("row 1", {"caption": " "}), ("row 2", {"caption": "a dog"})], "caption", Path("a.txt"))
    >>> table.note, table.where(0)
    ('a.txt: left out 1 of 2 captions, which are empty; the first is row 1', 'row 2')
    """
    kept = [(position, row) for position, row in rows if row[column].strip()]
    first = next((position for position, row in rows if not row[column].strip()), "")
    count = f"left out {len(rows) - len(kept)} of {len(rows)} {column}s"
    note = "; ".join(
        filter(None, [*notes, f"{source}: {count}, which are empty; the first is {first}" if first else ""])
    )
    return Table([row for _, row in kept], [position for position, _ in kept].__getitem__, note=note, size=len(kept))
