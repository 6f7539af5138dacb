"""The folder of a report: report.json with all measured rows, and files of it.

report.json  runs/MODEL-SEED/ (ordinary runs)  index.md  index.html  pictures
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from saccade._system.files import held, read_json, write_json
from saccade.errors import SaccadeError
from saccade.train.options import flag
from saccade.train.run import beside

_FILE = "report.json"
_OURS = (".lock", f".{_FILE}.")  # prefixes of the files that a process leaves if it is killed before the first row
_GROWS = ("seeds",)  # arguments that may be larger than before: the measured rows stay
_KINDS = {"report": str, "command": str, "arguments": dict, "runs": dict, "rows": list}


class ReportError(SaccadeError):
    """A folder holds something else, or another report."""


def select(rows: Iterable[Any], **columns: Any) -> list[Any]:
    """Return the rows with these values, columns by name."""
    return [row for row in rows if columns.items() <= row.items()]


@dataclass(frozen=True)
class Folder:
    """A report, complete or not: its folder, and the content of report.json."""

    path: Path
    content: dict[str, Any] = field(repr=False)

    @classmethod
    def open(
        cls, path: Path, name: str, arguments: Mapping[str, Any], command: str, *, resume: bool = True
    ) -> "Folder":
        """Return the report in a folder, or a new one, without writing it."""
        if not resume and path.exists():
            path = beside(path)
        content = {"report": name, "command": command, "arguments": dict(arguments), "runs": {}, "rows": []}
        folder = cls(path, content)
        if (path / _FILE).exists():
            folder._check(_read(path))
        elif path.exists() and (not path.is_dir() or any(not file.name.startswith(_OURS) for file in path.iterdir())):
            raise ReportError(f"{path}: it is there already and not a report; give another --output")
        return folder

    def rows(self, **columns: Any) -> list[dict[str, Any]]:
        return select(self.content["rows"], **columns)

    def add(self, row: Mapping[str, Any]) -> None:
        """Commit a row."""
        self.content["rows"].append(row)
        self.commit()

    def commit(self) -> None:
        """Write report.json; a kill leaves the old file or the new one."""
        write_json(self.path / _FILE, self.content)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the report until this process ends, and read or create its rows."""
        self.path.mkdir(parents=True, exist_ok=True)
        with held(self.path / ".lock", ReportError(f"{self.path}: another process is making this report")):
            if (self.path / _FILE).exists():
                stored = _read(self.path)
                self._check(stored)
                self.content.update({**stored, **{key: self.content[key] for key in ("command", "arguments")}})
            else:
                self.commit()
            yield

    def _check(self, stored: Mapping[str, Any]) -> None:
        """Reject another study, or another value of an argument."""
        way_out, name = "give another --output, or --no-resume to start beside it", self.content["report"]
        if stored["report"] != name:
            raise ReportError(f"{self.path}: this is the report {stored['report']}, not {name}; {way_out}")
        for key, new in self.content["arguments"].items():
            old = stored["arguments"].get(key)
            if old != new and not (key in _GROWS and isinstance(old, int) and old < new):
                raise ReportError(f"{self.path}: this report was made with {flag(key)} {old}, not {new}; {way_out}")


def _read(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = read_json(path / _FILE)
    except ValueError as error:
        raise ReportError(f"{path / _FILE}: expected JSON, got {error}; move it away to begin again") from error
    for key, kind in _KINDS.items():
        if not isinstance(content, dict) or not isinstance(content.get(key), kind):
            raise ReportError(f"{path / _FILE}: expected a report with its {key}, got something else; move it away")
    return content
