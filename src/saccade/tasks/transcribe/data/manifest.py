r"""Lists of sound files and of what is said in each, as a corpus of one's own comes.

    path,text,speaker                       {"path": "clips/a.flac", "text": "good morning", "split": "train"}
    clips/a.flac,good morning,ann           {"path": "clips/b.flac", "text": "good night", "split": "test"}

A manifest is .csv or .tsv (`saccade.tasks.text.delimited`), .jsonl or .json with an object a line, packed by gzip or
not, in UTF-8. Tables begin with the names of their columns. `path` (NeMo's `audio_filepath`) and `text` (Common
Voice's `sentence`) are needed. `split` and `speaker` (`client_id`) are optional, and so are `offset` and `duration`, in
seconds: then a row is that part of its file. Others are not read. A path is taken from the manifest's folder on,
or from the folder clips/ in it.
"""

import json
import math
import shlex
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from saccade.data.cleaning import composed
from saccade.data.conversions import converted
from saccade.errors import ArgumentError
from saccade.tasks.audio.headers import HEADER, missing_bytes
from saccade.tasks.text.delimited import columns_of, delimited, number_of
from saccade.tasks.text.lines import Lines, read_lines

__all__ = ["KINDS", "Row", "is_manifest", "present", "read_manifest"]

KINDS = (".csv", ".tsv", ".jsonl", ".json")

_FIELDS = ("path", "text", "split", "speaker")
_NUMBERS = ("offset", "duration")
_NEEDED = ("path", "text")
_CLIPS = "clips"
#: What fields are called elsewhere: by NeMo, and by Common Voice.
_OTHERS = {"audio_filepath": "path", "sentence": "text", "client_id": "speaker"}
_COLUMNS = {name: (name, *(other for other, own in _OTHERS.items() if own == name)) for name in (*_FIELDS, *_NUMBERS)}


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
        offset: seconds of the file before the recording.
        duration: seconds of the recording; None: to the file's end.

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
    offset: float = 0.0
    duration: float | None = None


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
        wanted = f"expected a manifest called {', '.join(KINDS)}, got another kind of file"
        raise ArgumentError(f"{manifest}: {wanted}{converted(manifest)}")
    rows = [_row(manifest, *found) for found in _READERS[_kind(manifest)](read_lines(manifest))]
    kept = present(row for row in rows if row.text)
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
    offset, duration = (_seconds(fields.get(name, ""), name, where) for name in _NUMBERS)
    path, said = _beside(manifest, listed), composed(" ".join(text.split()))
    return Row(listed, path, said, split, speaker, where, offset=offset or 0.0, duration=duration)


def _beside(manifest: Path, listed: str) -> Path:
    """Where a recording is: from the manifest's folder on, or in its folder clips/, as Common Voice has it."""
    path, clip = manifest.parent / listed, manifest.parent / _CLIPS / listed
    return clip if "/" not in listed and "\0" not in listed and not path.exists() and clip.is_file() else path


def _seconds(text: str, name: str, where: str) -> float | None:
    """A number of seconds, None if there is none."""
    if not text.strip():
        return None
    try:
        seconds = number_of(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf or (name == "duration" and not seconds):
        raise ArgumentError(f"{where}: expected seconds for {name}, got {text!r:.60}")
    return seconds


def present(rows: Iterable[Row]) -> list[Row]:
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
        elif not status.st_size:
            missing.append(f"{row.where}: expected a sound file, got an empty one at {row.path}")
        elif lost := _lost(row.path, status.st_size):
            missing.append(f"{row.where}: expected a whole sound file, got {row.path}, cut short by {lost} bytes")
        found.append(replace(row, size=status.st_size))
    if missing:
        raise ArgumentError(missing[0] + (f" (and {len(missing) - 1} more are missing)" if len(missing) > 1 else ""))
    return found


def _lost(path: Path, size: int) -> int:
    """How many bytes of sound a WAV file lacks."""
    if path.suffix.lower() != ".wav":
        return 0
    with path.open("rb") as file:
        return missing_bytes(file.read(HEADER), size)


def _table(lines: Lines) -> Iterator[tuple[int, Mapping[str, str]]]:
    """The rows of a table: the line that each begins in, and its fields by column."""
    if not len(lines):
        return
    table = delimited(lines)
    names, where = table.names, table.place(table.first)
    columns = columns_of(names, _COLUMNS, where)
    if any(name not in columns for name in _NEEDED):
        got = ", ".join(names)
        raise ArgumentError(f"{where}: expected the names of columns, path and text among them, got {got}")
    for row, cells in table.filled():
        if len(cells) != len(names):
            wanted = f"expected {len(names)} columns, as the first line has"
            raise ArgumentError(f"{table.place(row)}: {wanted}, got {len(cells)}")
        yield int(table.numbers[row]) + 1, {name: cells[place] for name, place in columns.items()}


def _objects(lines: Lines) -> Iterator[tuple[int, Mapping[str, str]]]:
    """The objects of a file that has one a line: the line of each, and its texts by name."""
    for number in range(len(lines)):
        if not lines[number].strip():
            continue
        where = f"{lines.path}: line {number + 1}"
        try:
            read = json.loads(lines[number], object_pairs_hook=_once)
            json.dumps(read, ensure_ascii=False).encode()  # JSON can write half a character, which no text has
        except (ValueError, RecursionError) as error:
            got = f"got what is none ({error}){_array(lines, number)}"
            raise ArgumentError(f"{where}: expected a JSON object, {got}") from error
        if not isinstance(read, dict):
            got = f"{json.dumps(read):.60}{_array(lines, number)}"
            raise ArgumentError(f"{where}: expected a JSON object with path and text, got {got}")
        yield number + 1, _texts(read, where)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, whose names stand once: of two values nobody can tell which is right."""
    name, count = Counter(name for name, _ in pairs).most_common(1)[0] if pairs else ("", 1)
    if count > 1:
        raise ValueError(f"{name} twice")
    return dict(pairs)


def _texts(read: Mapping[str, Any], where: str) -> dict[str, str]:
    """The fields of an object that are wanted, by our names for them."""
    if both := [name for name, own in _OTHERS.items() if name in read and own in read]:
        raise ArgumentError(f"{where}: expected {_OTHERS[both[0]]} or {both[0]}, got both; leave one out")
    named = {_OTHERS.get(name, name): value for name, value in read.items()}
    if any(name not in named for name in _NEEDED):
        got = ", ".join(read) or "an empty one"
        raise ArgumentError(f"{where}: expected a JSON object with path and text, got {got}")
    known = {name: named[name] for name in (*_FIELDS, *_NUMBERS) if named.get(name) is not None}
    for name, value in known.items():
        if name in _NUMBERS and type(value) in (int, float):
            known[name] = repr(value)
        elif not isinstance(value, str):
            raise ArgumentError(f"{where}: expected a text for {name}, got {json.dumps(value)}")
    return known


def _array(lines: Lines, number: int) -> str:
    """The command that makes lines of a file that is one array."""
    path = lines.path
    if number or not lines[0].lstrip().startswith("[") or path.suffix == ".gz":
        return ""
    new = path.with_suffix(".lines.jsonl")
    return f"; this makes a line of each: jq -c '.[]' {shlex.quote(str(path))} > {shlex.quote(str(new))}"


_READERS: Mapping[str, Callable[[Lines], Iterator[tuple[int, Mapping[str, str]]]]] = {
    ".csv": _table,
    ".tsv": _table,
    ".jsonl": _objects,
    ".json": _objects,
}
