"""Reading back what a task saves in a run beside its weights."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from saccade._system.files import read_json
from saccade.errors import ArgumentError

__all__ = ["TOKENIZER", "labels_from", "reading", "whole_number"]

TOKENIZER = "tokenizer.json"
_MOST = 2**31  # beyond any length, rate or dimension


@contextmanager
def reading(path: Path, what: str) -> Iterator[Any]:
    """Give what a JSON file of a run says; whatever is wrong with it while the block reads it is one error.

    Args:
        path: the file.
        what: it holds, for the message.

    Raises:
        ArgumentError: naming the file.
    """
    try:
        yield read_json(path)
    except OSError as error:
        raise ArgumentError(f"{path}: expected {what} of this run, got {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ArgumentError(f"{path}: expected {what} of this run, got {error}") from error


def whole_number(content: Mapping[str, Any], name: str) -> int:
    """Return a number above 0.

    >>> whole_number({"longest_target": 9}, "longest_target")
    9
    """
    found = content[name]
    if type(found) is not int or not 0 < found < _MOST:
        raise ValueError(f"{name} {found!r:.60}")
    return found


def labels_from(content: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the labels of a run, two at the least.

    >>> labels_from({"labels": ["bad", "good"]})
    ('bad', 'good')
    """
    labels: Sequence[Any] = content["labels"]
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels) or len(labels) < 2:
        raise ValueError(f"labels {labels!r:.60}")
    return tuple(labels)
