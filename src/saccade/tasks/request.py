"""Requests: options of the verbs "predict", "eval" and "look"."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from saccade.data.objects import OBJECTS

__all__ = ["NoOptions", "changes", "completed", "results_name"]

R = TypeVar("R")

_LONGEST = 180  # largest number of bytes of a request in a file name, of 255 in all


@dataclass(frozen=True, kw_only=True)
class NoOptions:
    """Options of a verb: none."""


def completed(kind: type[R], request: Any) -> R:
    """Convert the request of another verb to a kind with all its fields.

    >>> from saccade.tasks.generate.request import EvalRequest, Request
    >>> completed(Request, EvalRequest(beam_size=5)).beam_size, completed(Request, None).nbest
    (5, 1)
    """
    return request if isinstance(request, kind) else kind(**({} if request is None else asdict(request)))


def changes(request: Any) -> dict[str, Any]:
    """Return the options of a request that differ from their defaults."""
    defaults = asdict(type(request)())
    return {name: value for name, value in asdict(request).items() if value != defaults[name]}


def results_name(split: str, unusual: Mapping[str, Any], folder: Path) -> str:
    """Return the name of a file of results, without suffix.

    A long request becomes a hash.

    >>> results_name("test", {"beam_size": 2}, Path("runs/a"))
    'results-test-beam-size-2'
    """
    words = "-".join(_words(unusual, folder))
    if len(content := os.fsencode(words)) > _LONGEST:
        words = f"asked-{hashlib.blake2b(content, digest_size=8).hexdigest()}"
    return "-".join(filter(None, [f"results-{split}", words]))


def _words(unusual: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """Yield words of a request for a file name. Paths start at `folder.parent`."""
    for name, value in unusual.items():
        for item in value if name == "ensemble" else [value]:
            yield name.replace("_", "-")
            if name == "ensemble" or (name == "data" and item != OBJECTS):
                path = os.path.relpath(Path(item).resolve(), folder.resolve().parent)
                yield path.replace("%", "%25").replace(os.sep, "%2F")
            elif value is not True:
                yield str(item)
