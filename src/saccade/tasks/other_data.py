"""Other data than those of training, to measure a run on."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, make_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from saccade._system.notes import caught, say
from saccade.data.dataset import Lazy, counted
from saccade.data.objects import OBJECTS
from saccade.data.splits import undivided
from saccade.errors import ArgumentError, SaccadeError
from saccade.tasks.task import Job, Task

__all__ = ["OtherData", "measured_on", "reading_options"]

_NAMES = ("encoding", "decimal")
_ENDS = ("_column", "_split")


@dataclass(frozen=True, eq=False)
class OtherData:
    """Data to measure a run on.

    Their training split is that of the run. Baselines learn from it.

    Args:
        data: the data.
        training: the data of the run, or the error for data that are not there.
        given: options that the user gave for these data, `data` among them.
        whole: whether they have no splits, so that all examples are measured.
    """

    data: Any
    training: Callable[[], Any]
    given: Mapping[str, Any]
    whole: bool

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.data, name)
        if not callable(value):
            return value

        def of_split(*arguments: Any) -> Any:
            data = self.training() if arguments[:1] == ("train",) else self.data
            return getattr(data, name)(*arguments)

        return of_split

    def called(self, split: str) -> str:
        """Return the name of a split for people.

        >>> from saccade.data import Examples, Rows
        >>> rows = Rows({"test": ["a", "b"]}, "")
        >>> OtherData(Examples(rows, str), None, {"data": "a/fresh.csv"}, whole=True).called("test")
        '2 examples of fresh.csv'
        """
        size = self.data.size(split)
        examples = "examples" if size is None else counted(size, "examples")
        return f"{examples} of {Path(self.given['data']).name}{'' if self.whole else f' ({split})'}"


def measured_on(job: Job, located: Any, explicit: Mapping[str, Any], objects: Any, fingerprint: str) -> Job:
    """Return the job of a run with other data, opened at their first use.

    Moved data of the run keep their splits. Other data without splits of their own are measured as a whole.

    Args:
        job: the job, with the options in `explicit`.
        located: the options of the run, with the present place of its data.
        explicit: options that the user gave for the data, `data` among them.
        objects: the data, if they are Python objects.
        fingerprint: of the data of the run.
    """
    task, training = job.task, Lazy(lambda: _training(job.task, located, fingerprint))

    def opened() -> Any:
        with suppress(SaccadeError, OSError), caught(lambda note: None):
            data = task.lazy_data(job.settings, objects).get()
            if data.fingerprint == fingerprint or _is_same(explicit["data"], located.data):
                return data
        names = {name: explicit.get(name) for name in ("train_split", "validation_split", "test_split")}
        if explicit["data"] not in task.builtin:
            names |= getattr(job.codec, "opening", dict)()
        with undivided() as wholes:
            data = task.lazy_data(replace(job.settings, **names, held_out=None, fold=None), objects).get()
        if data.note:
            say(data.note)
        adapted = getattr(job.codec, "adapted", lambda other: other)(data)
        return OtherData(adapted, training.get, explicit, whole=bool(wholes))

    return replace(job, rows=Lazy(opened))


def _is_same(data: str, other: str) -> bool:
    return data != OBJECTS and os.path.realpath(data) == os.path.realpath(other)


def _training(task: Task, located: Any, fingerprint: str) -> Any:
    """The data of the run, or the reason why nothing can learn from them."""
    try:
        data = task.lazy_data(located, None).get()
    except (SaccadeError, OSError) as error:
        where = "here" if located.data == OBJECTS else f"at {located.data}"
        raise ArgumentError(f"they learn from the data of training, which are not {where}") from error
    if data.fingerprint != fingerprint:
        raise ArgumentError(f"they learn from the data of training, and others are at {located.data}")
    return data


@cache
def reading_options(options: type) -> type:
    """Return the options for reading files of data, for data to measure on.

    >>> from saccade.tasks import load_task
    >>> [field.name for field in fields(reading_options(load_task("tag-words").Options))]
    ['train_split', 'validation_split', 'test_split', 'encoding', 'words_column', 'tags_column']
    """
    kept = [option for option in fields(options) if option.name in _NAMES or option.name.endswith(_ENDS)]
    texts = "\n".join(f"    {item.name}: With --data, as of saccade train. Default: that of the run." for item in kept)
    return make_dataclass(
        "ReadingOptions",
        [(item.name, item.type, field(default=None)) for item in kept],
        namespace={"__doc__": f"Options of other data.\n\nArgs:\n{texts}\n", "__module__": options.__module__},
        frozen=True,
        kw_only=True,
    )
