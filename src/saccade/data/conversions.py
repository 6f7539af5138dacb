"""Commands to convert other files to readable data."""

import gzip
import shlex
import zlib
from pathlib import Path

__all__ = ["converted", "recoded"]

_ENDS = {  # commands by the end of a file name
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
    ".m4a": "ffmpeg -i {0} {1}.wav",
    ".mp4": "ffmpeg -i {0} {1}.wav",
    ".aac": "ffmpeg -i {0} {1}.wav",
    ".wma": "ffmpeg -i {0} {1}.wav",
    ".webm": "ffmpeg -i {0} {1}.wav",
    ".amr": "ffmpeg -i {0} {1}.wav",
    ".heic": "magick {0} {1}.png",
    ".svg": "magick {0} {1}.png",
}
_PART = 1 << 16  # number of bytes to inspect
_GZIP = b"\x1f\x8b"
_MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}  # at the beginning of a file


def converted(path: Path) -> str:
    """Return the end of an error: a semicolon and a command to convert a file, or "".

    >>> converted(Path("my texts.zip"))
    "; this unpacks or converts it: unzip 'my texts.zip' -d 'my texts'"
    """
    name = path.name.lower()
    end = max((end for end in _ENDS if name.endswith(end)), key=len, default=None)
    if end is None or path.is_dir():
        return ""
    whole, stem = shlex.quote(str(path)), shlex.quote(str(path)[: -len(end)])
    command = _ENDS[end].format(whole, stem)
    return f"; this unpacks or converts it: {command}"


def recoded(path: Path) -> str:
    """Return the way out for a file not in UTF-8.

    It is a command to convert UTF-16 or Latin-1 of Windows.

    >>> recoded(Path("no such.txt"))
    "correct it or convert the file: iconv -f WINDOWS-1252 -t UTF-8 'no such.txt' > 'no such.utf8.txt'"
    """
    packed, start = _start(path)
    encoding = _MARKS.get(start[:2], "WINDOWS-1252")
    if encoding not in _MARKS.values() and b"\0" in start:
        return "it is no text; put one in its place"
    name = path.name.removesuffix(".gz") if packed else path.name
    utf8 = path.with_name(f"{Path(name).stem}.utf8{Path(name).suffix}")
    old, new = shlex.quote(str(path)), shlex.quote(str(utf8))
    how = f"gunzip -c {old} | iconv -f {encoding} -t UTF-8" if packed else f"iconv -f {encoding} -t UTF-8 {old}"
    return f"correct it or convert the file: {how} > {new}"


def _start(path: Path) -> tuple[bool, bytes]:
    """Return whether a file is gzipped, and its first bytes, unpacked, or b""."""
    try:
        with path.open("rb") as file:
            if packed := file.peek(2)[:2] == _GZIP:
                return packed, gzip.GzipFile(fileobj=file).read(_PART)
            return packed, file.read(_PART)
    except (OSError, EOFError, zlib.error):
        return False, b""
