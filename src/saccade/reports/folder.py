"""The folder of a report: report.json, in which every row stands as soon as it is measured, and all that it rests on.

report.json  runs/MODEL-SEED/ (ordinary runs)  index.md  index.html  plots
"""

import fcntl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from saccade.errors import SaccadeError
from saccade.train.files import read_json, write_json
from saccade.train.options import flag
from saccade.train.run import beside

__all__ = ["Folder", "ReportError"]

_FILE = "report.json"


class ReportError(SaccadeError):
    """A folder is no report, or one of something else."""


@dataclass(frozen=True)
class Folder:
    """A report under way or complete.

    Args:
        path: where it is.
        content: what report.json says: "report", "command" (what was typed), "arguments" (all that decides what the
            rows say), "runs" (by their names), "rows".
    """

    path: Path
    content: dict[str, Any] = field(repr=False)

    @classmethod
    def open(
        cls, path: Path, name: str, arguments: Mapping[str, Any], command: str, *, resume: bool = True
    ) -> "Folder":
        """Open the report that is there, or make it.

        Args:
            path: the folder.
            name: of the report.
            arguments: all that decides what its rows say; another value of one is refused.
            command: what was typed, for the page.
            resume: go on with what is there; if False, a new report is started beside it.

        Raises:
            ReportError: if the folder is something else, or was made with other arguments.
        """
        if not resume and path.exists():
            path = beside(path)
        if (path / _FILE).exists():
            folder = cls(path, _read(path))
            folder._refuse_difference(name, arguments)
            return folder
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise ReportError(f"{path}: it is there already and not a report; give another --output")
        path.mkdir(parents=True, exist_ok=True)
        folder = cls(path, {"report": name, "command": command, "arguments": dict(arguments), "runs": {}, "rows": []})
        folder.commit()
        return folder

    def rows(self, model: str, seed: int) -> list[dict[str, Any]]:
        """Return what has been measured of one run."""
        return [row for row in self.content["rows"] if (row["model"], row["seed"]) == (model, seed)]

    def commit(self) -> None:
        """Write report.json: what it said before is replaced when the new one is whole."""
        write_json(self.path / _FILE, self.content)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the report for this process, and read what the one before it has done meanwhile.

        The system lets go of it however the process ends.

        Raises:
            ReportError: if another process makes it.
        """
        with (self.path / ".lock").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise ReportError(f"{self.path}: another process is making this report") from error
            self.content.update(_read(self.path))
            yield

    def _refuse_difference(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Name the first argument that is not the one that the report was begun with."""
        way_out = "give another --output, or --no-resume to start beside it"
        if self.content["report"] != name:
            raise ReportError(f"{self.path}: this is the report {self.content['report']}, not {name}; {way_out}")
        for key, new in arguments.items():
            if (old := self.content["arguments"].get(key)) != new:
                raise ReportError(f"{self.path}: this report was made with {flag(key)} {old}, not {new}; {way_out}")


def _read(path: Path) -> dict[str, Any]:
    """What report.json says, if it is one."""
    try:
        content: dict[str, Any] = read_json(path / _FILE)
    except ValueError as error:
        raise ReportError(f"{path / _FILE}: expected JSON, got {error}; move it away to begin again") from error
    kinds = {"report": str, "command": str, "arguments": dict, "runs": dict, "rows": list}
    for key, kind in kinds.items():
        if not isinstance(content, dict) or not isinstance(content.get(key), kind):
            raise ReportError(f"{path / _FILE}: expected a report with its {key}, got something else; move it away")
    return content
