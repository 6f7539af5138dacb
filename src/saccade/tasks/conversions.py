"""What makes readable data of a file that is none: the one command to type, by what the file is."""

import shlex
from collections.abc import Sequence
from pathlib import Path

__all__ = ["converted", "recoded"]

_ENDS = {  # a command for each kind of file, by the end of its name
    ".zip": "unzip {0} -d {1}",
    ".tar": "mkdir {1} && tar xf {0} -C {1}",
    ".tar.gz": "mkdir {1} && tar xf {0} -C {1}",
    ".tgz": "mkdir {1} && tar xf {0} -C {1}",
    ".tar.bz2": "mkdir {1} && tar xf {0} -C {1}",
    ".tar.xz": "mkdir {1} && tar xf {0} -C {1}",
    ".7z": "7z x {0} -o{1}",
    ".bz2": "bunzip2 -k {0}",
    ".xz": "unxz -k {0}",
    ".zst": "unzstd {0}",
    ".xlsx": "libreoffice --headless --convert-to csv {0}",
    ".xls": "libreoffice --headless --convert-to csv {0}",
    ".ods": "libreoffice --headless --convert-to csv {0}",
    ".jsonl": "jq -r '[{2}] | @tsv' {0} > {1}.tsv",
    ".ndjson": "jq -r '[{2}] | @tsv' {0} > {1}.tsv",
    ".json": "jq -r '.[] | [{2}] | @tsv' {0} > {1}.tsv",
    ".m4a": "ffmpeg -i {0} {1}.wav",
    ".mp4": "ffmpeg -i {0} {1}.wav",
    ".aac": "ffmpeg -i {0} {1}.wav",
    ".wma": "ffmpeg -i {0} {1}.wav",
    ".webm": "ffmpeg -i {0} {1}.wav",
    ".amr": "ffmpeg -i {0} {1}.wav",
    ".heic": "magick {0} {1}.png",
    ".svg": "magick {0} {1}.png",
}
_MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}  # at the beginning of a file


def converted(path: Path, columns: Sequence[str] = ("text", "label")) -> str:
    """Return what to say behind a refusal: a semicolon and the command that makes readable data, "" if none is known.

    Args:
        path: the file.
        columns: that a table of it is to have.

    >>> converted(Path("my texts.zip"))
    "; this unpacks or converts it: unzip 'my texts.zip' -d 'my texts'"
    """
    name = path.name.lower()
    end = max((end for end in _ENDS if name.endswith(end)), key=len, default=None)
    if end is None or path.is_dir():
        return ""
    fields = ", ".join(f".{name}" for name in columns)
    whole, stem = shlex.quote(str(path)), shlex.quote(str(path)[: -len(end)])
    command = _ENDS[end].format(whole, stem, fields)
    return f"; this unpacks or converts it: {command}"


def recoded(path: Path) -> str:
    """Return the command that makes UTF-8 of a text file, UTF-16 by its mark, or else the Latin-1 of Windows.

    >>> recoded(Path("no such.txt"))
    "iconv -f WINDOWS-1252 -t UTF-8 'no such.txt' > 'no such.utf8.txt'"
    """
    try:
        with path.open("rb") as file:
            encoding = _MARKS.get(file.read(2), "WINDOWS-1252")
    except OSError:
        encoding = "WINDOWS-1252"
    new = path.with_name(f"{path.name.removesuffix(path.suffix)}.utf8{path.suffix}")
    return f"iconv -f {encoding} -t UTF-8 {shlex.quote(str(path))} > {shlex.quote(str(new))}"
