"""The folder of a run: never deleted, never overwritten by another run, needing nothing outside itself.

config.json  tokenizer.json (or what else the task saves)  model.safetensors  checkpoints/
metrics.jsonl  results.json  results-test.json  pictures/
"""

import fcntl
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from torch import Tensor

from saccade.errors import SaccadeError
from saccade.train.checkpoint import clear, holding, newest
from saccade.train.files import left_over, link, naming, read, read_json, unfinished, write, write_json
from saccade.train.log import rewound
from saccade.train.notes import say
from saccade.train.options import check_types, fits, flag
from saccade.train.weights import deserialize, not_finite, serialize

__all__ = ["Run", "RunError", "beside", "folder_of"]

T = TypeVar("T")
_CONFIG = {"task": str, "model": str, "data": str, "options": dict, "saccade": str}
_RENAMED = {"least_count": "min_count"}  # options that had other names in older runs
_RESULTS = {"steps": (int,), "seconds": (int, float), "metrics": (dict,), "validation": (dict,)}
_MODEL, _RESULTS_FILE, _LOG, _LOCK = "model.safetensors", "results.json", "metrics.jsonl", ".lock"
_ANEW = "move it away, and the same `saccade train` command makes it anew from its checkpoints"


class RunError(SaccadeError):
    """A folder is no run, or a run of something else."""


