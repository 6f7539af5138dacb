"""The folder of a run. It is complete in itself.

It is never deleted, and no other run overwrites it. Its files are:

    config.json  tokenizer.json (or other files of the task)  model.safetensors  checkpoints/
    metrics.jsonl  results.json  results-test.json  pictures/
"""

import hashlib
import json
import shutil
import stat
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from torch import Tensor

from saccade._system.files import held, left_over, naming, read, read_json, write, write_json
from saccade._system.notes import say
from saccade.errors import SaccadeError
from saccade.train.checkpoint import newest
from saccade.train.options import before, check_types, fits, flag, paths
from saccade.train.task import values
from saccade.train.weights import deserialize, not_finite, serialize

T = TypeVar("T")
_CONFIG = {"task": str, "model": str, "data": str, "options": dict, "saccade": str, "files": dict}
_OPTIONAL = {"plan": dict, "folder": str}
_RESULTS = {"steps": int, "seconds": float, "metrics": dict, "validation": dict, "final": dict, "baselines": dict}
_MODEL, _RESULTS_FILE, _LOG, _LOCK = "model.safetensors", "results.json", "metrics.jsonl", ".lock"
_ANEW = "move it away, and the same `saccade train` command makes it anew from its checkpoints"


class RunError(SaccadeError):
    """A folder is no run, or the run of another configuration."""


