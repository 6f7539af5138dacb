"""Checkpoints: a folder of tensors (safetensors) and scalars (JSON) with checksums, renamed into place when whole.

    checkpoints/step-00000500/
        model.safetensors  optimizer.safetensors  state.json  checksums.json

One that is kept for its weights alone, since the trained model is or may be made of them, has no optimizer. Nothing in
it is a pickle, so a checkpoint from anywhere can be opened without running its author's code.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from saccade.errors import SaccadeError
from saccade.train.files import encode, flushed, left_over, read, read_json, told, write
from saccade.train.weights import deserialize, serialize

__all__ = [
    "Checkpoint",
    "CorruptCheckpoint",
    "clear",
    "holding",
    "list_checkpoints",
    "load",
    "newest",
    "prune",
    "repaired",
    "save",
    "set_aside",
    "step_folder",
    "step_of",
]

_MODEL, _OPTIMIZER, _STATE = "model.safetensors", "optimizer.safetensors", "state.json"
_CONTENTS = (_MODEL, _OPTIMIZER, _STATE)
_CHECKSUMS = "checksums.json"
_NAME = re.compile(r"step-\d{8,}")
_PARTIAL = re.compile(r"\.step-\d{8,}\.partial")


@dataclass(frozen=True)
class Checkpoint:
    """All that training goes on from.

    Args:
        step: how many steps were taken.
        model: the model's tensors by name.
        optimizer: the optimizer's tensors, named "parameter number.name"; none if its weights alone were kept.
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
    from safetensors.torch import save as serialized

    place = step_folder(folder, checkpoint.step)
    partial = folder / f".{place.name}.partial"
    contents = {
        _MODEL: serialize(checkpoint.model, checkpoint.step, checkpoint.scalars.get("origin", "")),
        _OPTIMIZER: serialized(checkpoint.optimizer),
    }
    state = {**checkpoint.scalars, "step": checkpoint.step}
    checksums = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    contents[_STATE] = encode({**state, _CHECKSUMS: checksums})  # each has what the other says: see `repaired`
    checksums[_STATE] = hashlib.sha256(contents[_STATE]).hexdigest()
    contents[_CHECKSUMS] = encode({**checksums, "copy": state})
    partial.mkdir(parents=True, exist_ok=True)  # a killed process may have left one: its files are written anew
    try:
        for name, content in contents.items():
            flushed(partial / name, content)
        if place.is_dir():  # weights alone, of a step that is trained again as no whole checkpoint was left
            _remove(place)
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
    try:
        checksums = read_json(place / _CHECKSUMS)
        names = [name for name in _CONTENTS if name != _OPTIMIZER or name in checksums]
        contents = {name: read(place / name) for name in names}
        wrong = [name for name, content in contents.items() if hashlib.sha256(content).hexdigest() != checksums[name]]
        if wrong:
            raise CorruptCheckpoint(f"{place / wrong[0]} is not what was written")
        return _decoded(contents, json.loads(contents[_STATE]))
    except OSError as error:
        raise CorruptCheckpoint(f"{place} cannot be read ({told(error)})") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptCheckpoint(f"{place} cannot be read ({error})") from error


def repaired(place: Path, spare: Path) -> Checkpoint | None:
    """Return a damaged checkpoint whose other files say what the damaged one said, None if they do not.

    The state and the checksums stand in one another's file too, and the trained model may have the same weights: a run
    that is at its end keeps one checkpoint, and a wrong byte in one of these shall not cost it.

    Args:
        place: the checkpoint.
        spare: a file that has its weights too, perhaps.
    """
    checksums, state = _json(place / _CHECKSUMS), _json(place / _STATE)
    try:
        known = checksums or state[_CHECKSUMS]
        contents = {name: _with_digest(known[name], place / name, spare) for name in (_MODEL, _OPTIMIZER)}
        return _decoded(contents, dict(checksums.get("copy", state)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _with_digest(digest: str, *paths: Path) -> bytes:
    """The content of the first of some files that has a digest."""
    for path in paths:
        if path.is_file() and hashlib.sha256(content := read(path)).hexdigest() == digest:
            return content
    raise ValueError("none")


def _decoded(contents: Mapping[str, bytes], state: dict[str, Any]) -> Checkpoint:
    from safetensors import SafetensorError
    from safetensors.torch import load as deserialized

    try:
        optimizer = deserialized(contents[_OPTIMIZER]) if _OPTIMIZER in contents else {}
    except SafetensorError as error:
        raise ValueError(str(error)) from error
    state.pop(_CHECKSUMS, None)
    return Checkpoint(_step(state.pop("step")), deserialize(contents[_MODEL])[0], optimizer, state)


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
    """Return the newest checkpoint that can be gone on from, and what is wrong with those after it."""
    damaged: dict[Path, CorruptCheckpoint] = {}
    for place in reversed(list_checkpoints(folder)):
        if _weights_alone(place):
            continue
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
    """Remove the oldest checkpoints, and of those whose weights are needed yet the optimizer.

    Args:
        folder: the run's `checkpoints` folder. No file in it that `save` did not write is touched.
        needed: says of the steps that are there of which the weights must stay whatever their age.
        keep: how many of the newest stay as they are.
    """
    whole = {step_of(place): place for place in list_checkpoints(folder) if (place / _CHECKSUMS).is_file()}
    weights = needed(whole)
    for step in list(whole)[:-keep]:
        if step in weights:
            _keep_weights(whole[step])
        else:
            _remove(whole[step])


def clear(folder: Path) -> None:
    """Remove what processes that were killed left half written; only who has the run's lock may ask for it."""
    for path in list(folder.iterdir()) if folder.is_dir() else ():
        if _PARTIAL.fullmatch(path.name) and path.is_dir():
            _remove(path)
    for place in list_checkpoints(folder):
        for path in left_over(place, [_CHECKSUMS]):
            path.unlink()


def holding(folder: Path, content: bytes) -> Path | None:
    """Return the file of weights below a run's `checkpoints` folder that has some content, None if there is none."""
    digest = hashlib.sha256(content).hexdigest()
    for place in reversed(list_checkpoints(folder)):
        path = place / _MODEL
        if _json(place / _CHECKSUMS).get(_MODEL) == digest and path.is_file() and read(path) == content:
            return path
    return None


def _keep_weights(place: Path) -> None:
    """Take the optimizer out of a checkpoint; killed in between, it is one without, which has a file too many.

    One whose checksums cannot be read stays as it is.
    """
    checksums = _json(place / _CHECKSUMS)
    if not checksums:
        return
    if checksums.pop(_OPTIMIZER, None) is not None:
        write(place / _CHECKSUMS, encode(checksums))
    (place / _OPTIMIZER).unlink(missing_ok=True)


def _weights_alone(place: Path) -> bool:
    """Whether a checkpoint was kept for its weights; one that cannot be read was not."""
    checksums = _json(place / _CHECKSUMS)
    return _MODEL in checksums and _OPTIMIZER not in checksums


def _json(path: Path) -> dict[str, Any]:
    """What a file says; nothing where it cannot be read, which `load` will say."""
    try:
        found = read_json(path)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _step(number: object) -> int:
    if type(number) is not int or number < 0:
        raise ValueError(f"state.json: step: expected a whole number, got {number!r:.60}")
    return number


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
