"""Names of other modules, imported when they are needed."""

import traceback
from importlib import import_module
from typing import Any

from saccade.errors import ArgumentError

_IMPORT = ("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>")  # files of Python's import


def find(where: str) -> Any:
    """Import "module:Name".

    Raises ArgumentError in one line with the file and line of an error, because the module may be a user's.
    """
    module, _, name = where.partition(":")
    try:
        return getattr(import_module(module), name)
    except (Exception, SystemExit) as error:
        machinery = (__file__, import_module.__code__.co_filename, *_IMPORT)
        frames = traceback.extract_tb(error.__traceback__)
        lines = [f"{frame.filename}:{frame.lineno}" for frame in frames if frame.filename not in machinery]
        if isinstance(error, SyntaxError):
            lines = [f"{error.filename}:{error.lineno}"]
        reason = ", ".join([" ".join(f"{type(error).__name__}: {error}".split()), *lines[-1:]])
        raise ArgumentError(f"expected module:Name, got {where} ({reason})") from error