@dataclass(frozen=True)
class Run:
    """A run's folder and what its config.json says.

    Args:
        folder: where it is.
        config: "task", "model", "data" (the fingerprint of the data), "options" (all of them), "saccade" (the version),
            "files" (digests of what the task saved, by name; runs of older versions have none).
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
        if not _is_folder(folder):
            raise RunError(f"{folder}: no such run; `saccade train` makes one")
        try:
            if not isinstance(content := read_json(folder / "config.json"), dict):
                raise ValueError(f"expected a JSON object, got {json.dumps(content):.60}")
            if missing := [key for key in _CONFIG if key not in content]:
                raise ValueError(f"expected {', '.join(_CONFIG)}, found no {missing[0]}")
            config = {key: _typed(key, content[key], kind) for key, kind in _CONFIG.items()}
            config["options"] = {_RENAMED.get(name, name): value for name, value in config["options"].items()}
            digests = {"files": _typed("files", content["files"], dict)} if "files" in content else {}
            recipe = _typed("recipe", content["recipe"], dict) if "recipe" in content else None
            return cls(folder, {**config, **digests}, recipe)
        except FileNotFoundError as error:
            raise RunError(f"{folder}: not a run (it has no config.json)") from error
        except ValueError as error:
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
        cls.check_place(folder)
        place = folder.resolve()  # a link stays a link, to a run
        partial = unfinished(place)
        with _naming_folder(folder):
            place.parent.mkdir(parents=True, exist_ok=True)
            _clear_abandoned(place)
            partial.mkdir()
        try:
            lock = partial / f"{_LOCK}-new"
            with _naming_folder(folder), _held(lock, f"{folder}: another process is making this run"):
                lock.rename(partial / _LOCK)  # so that it is held from when it can be found on
                save(partial)
                whole = {**config, "files": _digests(partial)}
                write_json(partial / "config.json", whole)
                partial.rename(place)
        except BaseException:  # Ctrl-C too
            shutil.rmtree(partial, ignore_errors=True)
            raise
        return cls(folder, whole)

    @staticmethod
    def check_place(folder: Path) -> None:
        """See that a run can be made in a folder's place.

        Raises:
            RunError: if something else is there.
            OSError: if nobody can tell, as of links that lead in a circle.
        """
        if (folder / "config.json").exists():
            raise RunError(f"{folder}: another process has just made this run; the same command goes on with it")
        with suppress(FileNotFoundError):
            if not stat.S_ISDIR(folder.stat().st_mode) or any(folder.iterdir()):
                raise RunError(f"{folder}: it is there already and not a run; give another --run")

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
        return (self.folder / _MODEL).exists()

    def check_files(self) -> None:
        """See that what the task saved is what it wrote, as far as the run has digests of it.

        Raises:
            RunError: naming the first file that is not.
        """
        for name, digest in self.config.get("files", {}).items():
            path = self.folder / name
            try:
                found = hashlib.sha256(read(path)).hexdigest()
            except (FileNotFoundError, ValueError) as error:  # a name with a zero byte is no file's
                raise RunError(f"{path}: gone, and no answer without it; put it back") from error
            if found != digest:
                raise RunError(f"{path}: not what this run was made with (its digest is another one); put it back")

    def weights(self, own: str | None = None) -> dict[str, Tensor]:
        """Return the trained model's tensors, from model.safetensors or else from the newest checkpoint.

        Args:
            own: what this run's are marked with (`saccade.train.options.origin`), if others are to be refused.

        Raises:
            RunError: if there is neither, or all that is there is damaged, or of another run.
        """
        path = self.folder / _MODEL
        try:
            weights, mark = deserialize(read(path))
        except FileNotFoundError:
            return self._newest_weights(own)
        except ValueError as error:
            raise RunError(f"{path}: damaged ({error}); {_ANEW}") from error
        if mark is not None:
            _check_own(path, own, mark.run)
        if name := not_finite(weights):
            raise RunError(f"{path}: the weights {name} are not finite; {_ANEW}")
        if mark is None or "files" not in self.config:
            say(f"{self.folder}: made before files had digests; whether all are what was written cannot be told")
        return weights

    def _newest_weights(self, own: str | None) -> dict[str, Tensor]:
        """Those of the newest checkpoint that is whole, with a word where they are not what one may expect."""
        checkpoint, damaged = newest(self.checkpoints)
        if checkpoint is None and damaged:
            why = next(iter(damaged.values()))
            raise RunError(f"corrupt checkpoint: {why}, nor any other; the same `saccade train` command begins again")
        if checkpoint is None:
            raise RunError(f"{self.folder}: nothing is trained yet; the same `saccade train` command goes on")
        _check_own(self.checkpoints, own, checkpoint.scalars.get("origin"))
        for error in damaged.values():
            say(f"corrupt checkpoint: {error}; using step {checkpoint.step}")
        if self.results() is not None:
            way_out = "the same `saccade train` command makes it anew, without training"
            say(f"{self.folder}: model.safetensors is gone; using the checkpoint of step {checkpoint.step}; {way_out}")
        return checkpoint.model

    def save_weights(self, tensors: dict[str, Tensor], step: int, own: str) -> None:
        """Write model.safetensors; where a checkpoint has the same weights, both are one file on the disk.

        Args:
            tensors: the weights by name.
            step: that they are of.
            own: what says that they are this run's (`saccade.train.options.origin`).
        """
        path, content = self.folder / _MODEL, serialize(tensors, step, own)
        source = holding(self.checkpoints, content)
        if source is None or not link(source, path):
            write(path, content)

    def results(self) -> dict[str, Any] | None:
        """Return what results.json says, None where it is not there or not whole."""
        try:
            results = read_json(self.folder / _RESULTS_FILE)
        except (FileNotFoundError, ValueError):
            return None
        whole = isinstance(results, dict) and all(isinstance(results.get(key), kind) for key, kind in _RESULTS.items())
        found = [*results["metrics"].values(), *results["validation"].values()] if whole else []
        return results if whole and all(map(_is_metric, found)) else None

    def log(self, **measured: Any) -> None:
        """Append one line to metrics.jsonl."""
        path = self.folder / _LOG
        with naming(path), path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(measured) + "\n")

    def log_end(self, step: int, **measured: Any) -> None:
        """Write the line of metrics.jsonl that says what the run came to, in the place of an earlier one of the step.

        It is on the disk when this returns: results.json, by which a run is known to be complete, comes after it.
        """
        line = json.dumps({"step": step, **measured}) + "\n"
        write(self.folder / _LOG, rewound(self._logged(), step, ended=True) + line.encode())

    def rewind_log(self, step: int) -> None:
        """Take back what the run wrote into metrics.jsonl after a step: going on from there, it measures it again."""
        if (kept := rewound(before := self._logged(), step)) != before:
            write(self.folder / _LOG, kept)

    def _logged(self) -> bytes:
        path = self.folder / _LOG
        return read(path) if path.exists() else b""

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the run for this process; the system lets go of it however the process ends.

        What processes left half written that were killed while they held it is removed.

        Raises:
            RunError: if another process trains it.
        """
        with _held(self.folder / _LOCK, f"{self.folder}: another process is training this run"):
            for path in left_over(self.folder, (_MODEL, _LOG, _RESULTS_FILE)):
                path.unlink()
            clear(self.checkpoints)
            yield


