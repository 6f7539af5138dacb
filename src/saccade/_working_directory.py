"""A check of the working directory: without one, importing torch ends the process."""

import sys
from pathlib import Path

_PROGRAMS = ("saccade", "-m")  # argv[0] of the console script, and of `python -m` while it imports the package


def check() -> None:
    """Reject a removed working directory, at the command line by one line."""
    try:
        Path.cwd()
    except FileNotFoundError as error:
        message = "working directory: expected a folder that exists, got a removed one; cd to another"
        if Path(sys.argv[0]).name not in _PROGRAMS:
            raise FileNotFoundError(message) from error
        if sys.stderr is not None:
            sys.stderr.write(f"error: {message}\n")
        sys.exit(2)


check()