@dataclass(frozen=True)
class Run:
    """A run's folder and its config.json.

    That has "task", "model", "data" (a fingerprint), "options" (all of them), "saccade" (the version), and "files" (a
    digest of each file of the task). It has "plan" if the budget in minutes was planned, and "folder" if options have
    relative paths: those of this folder.
    """

    folder: Path
    config: Mapping[str, Any]

    @classmethod
    def open(cls, folder: Path) -> "Run":
        """Open an existing run.

        Raises RunError if there is none, or its config.json cannot be read.
        """
        try:
            if not stat.S_ISDIR(folder.stat().st_mode):
                raise RunError(f"{folder}: expected the folder of a run, got a file")
        except FileNotFoundError:
            raise RunError(f"{folder}: no such run; `saccade train` makes one") from None
        try:
            if not isinstance(config := read_json(folder / "config.json"), dict):
                raise ValueError(f"expected a JSON object, got {json.dumps(config):.60}")
            optional = {key: kind for key, kind in _OPTIONAL.items() if key in config}
            for key, kind in {**_CONFIG, **optional}.items():
                if key not in config:
                    raise ValueError(f"expected {', '.join(_CONFIG)}, found no {key}")
                if not isinstance(config[key], kind):
                    raise ValueError(f"{key}: expected {kind.__name__}, got {config[key]!r:.60}")
            return cls(folder, config)
        except FileNotFoundError as error:
            raise RunError(f"{folder}: not a run (it has no config.json)") from error
        except ValueError as error:
            raise RunError(f"{folder / 'config.json'}: not the configuration of a run ({error})") from error

    @classmethod
    def create(cls, folder: Path, config: Mapping[str, Any], save: Callable[[Path], object]) -> "Run":
        """Make a run's folder.

        Its config.json comes last. A folder without it is made anew. `save` writes the task's files, such as a
        tokenizer. Raises RunError as `check_place` does.
        """
        cls.check_place(folder)
        is_new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        with held(folder / _LOCK, RunError(f"{folder}: another process is making this run")):
            cls.check_place(folder)
            try:
                save(folder)
                whole = {**config, "files": _digests(folder)}
                write_json(folder / "config.json", whole)
            except BaseException:  # Ctrl-C too
                if is_new:
                    shutil.rmtree(folder, ignore_errors=True)
                raise
        return cls(folder, whole)

    @staticmethod
    def check_place(folder: Path) -> None:
        """Check that a run can be made in a folder.

        Raises RunError if it holds anything else.
        """
        if (folder / "config.json").exists():
            raise RunError(f"{folder}: another process has just made this run; the same command goes on with it")
        with suppress(FileNotFoundError):
            names = {path.name for path in folder.iterdir()} if stat.S_ISDIR(folder.stat().st_mode) else {"a file"}
            if names and (_LOCK not in names or names & {"checkpoints", _MODEL, _LOG, _RESULTS_FILE}):
                raise RunError(f"{folder}: it is there already and not a run; give another --run")

    def options(self, kind: type[T]) -> T:
        """Return the run's options as a dataclass.

        Raises RunError if one is unknown or its value is rejected.
        """
        saved, version = self.config["options"], self.config["saccade"]
        if unknown := sorted(set(saved) - {f.name for f in fields(kind)}):  # type: ignore[arg-type]
            raise RunError(f"{self.folder}: made by another Saccade ({version}); this one has no option {unknown[0]}")
        try:
            check_types(kind, saved)
            return kind(**{**before(kind), **saved})
        except SaccadeError as error:
            raise RunError(f"{self.folder / 'config.json'}: {error}") from error

    def path(self, value: str) -> str:
        """Return a path among the options.

        It is relative to the folder where the run was made, unless it exists in the working folder alone.
        """
        path, here = Path(self.config.get("folder", ""), value), Path.cwd() / value
        return value if path == here or (here.exists() and not path.exists()) else str(path)

    def located(self, options: T, builtin: Container[str], *, here: bool = False) -> T:
        """Return options with relative paths that start where the run was made.

        `builtin` data stay as they are. With `here`, paths that exist in the working folder are preferred: the options
        were typed there.
        """
        relative = {name: value for name, value in paths(options).items() if not (here and Path(value).exists())}
        absolute = {name: self.path(value) for name, value in relative.items() if value not in builtin}
        return replace(options, **absolute)  # type: ignore[type-var]

    @property
    def checkpoints(self) -> Path:
        """The folder of the run's checkpoints."""
        return self.folder / "checkpoints"

    def refuse_difference(
        self, task: str, identity: Mapping[str, Any], former: Mapping[str, Any] | None = None
    ) -> None:
        """Compare task and options with those of the run.

        `former` has values of options that config.json lacks.

        Raises RunError for the first difference, with the old and the new value.
        """
        old = {**(former or {}), **self.config["options"], "task": self.config["task"]}
        for name, new in {"task": task, **identity}.items():
            if old.get(name) != new:
                self.refuse(name if name == "task" else flag(name), old.get(name), new)

    def refuse(self, name: str, old: object, new: object) -> NoReturn:
        """Raise RunError: the run was made with another value."""
        way_out = "give another --run, or --no-resume to start beside it"
        raise RunError(f"{self.folder}: this run was made with {name} {old}, not {new}; {way_out}")

    @property
    def trained(self) -> bool:
        """Whether the trained model exists."""
        return (self.folder / _MODEL).exists()

    def check_files(self) -> None:
        """Verify the digests of the task's files.

        Raises RunError for the first altered file.
        """
        for name, digest in self.config["files"].items():
            path = self.folder / name
            try:
                content = read(path)
            except (FileNotFoundError, ValueError) as error:  # a name with a zero byte is no file's
                raise RunError(f"{path}: gone, and no answer without it; put it back") from error
            if hashlib.sha256(content).hexdigest() != digest:
                raise RunError(f"{path}: not what this run was made with (its digest differs). Put it back.")

    def weights(self, origin: str | None = None) -> dict[str, Tensor]:
        """Return the trained model's tensors, from model.safetensors or a checkpoint.

        The checkpoint is the newest one. `origin` is the mark of this run's weights. None accepts those of any run.
        Raises RunError if there is neither file, or all that exists is damaged or another run's.
        """
        path = self.folder / _MODEL
        try:
            weights, about = deserialize(read(path))
        except FileNotFoundError:
            return self._newest_weights(origin)
        except ValueError as error:
            raise RunError(f"{path}: damaged ({error}); {_ANEW}") from error
        _check_origin(path, origin, about.get("run"))
        if name := not_finite(weights):
            raise RunError(f"{path}: the weights {name} are not finite; {_ANEW}")
        return weights

    def _newest_weights(self, origin: str | None) -> dict[str, Tensor]:
        checkpoint, damaged = newest(self.checkpoints)
        if checkpoint is None and damaged:
            why = next(iter(damaged.values()))
            raise RunError(f"corrupt checkpoint: {why}, nor any other; the same `saccade train` command begins again")
        if checkpoint is None:
            raise RunError(f"{self.folder}: nothing is trained yet; the same `saccade train` command goes on")
        _check_origin(self.checkpoints, origin, checkpoint.scalars.get("origin"))
        for error in damaged.values():
            say(f"corrupt checkpoint: {error}; using step {checkpoint.step}")
        if self.results() is not None:
            way_out = "the same `saccade train` command makes it anew, without training"
            say(f"{self.folder}: model.safetensors is gone; using the checkpoint of step {checkpoint.step}; {way_out}")
        return checkpoint.model

    def save_weights(self, tensors: dict[str, Tensor], step: int, origin: str) -> None:
        """Write model.safetensors."""
        write(self.folder / _MODEL, serialize(tensors, step=step, run=origin))

    def results(self) -> dict[str, Any] | None:
        """Return the content of results.json, None if it does not exist or is not whole."""
        try:
            results: dict[str, Any] = read_json(self.folder / _RESULTS_FILE)
            values({**results["metrics"], **results["validation"]})
            whole = all(fits(results[key], kind) for key, kind in _RESULTS.items())
        except (FileNotFoundError, ValueError, TypeError, KeyError):
            return None
        return results if whole else None

    def log(self, **measured: Any) -> None:
        """Append one line to metrics.jsonl."""
        path = self.folder / _LOG
        with naming(path), path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(measured) + "\n")

    def logged(self) -> list[dict[str, Any]]:
        """Return the lines of metrics.jsonl that the run wrote along the way."""
        path = self.folder / _LOG
        lines = map(_parsed, read(path).splitlines() if path.exists() else ())
        return [line for line in lines if {"step", "loss"} <= line.keys()]

    def rewind_log(self, step: int, logged: Mapping[str, Any] | None = None) -> None:
        """Remove the lines of metrics.jsonl that a resumed run writes again.

        Raises RunError if the file is another run's: the line `logged` is not in it.
        """
        if not (path := self.folder / _LOG).exists():
            return
        if logged is not None and not any(logged.items() <= line.items() for line in self.logged()):
            got = f"got another file, without its line of step {logged['step']}"
            raise RunError(f"{path}: expected the log of this run, {got}; move it away, or put back what was there")
        before = read(path)
        lines = [line for line in before.splitlines(keepends=True) if not _is_later(line, step)]
        if (kept := b"".join(line.rstrip(b"\n") + b"\n" for line in lines)) != before:
            write(path, kept)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the run for this process, and remove half-written files of killed ones.

        The system releases it however the process ends. Raises RunError if another process trains it.
        """
        with held(self.folder / _LOCK, RunError(f"{self.folder}: another process is training this run")):
            left = left_over(self.folder, _MODEL, _LOG, _RESULTS_FILE)
            for path in [*left, *left_over(self.checkpoints, "*.safetensors")]:
                path.unlink()
            yield


def _digests(folder: Path) -> dict[str, str]:
    """The digest of each file that a task saved."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != _LOCK)
    return {path.relative_to(folder).as_posix(): hashlib.sha256(read(path)).hexdigest() for path in files}


