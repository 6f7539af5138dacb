"""The folder of a run: never deleted, never overwritten by another run, needing nothing outside itself.

config.json  tokenizer.json (or what else the task saves)  model.safetensors  checkpoints/
metrics.jsonl  results.json  results-test.json  pictures/
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from torch import Tensor

from saccade.errors import SaccadeError
from saccade.train.checkpoint import newest
from saccade.train.files import naming, read_json, write, write_json
from saccade.train.notes import say
from saccade.train.options import check_types, flag

__all__ = ["Run", "RunError", "beside", "folder_of"]

T = TypeVar("T")
_CONFIG = {"task": str, "model": str, "data": str, "options": dict, "saccade": str}
_RESULTS = {"steps": (int,), "seconds": (int, float), "metrics": (dict,), "validation": (dict,)}

_LINE = b'{"step": '  # how a line of metrics.jsonl begins


class RunError(SaccadeError):
    """A folder is no run, or a run of something else."""


@dataclass(frozen=True)
class Run:
    """A run's folder and what its config.json says.

    Args:
        folder: where it is.
        config: "task", "model", "data" (the fingerprint of the data), "options" (all of them), "saccade" (the version).
        recipe: the defaults that it was made with, where they were chosen by what was read of the data.
    """

    folder: Path
    config: Mapping[str, Any]
    recipe: Mapping[str, Any] | None = None

    @classmethod
    def open(cls, folder: Path) -> "Run":
        """Open a run that is there.

        Raises:
            RunError: if it is not, or if its config.json cannot be read.
        """
        if not folder.is_dir():
            raise RunError(f"{folder}: no such run; `saccade train` makes one")
        try:
            config = read_json(folder / "config.json")
            recipe = _typed("recipe", config["recipe"], dict) if "recipe" in config else None
            return cls(folder, {key: _typed(key, config[key], kind) for key, kind in _CONFIG.items()}, recipe)
        except FileNotFoundError as error:
            raise RunError(f"{folder}: not a run (it has no config.json)") from error
        except (ValueError, KeyError, TypeError) as error:
            raise RunError(f"{folder / 'config.json'}: not the configuration of a run ({error})") from error

    @classmethod
    def create(cls, folder: Path, config: Mapping[str, Any], save: Any) -> "Run":
        """Make a run's folder, whole or not at all.

        Args:
            folder: where; nothing or an empty folder is there.
            config: what config.json shall say.
            save: called with the folder to write more into it, such as the tokenizer.

        Raises:
            RunError: if something else is in the folder's place.
        """
        if (folder / "config.json").exists():
            raise RunError(f"{folder}: another process has just made this run; the same command goes on with it")
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise RunError(f"{folder}: it is there already and not a run; give another --run")
        place = folder.resolve()  # a link stays a link, to a run
        partial = place.with_name(f".{place.name}.{os.getpid()}.partial")
        try:
            partial.mkdir(parents=True)
            save(partial)
            write_json(partial / "config.json", dict(config))
            partial.rename(place)
        except BaseException as error:  # Ctrl-C too
            shutil.rmtree(partial, ignore_errors=True)
            if isinstance(error, OSError):
                error.filename, error.filename2 = str(folder), None  # not the one beside it, of which nobody knows
            raise
        return cls(folder, config)

    def options(self, kind: type[T]) -> T:
        """Return the run's options as the dataclass that they were parsed into.

        Raises:
            RunError: if there is one that this version does not know, or a value that it refuses.
        """
        saved, known = self.config["options"], {f.name for f in fields(kind)}  # type: ignore[arg-type]
        if unknown := sorted(set(saved) - known):
            version = self.config["saccade"]
            raise RunError(f"{self.folder}: made by another Saccade ({version}); this one has no option {unknown[0]}")
        try:
            check_types(kind, saved)
            return kind(**saved)
        except SaccadeError as error:
            raise RunError(f"{self.folder / 'config.json'}: {error}") from error

    @property
    def checkpoints(self) -> Path:
        """The folder of the run's checkpoints."""
        return self.folder / "checkpoints"

    def refuse_difference(self, task: str, identity: Mapping[str, Any], usual: Mapping[str, Any] | None = None) -> None:
        """Refuse to go on under another task, model or options than the run began with.

        Args:
            task: that is asked for.
            identity: the options that decide what is learned.
            usual: what options are where the run knows nothing of them, as they came later.

        Raises:
            RunError: naming the first difference, with the old and the new value.
        """
        old = {**(usual or {}), **self.config["options"], "task": self.config["task"]}
        for name, new in {"task": task, **identity}.items():
            if old.get(name) != new:
                self.refuse(name if name == "task" else flag(name), old.get(name), new)

    def refuse(self, what: str, old: object, new: object) -> NoReturn:
        """Refuse to go on with a run that was made otherwise."""
        way_out = "give another --run, or --no-resume to start beside it"
        raise RunError(f"{self.folder}: this run was made with {what} {old}, not {new}; {way_out}")

    @property
    def trained(self) -> bool:
        """Whether the model that training came to is there."""
        return (self.folder / "model.safetensors").exists()

    def weights(self) -> dict[str, Tensor]:
        """Return the trained model's tensors, from model.safetensors or else from the newest checkpoint.

        Raises:
            RunError: if there is neither, or all that is there is damaged.
        """
        from safetensors import SafetensorError
        from safetensors.torch import load

        try:
            return load((path := self.folder / "model.safetensors").read_bytes())
        except FileNotFoundError:
            return self._newest_weights()
        except SafetensorError as error:
            way_out = "move it away, and the same `saccade train` command makes it anew, without training"
            raise RunError(f"{path}: damaged ({error}); {way_out}") from error

    def _newest_weights(self) -> dict[str, Tensor]:
        """Those of the newest checkpoint that is whole, with a word where they are not what one may expect."""
        checkpoint, damaged = newest(self.checkpoints)
        if checkpoint is None and damaged:
            why = next(iter(damaged.values()))
            raise RunError(f"corrupt checkpoint: {why}, nor any other; the same `saccade train` command begins again")
        if checkpoint is None:
            raise RunError(f"{self.folder}: nothing is trained yet; the same `saccade train` command goes on")
        for error in damaged.values():
            say(f"corrupt checkpoint: {error}; using step {checkpoint.step}")
        if self.results() is not None:
            way_out = "the same `saccade train` command makes it anew, without training"
            say(f"{self.folder}: model.safetensors is gone; using the checkpoint of step {checkpoint.step}; {way_out}")
        return checkpoint.model

    def save_weights(self, tensors: dict[str, Tensor], step: int) -> None:
        """Write model.safetensors, with the step it is of."""
        from safetensors.torch import save

        write(self.folder / "model.safetensors", save(tensors, {"step": str(step)}))

    def results(self) -> dict[str, Any] | None:
        """Return what results.json says, None where it is not there or not whole."""
        try:
            results = read_json(self.folder / "results.json")
        except (FileNotFoundError, ValueError):
            return None
        whole = isinstance(results, dict) and all(isinstance(results.get(key), kind) for key, kind in _RESULTS.items())
        return results if whole else None

    def log(self, **measured: Any) -> None:
        """Append one line to metrics.jsonl."""
        path = self.folder / "metrics.jsonl"
        with naming(path), path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(measured) + "\n")

    def rewind_log(self, step: int) -> None:
        """Take back the lines of metrics.jsonl after a step: going on from there, the same will be measured again.

        A line that is cut short is taken back too; one that is not ours stays. Whatever is last gets its line's end.
        """
        path = self.folder / "metrics.jsonl"
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        kept = [line for line in lines if not _after(line, step)]
        if kept and not kept[-1].endswith(b"\n"):  # a kill came between a line and its end
            kept[-1] += b"\n"
        if kept != lines:
            write(path, b"".join(kept))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the run for this process; the system lets go of it however the process ends.

        Raises:
            RunError: if another process trains it.
        """
        with (self.folder / ".lock").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise RunError(f"{self.folder}: another process is training this run") from error
            yield


def _typed(key: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"{key}: expected {kind.__name__}, got {value!r:.60}")
    return value


def _after(line: bytes, step: int) -> bool:
    """Whether a line of metrics.jsonl was written after a step, or only half of it was."""
    try:
        measured = json.loads(line)
    except (ValueError, RecursionError):
        return not line.endswith(b"\n") and (line.startswith(_LINE) or _LINE.startswith(line))
    at = measured.get("step") if isinstance(measured, dict) else None
    return isinstance(at, int) and at > step


def folder_of(task: str, model: str, data: str, run: str | None = None) -> Path:
    """Return where a run is: in the folder that is named, else in one that is named after what it trains.

    >>> folder_of("translate", "luong", "corpora/de-en")
    PosixPath('runs/translate-de-en-luong')
    """
    return Path(run or f"runs/{task}-{Path(data).name}-{model}")


def beside(folder: Path) -> Path:
    """Return the first of run-2, run-3, ... that is not there, for a run that shall start beside another.

    >>> beside(Path("/no/such/run"))
    PosixPath('/no/such/run-2')
    """
    count = 2
    while (place := folder.with_name(f"{folder.name}-{count}")).exists():
        count += 1
    return place
