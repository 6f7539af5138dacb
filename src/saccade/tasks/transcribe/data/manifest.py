r"""Lists of sound files and of what is said in each, as a corpus of one's own comes.

    path,text,speaker                       {"path": "clips/a.flac", "text": "good morning", "split": "train"}
    clips/a.flac,good morning,ann           {"path": "clips/b.flac", "text": "good night", "split": "test"}

A manifest is .csv, .tsv (without quotes: a tab ends a column) or .jsonl, packed by gzip or not, in UTF-8. Tables begin
with the names of their columns. `path` and `text` are needed; `split` and `speaker` are read where they are there, and
others are not. A path is taken from the manifest's folder on.
"""

import csv
import json
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from saccade.errors import ArgumentError
from saccade.tasks.text.lines import Lines, read_lines

__all__ = ["KINDS", "Row", "is_manifest", "read_manifest"]

KINDS = (".csv", ".tsv", ".jsonl")

_FIELDS = ("path", "text", "split", "speaker")
_NEEDED = ("path", "text")


@dataclass(frozen=True, slots=True)
class Row:
    """One recording.

    Args:
        listed: its path as the manifest has it.
        path: where it is.
        text: what is said, a space between two words; "" where nothing is.
        split: what that column says, "" where there is none.
        speaker: the same.
        where: the manifest and line, for messages.
        size: of the file, in bytes.

    Example:
        >>> Row("a.wav", Path("clips/a.wav"), "good morning", "", "ann", "clips/manifest.csv: line 2").speaker
        'ann'
    """

    listed: str
    path: Path
    text: str
    split: str
    speaker: str
    where: str
    size: int = 0


def is_manifest(path: Path) -> bool:
    """Return whether a file is called as a manifest is.

    >>> is_manifest(Path("clips/train.tsv.gz"))
    True
    """
    return _kind(path) in KINDS


def read_manifest(manifest: Path) -> tuple[list[Row], str]:
    """Read a manifest, and look for the files that it lists.

    Args:
        manifest: where it is.

    Returns:
        The rows that have a text, and a note on those that have none, "" if all have one.

    Raises:
        ArgumentError: naming the manifest, and the line in it, that is wrong or whose file is missing.
        OSError: if it cannot be read.
    """
    if not is_manifest(manifest):
        raise ArgumentError(f"{manifest}: expected a manifest called {', '.join(KINDS)}, got another kind of file")
    rows = [_row(manifest, *found) for found in _READERS[_kind(manifest)](read_lines(manifest))]
    kept = _present(row for row in rows if row.text)
    if not kept:
        got = "got no text in any row" if rows else "got none"
        raise ArgumentError(f"{manifest}: expected a row for each recording, with its path and text, {got}")
    if len(kept) == len(rows):
        return kept, ""
    first = next(row for row in rows if not row.text)
    return kept, f"left out {len(rows) - len(kept)} of {len(rows)} rows, which have no text; the first is {first.where}"


def _kind(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).suffix


def _row(manifest: Path, line: int, fields: Mapping[str, str]) -> Row:
    where = f"{manifest}: line {line}"
    listed, text, split, speaker = (fields.get(name, "").strip() for name in _FIELDS)
    if not listed:
        raise ArgumentError(f"{where}: expected a path, got none")
    return Row(listed, manifest.parent / listed, " ".join(text.split()), split, speaker, where)


def _present(rows: Iterable[Row]) -> list[Row]:
    """Some rows with the sizes of their files, once all are known to be there."""
    found, missing = list[Row](), list[str]()
    for row in rows:
        try:
            status = row.path.stat()
        except (OSError, ValueError):  # the second of a path that no file can have
            missing.append(f"{row.where}: expected a sound file, found none at {row.path}")
            continue
        if not stat.S_ISREG(status.st_mode):
            missing.append(f"{row.where}: expected a sound file, got a folder or device at {row.path}")
        found.append(replace(row, size=status.st_size))
    if missing:
        raise ArgumentError(missing[0] + (f" (and {len(missing) - 1} more are missing)" if len(missing) > 1 else ""))
    return found


def _table(lines: Lines, delimiter: str, quoting: int) -> Iterator[tuple[int, Mapping[str, str]]]:
    """The rows of a table: the line that each ends in, and its fields by column."""
    source = (f"{lines[line]}\n" for line in range(len(lines)))
    reader = csv.reader(source, delimiter=delimiter, quoting=quoting, strict=True)  # type: ignore[arg-type]
    header: list[str] = []
    try:
        for row in reader:
            where = f"{lines.path}: line {reader.line_num}"
            if not any(field.strip() for field in row):
                continue
            if not header:
                header = _header(row, where)
            elif len(row) != len(header):
                raise ArgumentError(f"{where}: expected {len(header)} columns, as the first line has, got {len(row)}")
            else:
                yield reader.line_num, dict(zip(header, row, strict=True))
    except csv.Error as error:
        where = f"{lines.path}: line {reader.line_num}"
        raise ArgumentError(f"{where}: expected columns, got what cannot be cut into them ({error})") from error


def _header(row: Sequence[str], where: str) -> list[str]:
    names = [field.strip().lower() for field in row]
    if any(names.count(name) != 1 for name in _NEEDED):
        raise ArgumentError(f"{where}: expected the names of columns, path and text among them, got {', '.join(names)}")
    return names


def _objects(lines: Lines) -> Iterator[tuple[int, Mapping[str, str]]]:
    """The objects of a file that has one a line: the line of each, and its texts by name."""
    for number in range(len(lines)):
        if not lines[number].strip():
            continue
        where = f"{lines.path}: line {number + 1}"
        try:
            read = json.loads(lines[number])
            json.dumps(read, ensure_ascii=False).encode()  # JSON can write half a character, which no text has
        except (ValueError, RecursionError) as error:
            raise ArgumentError(f"{where}: expected a JSON object, got what is none ({error})") from error
        if not isinstance(read, dict) or any(name not in read for name in _NEEDED):
            got = ", ".join(read) or "an empty one" if isinstance(read, dict) else json.dumps(read)
            raise ArgumentError(f"{where}: expected a JSON object with path and text, got {got}")
        known = {name: read[name] for name in _FIELDS if read.get(name) is not None}
        for name, value in known.items():
            if not isinstance(value, str):
                raise ArgumentError(f"{where}: expected a text for {name}, got {json.dumps(value)}")
        yield number + 1, known


_READERS: Mapping[str, Callable[[Lines], Iterator[tuple[int, Mapping[str, str]]]]] = {
    ".csv": lambda lines: _table(lines, ",", csv.QUOTE_MINIMAL),
    ".tsv": lambda lines: _table(lines, "\t", csv.QUOTE_NONE),
    ".jsonl": _objects,
}
