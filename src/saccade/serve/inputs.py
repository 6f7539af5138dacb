"""Bodies of requests as inputs of a task and options of `saccade predict`."""

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from saccade._system.notes import caught
from saccade.data.media import attached
from saccade.errors import ArgumentError
from saccade.runs import Run
from saccade.serve.limits import Limits
from saccade.tasks.task import Job

__all__ = ["COSTLY", "NotJson", "Posed", "TooLarge", "example_input", "file_columns", "read_body"]

COSTLY = {"beam_size": 100, "nbest": 100, "rollouts": 100, "cells": 10_000}
"""Largest values of options that take memory."""
_LONGEST = 100_000  # characters of a text


class TooLarge(ArgumentError):
    """A request is larger than the server accepts."""


class NotJson(ArgumentError):
    """The body of a request is no JSON."""


class Posed(NamedTuple):
    """The inputs of a request, its options for the task, and notes on what was read."""

    inputs: list[Any]
    options: Any
    notes: list[str]


def read_body(run: Run, limits: Limits, body: bytes) -> Posed:
    """Read a request.

    Raises:
        NotJson: if the body is no JSON.
        TooLarge: for too many inputs, or a too long text.
        SaccadeError: if an option has no meaning, or an input could not be read.
    """
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NotJson(f"body: expected JSON, got another text ({error})") from error
    if not isinstance(content, dict) or not isinstance(inputs := content.pop("inputs", None), list):
        got = "an object without it" if isinstance(content, dict) else type(content).__name__
        raise ArgumentError(f"body: expected an object with a list of inputs, got {got}; {_for_example(run.task)}")
    if len(inputs) > limits.max_inputs:
        raise TooLarge(f"inputs: expected at most {limits.max_inputs}, got {len(inputs)}; ask several times")
    for name, limit in COSTLY.items():
        if isinstance(value := content.get(name), int) and value > limit:
            raise ArgumentError(f"{name}: expected at most {limit} of a server, got {value}")
    options = run.request("predict", content)
    notes = list[str]()
    with caught(notes.append):
        return Posed(_read(run.task, inputs), options, notes)


def file_columns(task: Job) -> Sequence[str]:
    """Return the names of the column of an input that holds a file, () if none does.

    Runs on stored features read names instead of files.
    """
    if getattr(task.codec, "store", None) is not None:
        return ()
    columns = [column.names for column in task.columns]
    if task.inputs == "files":
        return next(iter(columns), ("file",))
    return next((names for names in columns if task.task.file_column in names), ())


def example_input(task: Job) -> Any:
    """Return an input of a request, for people."""
    files, columns = file_columns(task), [column.names for column in task.columns]
    if files:
        return {**{names[0]: "..." for names in columns}, files[0]: "BASE64", "name": "a file"}
    if len(columns) > 1:
        return {names[0]: "..." for names in columns}
    points = getattr(task.codec, "points", ())  # of regression on rows
    encoding = getattr(task.codec, "encoding", None)
    if points and encoding is not None:
        return dict(zip(encoding.names, encoding.decode(points[0]), strict=True))
    return dict(zip(task.codec.features, points[0], strict=True)) if points else "a text"


def _for_example(task: Job) -> str:
    return f"for example {json.dumps({'inputs': [example_input(task)]}, ensure_ascii=False)}"


def _read(task: Job, inputs: Sequence[Any]) -> list[Any]:
    """Read inputs, and no file of this machine."""
    rows, files, columns = list[Any](), list[dict[str, bytes]](), file_columns(task)
    for number, row in enumerate(inputs, 1):
        row, file = _without_file(task, row, columns, number) if columns else (row, {})
        rows.append(row)
        files.append(file)
    try:
        lines = list(task.lines(rows))
    except ArgumentError as error:  # it reads no path of this machine
        expected = str(error).replace("a text or a path, or several", "a list of texts").replace(" or a path", "")
        raise ArgumentError(f"{expected.rstrip('.')}; {_for_example(task)}") from error
    items = list[Any]()
    for number, (line, file) in enumerate(zip(lines, files, strict=True), 1):
        if len(line) > _LONGEST:
            raise TooLarge(f"inputs: row {number}: expected at most {_LONGEST:,} characters, got {len(line):,}")
        with attached(file):
            items.append(task.read(line, number))
    return items


def _without_file(task: Job, row: Any, columns: Sequence[str], number: int) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return a row with the name of a file in its place, and the file by this name."""
    cells: Mapping[str, Any] = {columns[0]: row} if isinstance(row, str) else row
    where = f"inputs: row {number}"
    column = next((name for name in columns if name in cells), None) if isinstance(cells, dict) else None
    if column is None:
        expected = f"expected a file in base64, or an object with it as {columns[0]}"
        raise ArgumentError(f"{where}: {expected}, got neither; {_for_example(task)}")
    suffix = task.suffixes[0] if len(task.suffixes) == 1 else ""
    name = cells.get("name", f"input-{number}{suffix}")
    if not isinstance(name, str) or not name.isprintable() or name != name.strip() or not name:
        raise ArgumentError(f"{where}: name: expected a text in one line, got {name!r:.60}")
    try:
        content = base64.b64decode(cells[column], validate=True)
    except (TypeError, binascii.Error, ValueError) as error:
        raise ArgumentError(f"{where}: {column}: expected a file in base64, got another text ({error})") from error
    return {**cells, column: name}, {name: content}
