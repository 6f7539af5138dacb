"""Files of a task in a run, beside the weights."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from saccade._system.files import read_json
from saccade.errors import ArgumentError

__all__ = ["TOKENIZER", "labels_from", "reading", "whole_number"]

TOKENIZER = "tokenizer.json"
_LARGEST = 2**31  # above any length, rate or dimension


@contextmanager
def reading(path: Path, what: str, load: Callable[[Path], Any] = read_json) -> Iterator[Any]:
    """Yield the content of a file of a run, as a context.

    Errors of the file, and errors of the block about its content, become an ArgumentError.

    Args:
        path: the file.
        what: its content, for the message.
        load: from the path to the content.

    Raises:
        ArgumentError: for an invalid file, with its path.
    """
    try:
        yield load(path)
    except OSError as error:
        raise ArgumentError(f"{path}: expected {what} of this run, got {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, SafetensorError) as error:
        raise ArgumentError(f"{path}: expected {what} of this run, got {error}") from error


def whole_number(content: Mapping[str, Any], name: str) -> int:
    """Return an integer above 0.

    >>> whole_number({"longest_target": 9}, "longest_target")
    9
    """
    number = content[name]
    if type(number) is not int or not 0 < number < _LARGEST:
        raise ValueError(f"{name} {number!r:.60}")
    return number


def labels_from(content: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the labels of a run, two or more.

    >>> labels_from({"labels": ["bad", "good"]})
    ('bad', 'good')
    """
    labels: Sequence[Any] = content["labels"]
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels) or len(labels) < 2:
        raise ValueError(f"labels {labels!r:.60}")
    return tuple(labels)
