"""Notes to whoever sits at the terminal."""

import os
import sys

__all__ = ["say"]


def say(line: str) -> None:
    """Write a note to standard error; where several processes train together, the first speaks for all."""
    if "TORCHELASTIC_RUN_ID" not in os.environ or os.environ.get("RANK", "0") == "0":
        sys.stderr.write(line + "\n")
