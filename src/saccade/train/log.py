"""metrics.jsonl: which of its lines are a run's own, and which of these are to be measured again."""

import json
import re
from typing import Any

__all__ = ["rewound"]

_BEGINS = re.compile(rb'\{"step": \d+, ')
_KEYS = (b'"loss": ', b'"final_validation_')  # what stands behind the step, along the way and at the end


def rewound(content: bytes, step: int, *, ended: bool = False) -> bytes:
    r"""Return the lines of metrics.jsonl without those that a run will write again when it goes on from a step.

    These are its own lines after the step, and a last one that is cut short. A line that somebody else wrote stays,
    whatever step it names. Whatever is last gets its line's end.

    Args:
        content: of the file.
        step: where the run goes on.
        ended: whether it is at its end there: the line that says what it came to will be written again too.

    Example:
        >>> rewound(b'{"step": 9, "loss": 1, "learning_rate": 1}\n{"step": 9, "lamp": "red"}\n{"step": 9, "lo', 5)
        b'{"step": 9, "lamp": "red"}\n'
    """
    kept = [line for line in content.splitlines(keepends=True) if not _written_again(line, step, ended)]
    if kept and not kept[-1].endswith(b"\n"):  # a kill came between a line and its end
        kept[-1] += b"\n"
    return b"".join(kept)


def _written_again(line: bytes, step: int, ended: bool) -> bool:
    try:
        measured = json.loads(line)
    except (ValueError, RecursionError):
        return not line.endswith(b"\n") and _torn(line)
    at = measured.get("step") if isinstance(measured, dict) else None
    if not isinstance(at, int):
        return False
    final = any(name.startswith("final_validation_") for name in measured)
    return (at > step and (final or _along_the_way(measured))) or (ended and final and at == step)


def _along_the_way(measured: dict[str, Any]) -> bool:
    return "loss" in measured and "learning_rate" in measured


def _torn(line: bytes) -> bool:
    """Whether a line that is cut short began as the run's own do."""
    start = _BEGINS.match(line)
    if start is None:
        return b'{"step": '.startswith(line) or re.fullmatch(rb'\{"step": \d+,?', line) is not None
    behind = line[start.end() :]
    return any(behind.startswith(key) or key.startswith(behind) for key in _KEYS)