@contextmanager
def _held(path: Path, busy: str) -> Iterator[None]:
    """Hold a lock file, made if it is not there; raises RunError if another process holds it."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK, 0o666)  # a pipe would have us wait
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RunError(busy) from error
        yield
    finally:
        os.close(handle)


def _clear_abandoned(place: Path) -> None:
    """Remove what a process has left of a run that was killed while it made it: nobody holds its lock any more."""
    for partial in left_over(place.parent, (place.name,)):
        if (partial / _LOCK).is_file():
            with suppress(RunError), _held(partial / _LOCK, "not abandoned"):
                shutil.rmtree(partial)


def _is_folder(folder: Path) -> bool:
    """Whether something is there, which is a folder.

    Raises:
        RunError: if it is none.
        OSError: if nobody can tell, as of links that lead in a circle.
    """
    try:
        mode = folder.stat().st_mode
    except FileNotFoundError:
        return False
    if not stat.S_ISDIR(mode):
        raise RunError(f"{folder}: expected the folder of a run, got a file")
    return True


def _digests(folder: Path) -> dict[str, str]:
    """The digest of each file that a task saved."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != _LOCK)
    return {path.relative_to(folder).as_posix(): hashlib.sha256(read(path)).hexdigest() for path in files}


def _check_own(path: Path, own: str | None, found: str | None) -> None:
    """Refuse weights that say that they are another run's."""
    if own is not None and found is not None and found != own:
        what = "expected the weights of this run, got those of another one (other data, seed or options)"
        raise RunError(f"{path}: {what}; move it away, or put back what was there")


@contextmanager
def _naming_folder(folder: Path) -> Iterator[None]:
    """Have the system's errors name a run's folder, not the one beside it, of which nobody knows."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = str(folder), None
        raise


def _is_metric(found: object) -> bool:
    """Whether that is what a file says of a metric: a number, perhaps with a signature."""
    return fits(found["score"] if isinstance(found, dict) and {"score", "signature"} <= found.keys() else found, float)


def _typed(key: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"{key}: expected {kind.__name__}, got {value!r:.60}")
    return value


def folder_of(task: str, model: str, data: str, run: str | None = None) -> Path:
    """Return where a run is: in the folder that is named, else in one that is named after what it trains.

    >>> folder_of("translate", "luong", "corpora/de-en")
    PosixPath('runs/translate-de-en-luong')
    """
    return Path(run or f"runs/{task}-{Path(data).name}-{model.rpartition(':')[2]}")


def beside(folder: Path) -> Path:
    """Return the first of run-2, run-3, ... that is not there, for a run that shall start beside another.

    >>> beside(Path("/no/such/run"))
    PosixPath('/no/such/run-2')
    """
    folder = folder if folder.name not in ("", "..") else folder.resolve()  # "." has no name that -2 could follow
    count = 2
    while (place := folder.with_name(f"{folder.name}-{count}")).exists():
        count += 1
    return place
