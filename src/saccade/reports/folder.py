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
_OWN = (".lock", f".{_FILE}.")  # how files begin that a process leaves if it is killed before there is a report
_GROWS = ("seeds",)  # arguments that may be larger than before: what is done stays as it is


class ReportError(SaccadeError):
    """A folder is no report, or one of something else."""


@dataclass(frozen=True)
class Folder:
    """A report under way or complete.

    Args:
        path: where it is.
        content: what report.json says: "report", "command" (what was typed), "arguments" (all that decides what the
            rows say), "runs" (by their names), "rows".
        unsaid: what holds of arguments that a report.json does not tell, which was made before there were these.
    """

    path: Path
    content: dict[str, Any] = field(repr=False)
    unsaid: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def open(
        cls,
        path: Path,
        name: str,
        arguments: Mapping[str, Any],
        command: str,
        *,
        resume: bool = True,
        unsaid: Mapping[str, Any] | None = None,
    ) -> "Folder":
        """Return the report that is there, or one to be made; it is read or written when it is `locked`.

        Args:
            path: the folder.
            name: of the report.
            arguments: all that decides what its rows say; another value of one is refused, but more seeds are not.
            command: what was typed, for the page.
            resume: go on with what is there; if False, a new report is started beside it.
            unsaid: what holds of arguments that a report.json does not tell, which was made before there were these.

        Raises:
            ReportError: if the folder is something else, or was made with other arguments.
        """
        if not resume and path.exists():
            path = beside(path)
        content = {"report": name, "command": command, "arguments": dict(arguments), "runs": {}, "rows": []}
        folder = cls(path, content, unsaid or {})
        if (path / _FILE).exists():
            folder._refuse_difference(_read(path))
        elif path.exists() and (not path.is_dir() or any(not file.name.startswith(_OWN) for file in path.iterdir())):
            raise ReportError(f"{path}: it is there already and not a report; give another --output")
        return folder

    def rows(self, **about: Any) -> list[dict[str, Any]]:
        """Return the rows that say this of themselves."""
        return [row for row in self.content["rows"] if about.items() <= row.items()]

    def commit(self) -> None:
        """Write report.json: what it said before is replaced when the new one is whole."""
        write_json(self.path / _FILE, self.content)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the report for this process, and read what the one before it has done, or else make it.

        The system lets go of it however the process ends.

        Raises:
            ReportError: if another process makes it, or has just made it with other arguments.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / ".lock").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise ReportError(f"{self.path}: another process is making this report") from error
            if (self.path / _FILE).exists():
                found = _read(self.path)
                self._refuse_difference(found)
                self.content.update({**found, **{key: self.content[key] for key in ("command", "arguments")}})
            else:
                self.commit()
            yield

    def _refuse_difference(self, found: Mapping[str, Any]) -> None:
        """Name the first argument that is not the one that the report which is there was begun with."""
        way_out, name = "give another --output, or --no-resume to start beside it", self.content["report"]
        if found["report"] != name:
            raise ReportError(f"{self.path}: this is the report {found['report']}, not {name}; {way_out}")
        for key, new in self.content["arguments"].items():
            old = found["arguments"].get(key, self.unsaid.get(key))
            if old != new and not (key in _GROWS and isinstance(old, int) and old < new):
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
