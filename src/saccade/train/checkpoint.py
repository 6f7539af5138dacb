"""Checkpoints: a folder of tensors (safetensors) and scalars (JSON) with checksums, renamed into place when whole.

    checkpoints/step-00000500/
        model.safetensors  optimizer.safetensors  state.json  checksums.json

Nothing in it is a pickle, so a checkpoint from anywhere can be opened without running its author's code.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from saccade.errors import SaccadeError
from saccade.train.files import encode, flushed

__all__ = [
    "Checkpoint",
    "CorruptCheckpoint",
    "list_checkpoints",
    "load",
    "newest",
    "prune",
    "save",
    "set_aside",
    "step_folder",
    "step_of",
]

_CONTENTS = ("model.safetensors", "optimizer.safetensors", "state.json")
_CHECKSUMS = "checksums.json"
_NAME = re.compile(r"step-\d{8,}")


@dataclass(frozen=True)
class Checkpoint:
    """All that training goes on from.

    Args:
        step: how many steps were taken.
        model: the model's tensors by name.
        optimizer: the optimizer's tensors, named "parameter number.name".
        scalars: everything else, as JSON has it.
    """

    step: int
    model: dict[str, Tensor]
    optimizer: dict[str, Tensor]
    scalars: dict[str, Any]


class CorruptCheckpoint(SaccadeError):
    """A checkpoint cannot be read, or is not what was written."""


def save(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint below `folder`; a kill at any moment leaves either all of it or nothing under its name.

    Args:
        folder: the run's `checkpoints` folder; made if it is not there.
        checkpoint: what to write.

    Returns:
        The checkpoint's own folder.

    Raises:
        OSError: if the disk is full or the folder cannot be written.
    """
    from safetensors.torch import save as serialize

    place = step_folder(folder, checkpoint.step)
    partial = folder / f".{place.name}.partial"
    contents = {
        "model.safetensors": serialize(checkpoint.model),
        "optimizer.safetensors": serialize(checkpoint.optimizer),
        "state.json": encode({**checkpoint.scalars, "step": checkpoint.step}),
    }
    contents[_CHECKSUMS] = encode({name: hashlib.sha256(content).hexdigest() for name, content in contents.items()})
    partial.mkdir(parents=True, exist_ok=True)  # a killed process may have left one: its files are written anew
    try:
        for name, content in contents.items():
            flushed(partial / name, content)
        partial.rename(place)
    except OSError:
        _remove(partial)  # a disk that is full has no room for half a checkpoint
        raise
    _flush_folder(folder)
    return place


def load(place: Path) -> Checkpoint:
    """Read a checkpoint and check every byte of it.

    Raises:
        CorruptCheckpoint: if a file is missing, cut short or altered.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load as deserialize

    try:
        checksums = json.loads((place / _CHECKSUMS).read_bytes())
        contents = {name: (place / name).read_bytes() for name in _CONTENTS}
        wrong = [name for name, content in contents.items() if hashlib.sha256(content).hexdigest() != checksums[name]]
        if wrong:
            raise CorruptCheckpoint(f"{place / wrong[0]} is not what was written")
        scalars = json.loads(contents["state.json"])
        model, optimizer = (deserialize(contents[f"{name}.safetensors"]) for name in ("model", "optimizer"))
        return Checkpoint(scalars.pop("step"), model, optimizer, scalars)
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise CorruptCheckpoint(f"{place} cannot be read ({error})") from error


def list_checkpoints(folder: Path) -> list[Path]:
    """Return the checkpoints below a run's `checkpoints` folder, oldest first, whole or not."""
    paths = folder.iterdir() if folder.is_dir() else ()
    return sorted((path for path in paths if _NAME.fullmatch(path.name)), key=step_of)


def step_folder(folder: Path, step: int) -> Path:
    """Return where the checkpoint of a step lies, or would."""
    return folder / f"step-{step:08d}"


def step_of(place: Path) -> int:
    """The step of a checkpoint, from its name."""
    return int(place.name.removeprefix("step-"))


def newest(folder: Path) -> tuple[Checkpoint | None, dict[Path, CorruptCheckpoint]]:
    """Return the newest checkpoint that is whole, and what is wrong with those after it."""
    damaged: dict[Path, CorruptCheckpoint] = {}
    for place in reversed(list_checkpoints(folder)):
        try:
            return load(place), damaged
        except CorruptCheckpoint as error:
            damaged[place] = error
    return None, damaged


def set_aside(place: Path) -> Path:
    """Rename a damaged checkpoint, so that its step can be written again: it may be all that somebody has.

    Returns:
        Its new place.
    """
    count = 1
    while (aside := place.with_name(f"{place.name}.damaged-{count}")).exists():
        count += 1
    return place.rename(aside)


def prune(folder: Path, needed: Callable[[Iterable[int]], set[int]] = lambda steps: set(), keep: int = 2) -> None:
    """Remove the oldest checkpoints.

    Args:
        folder: the run's `checkpoints` folder. No file in it that `save` did not write is touched.
        needed: says of the steps that are there which must stay whatever their age.
        keep: how many of the newest stay in any case.
    """
    whole = {step_of(place): place for place in list_checkpoints(folder) if (place / _CHECKSUMS).is_file()}
    staying = {*list(whole)[-keep:], *needed(whole)}
    for place in (place for step, place in whole.items() if step not in staying):
        _remove(place)


def _remove(place: Path) -> None:
    """Remove what `save` wrote, and the folder unless there is something else in it."""
    for file in _written(place):
        file.unlink()
    if not any(place.iterdir()):
        place.rmdir()


def _written(place: Path) -> Iterator[Path]:
    """The files of a checkpoint, its checksums last: while they are there, the rest can be told from a user's files."""
    for name in (*_CONTENTS, _CHECKSUMS):
        if (place / name).is_file():
            yield place / name


def _flush_folder(folder: Path) -> None:
    """Have the rename on the disk too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