def _check_origin(path: Path, expected: str | None, origin: str | None) -> None:
    if expected is not None and origin != expected:
        what = "expected the weights of this run, got those of another one (other data, seed or options)"
        raise RunError(f"{path}: {what}; move it away, or put back what was there")


def _parsed(line: bytes) -> dict[str, Any]:
    """A line of metrics.jsonl. One of a user, or cut short by a kill, is empty."""
    try:
        measured = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return measured if isinstance(measured, dict) else {}


def _is_later(line: bytes, step: int) -> bool:
    """Whether a resumed run drops a line of metrics.jsonl.

    It drops lines of later steps, of the end of a run, and incomplete ones after a kill. From step 0 on it validates
    again.
    """
    measured = _parsed(line)
    if not isinstance(at := measured.get("step"), int):
        return not measured and line.startswith(b"{") and not line.endswith(b"\n")
    ends = any(name.startswith("final_validation_") for name in measured)
    begins = at == 0 and any(name.startswith("validation_") for name in measured)
    return (at >= step and (ends or begins)) or (at > step and "loss" in measured)  # other lines are a user's


def folder_of(task: str, model: str, data: str, run: str | None = None) -> Path:
    """Return the named folder of a run, else runs/TASK-DATA-MODEL."""
    return Path(run or f"runs/{task}-{Path(data).name}-{model.rpartition(':')[2]}")


def beside(folder: Path) -> Path:
    """Return the first free name of run-2, run-3, ... for a further run."""
    folder = folder if folder.name not in ("", "..") else folder.resolve()  # "." has no name that -2 could follow
    count = 2
    while (path := folder.with_name(f"{folder.name}-{count}")).exists():
        count += 1
    return path
