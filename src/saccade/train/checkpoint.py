"""Checkpoints: two safetensors files a step, each with a digest of its content.

Each file is renamed into place once it is complete.

    checkpoints/step-00000500.safetensors        weights
    checkpoints/step-00000500.state.safetensors  tensors of the optimizer, and counters in the header
    checkpoints/best.safetensors                 weights of the best validation

The state is written last, so a checkpoint with a state is whole. One without its state is used for a mean of weights.
Nothing is a pickle: a checkpoint from anywhere can be opened without running its author's code.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from saccade._system.files import read, write
from saccade.errors import SaccadeError
from saccade.train.weights import deserialize, serialize

_KEPT = 2  # the newest, and one to fall back on
_NAME = re.compile(r"step-(\d{8,})(\.state)?\.safetensors")


@dataclass(frozen=True)
class Checkpoint:
    """All state that training resumes from: tensors by name, and the rest as JSON."""

    step: int
    model: dict[str, Tensor]
    optimizer: dict[str, Tensor]
    scalars: dict[str, Any]


class CorruptCheckpoint(SaccadeError):
    """A file of a checkpoint is missing, truncated or altered."""


def weights_file(folder: Path, step: int) -> Path:
    """Path of the weights of a step below a `checkpoints` folder."""
    return folder / f"step-{step:08d}.safetensors"


def state_file(folder: Path, step: int) -> Path:
    """Path of the optimizer and the counters of a step below a `checkpoints` folder."""
    return folder / f"step-{step:08d}.state.safetensors"


def save(folder: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint.

    A kill at any moment leaves all of it, or a file of weights without a state. The run writes that file again.
    """
    step, scalars = checkpoint.step, checkpoint.scalars
    folder.mkdir(parents=True, exist_ok=True)
    write(weights_file(folder, step), serialize(checkpoint.model, step=step, run=scalars.get("origin", "")))
    write(state_file(folder, step), serialize(checkpoint.optimizer, **{**scalars, "step": step}))


def save_best(folder: Path, weights: dict[str, Tensor], step: int, run: str) -> None:
    """Write the weights of the best validation so far."""
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "best.safetensors", serialize(weights, step=step, run=run))


def load(folder: Path, step: int) -> Checkpoint:
    """Read a checkpoint and verify both digests. Raises CorruptCheckpoint."""
    weights = load_weights(folder, step)
    optimizer, scalars = _read(state_file(folder, step))
    return Checkpoint(step, weights, optimizer, {name: value for name, value in scalars.items() if name != "step"})


def load_weights(folder: Path, step: int) -> dict[str, Tensor]:
    """Read the weights of a step and verify their digest. Raises CorruptCheckpoint."""
    return _read(weights_file(folder, step))[0]


def load_best(folder: Path, step: int) -> dict[str, Tensor]:
    """Read the weights of the best validation.

    Raises CorruptCheckpoint if they are damaged or of another step.
    """
    weights, about = _read(path := folder / "best.safetensors")
    if about.get("step") != step:
        raise CorruptCheckpoint(f"{path} is of step {about.get('step')}, not {step}")
    return weights


def list_steps(folder: Path, *, whole: bool = False) -> list[int]:
    """Steps with weights below a `checkpoints` folder in ascending order.

    With `whole` these are the steps with a state.
    """
    names = (path.name for path in folder.iterdir()) if folder.is_dir() else ()
    return sorted(int(match[1]) for match in map(_NAME.fullmatch, names) if match and bool(match[2]) == whole)


def newest(folder: Path) -> tuple[Checkpoint | None, dict[int, CorruptCheckpoint]]:
    """Return the newest readable checkpoint, and the errors of later ones by step."""
    damaged: dict[int, CorruptCheckpoint] = {}
    for step in reversed(list_steps(folder, whole=True)):
        try:
            return load(folder, step), damaged
        except CorruptCheckpoint as error:
            damaged[step] = error
    return None, damaged


def set_aside(folder: Path, step: int) -> None:
    """Rename the files of a damaged checkpoint.

    They may be all that is left of a run.
    """
    for path in filter(Path.exists, (state_file(folder, step), weights_file(folder, step))):
        count = 1
        while (aside := path.with_name(f"{path.name}.damaged-{count}")).exists():
            count += 1
        path.rename(aside)


def prune(folder: Path, needed: Collection[int] = ()) -> None:
    """Keep the two newest checkpoints, and the weights of the steps `needed`."""
    kept = list_steps(folder, whole=True)[-_KEPT:]
    for step in {*list_steps(folder), *list_steps(folder, whole=True)}:
        if kept and step < kept[0]:
            state_file(folder, step).unlink(missing_ok=True)
            if step not in needed:
                weights_file(folder, step).unlink(missing_ok=True)


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        return deserialize(read(path))
    except OSError as error:
        raise CorruptCheckpoint(f"{path} cannot be read ({error.strerror or error})") from error
    except ValueError as error:
        raise CorruptCheckpoint(f"{path} cannot be read ({error})") from error
