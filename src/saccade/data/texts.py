"""Reading of text files: decoding and unpacking, or an error with the way out."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from saccade._system.files import other_than_file
from saccade.data.conversions import converted
from saccade.errors import ArgumentError

__all__ = ["check_encoding", "decoded", "lines_of", "read_lines", "read_text", "reading_as", "suffix_of"]

_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BINARY = bytes(set(range(32)) - set(b"\t\n\v\f\r"))  # control bytes, which no text has but Latin-1 decodes
_ENCODING: ContextVar[str | None] = ContextVar("encoding", default=None)  # of --encoding, for all readers of files


def read_text(path: Path, *, latin1: bool = False) -> tuple[str, str]:
    """Read a file of text, packed by gzip or not.

    Args:
        path: the file, in UTF-8, in UTF-16 with a byte order mark, or in the encoding of `reading_as`.
        latin1: whether to read other text as Latin-1, as published corpora have it.

    Returns:
        The text, and a note if it is not in UTF-8.

    Raises:
        ArgumentError: if the file is no text, with the line, or if it is a damaged gzip file.
        OSError: if it cannot be read.
    """
    if got := other_than_file(path):
        raise ArgumentError(f"{path}: expected a file of text, got {got}")
    data = path.read_bytes()
    try:
        data = gzip.decompress(data) if data.startswith(_GZIP) else data
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ArgumentError(f"{path}: expected a whole gzip file, got a damaged one ({error}); copy it anew") from error
    text, note = decoded(data, path, latin1=latin1)
    return text if "\n" in text else text.replace("\r", "\n"), note  # lines of old Macs end with \r


def decoded(data: bytes, path: Path, *, latin1: bool = False) -> tuple[str, str]:
    r"""Decode the bytes of a file, as in `read_text`.

    >>> decoded(b"caf\xe9", Path("a.csv"), latin1=True)
    ('café', 'a.csv: it is no UTF-8, and was read as Latin-1')
    """
    encoding = _ENCODING.get()
    if encoding is not None:
        return _as_named(data, path, encoding)
    try:
        if data.startswith(_UTF16):
            return data.decode("utf-16"), f"{path}: it was read as UTF-16"
        return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError as error:
        is_text = len(data.translate(None, _BINARY)) == len(data)
        if latin1 and is_text:
            return data.decode("latin-1"), f"{path}: it is no UTF-8, and was read as Latin-1"
        way_out = "--encoding cp1252 reads text of Windows" if is_text else "it is no text; put one in its place"
        raise _not_decoded(data, path, error, "UTF-8", converted(path).removeprefix("; ") or way_out) from error


def _as_named(data: bytes, path: Path, encoding: str) -> tuple[str, str]:
    """Decode bytes by --encoding, with a note if they are UTF-8 too."""
    try:
        text = data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        way_out = "name its own encoding by --encoding"
        raise _not_decoded(data, path, error, encoding, way_out) from error
    try:
        same = data.decode("utf-8-sig") == text
    except UnicodeDecodeError:
        same = True
    return text, "" if same else f"{path}: it was read as {encoding}, but is UTF-8 too (--encoding)"


def _not_decoded(data: bytes, path: Path, error: UnicodeDecodeError, expected: str, way_out: str) -> ArgumentError:
    line = data[: error.start].count(b"\n") + 1
    return ArgumentError(f"{path}: line {line}: expected {expected}, got byte 0x{data[error.start]:02x}; {way_out}")


@contextmanager
def reading_as(encoding: str | None) -> Iterator[None]:
    r"""Decode all files of text by an encoding, None for UTF-8.

    >>> with reading_as("cp1252"):
    ...     decoded(b"\x80 5", Path("a.csv"))
    ('€ 5', '')
    """
    check_encoding(encoding)
    token = _ENCODING.set(encoding)
    try:
        yield
    finally:
        _ENCODING.reset(token)


def check_encoding(encoding: str | None) -> None:
    """Reject the name of an unknown encoding of text.

    >>> check_encoding("cp12520")
    Traceback (most recent call last):
    saccade.errors.ArgumentError: --encoding: expected an encoding that Python knows, such as cp1252, got cp12520
    """
    try:
        "a".encode("utf-8" if encoding is None else encoding)
    except (LookupError, ValueError) as error:
        expected = "expected an encoding that Python knows, such as cp1252"
        raise ArgumentError(f"--encoding: {expected}, got {encoding or 'an empty name'}") from error


def read_lines(path: Path, holds: str = "a sentence a line") -> list[str]:
    r"""Read the lines of a file in UTF-8, packed by gzip or not, divided by \n or \r\n.

    Args:
        path: the file.
        holds: its expected content, for messages.

    Raises:
        ArgumentError: as in `read_text`, or if the file is empty.
        OSError: if it cannot be read.
    """
    text, _ = read_text(path)
    if not text:
        raise ArgumentError(f"{path}: expected {holds}, got an empty file")
    return lines_of(text)


def lines_of(text: str) -> list[str]:
    r"""Return the lines of a text, divided by \n or \r\n only.

    >>> lines_of("a\r\nb\u2028c\n")
    ['a', 'b\u2028c']
    """
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def suffix_of(path: Path) -> str:
    """Return the suffix of a file name in lower case, without .gz.

    >>> suffix_of(Path("A.CSV.gz"))
    '.csv'
    """
    return Path(path.name.lower().removesuffix(".gz")).suffix
