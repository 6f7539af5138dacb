"""The lines of a text file by number, however many there are: the bytes stay on the disk, mapped into memory."""

import codecs
import gzip
import hashlib
import mmap
import shutil
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from saccade.errors import ArgumentError

__all__ = ["Lines", "read_lines"]

_PART = 1 << 22  # bytes read at once
_GZIP = b"\x1f\x8b"
_BLANK_STARTS = (0xC2, 0xE1, 0xE2, 0xE3)  # first bytes, in UTF-8, of the white space that is not ASCII


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines of one file, each a text that is made when it is asked for.

    Args:
        path: where they were read.
        buffer: the file's bytes, UTF-8.
        starts: `(lines + 1,)`, where each line begins in them, and behind the last one where it ends.
        digest: a hash of the bytes.
    """

    path: Path
    buffer: mmap.mmap | bytes
    starts: NDArray[np.int64]
    digest: str

    def __len__(self) -> int:
        """How many lines there are."""
        return len(self.starts) - 1

    def __getitem__(self, number: int) -> str:
        """Return a line, counted from 0, without its end."""
        line = self.buffer[self.starts[number] : self.starts[number + 1]].decode()
        return line.removesuffix("\n").removesuffix("\r").removeprefix("" if number else "\ufeff")

    def blank(self) -> NDArray[np.bool_]:
        """Return which lines are empty or white space alone, `(lines,)`."""
        first = np.frombuffer(self.buffer, np.uint8)[self.starts[:-1]]
        blank = (first <= ord(" ")) | np.isin(first, _BLANK_STARTS)  # those that may be: only they are looked at
        places = np.flatnonzero(blank)
        blank[places] = np.fromiter((not self[number].strip() for number in map(int, places)), bool, len(places))
        return blank


def read_lines(path: Path) -> Lines:
    r"""Index the lines of a file of UTF-8, which end at \n alone; a \r before it belongs to the end.

    The file is read once, in parts, and then mapped. What gzip has packed is unpacked into a temporary file without a
    name, which the system removes with the process.

    Args:
        path: the file, packed or not, whatever it is called.

    Raises:
        ArgumentError: naming the file and line of what is no UTF-8, or the file that is no whole gzip.
        OSError: if it cannot be read, or there is no space to unpack it.
    """
    with path.open("rb") as file:
        if file.read(len(_GZIP)) != _GZIP:
            return _indexed(file, path)
        with tempfile.TemporaryFile() as plain:
            _unpack(file, plain, path)
            return _indexed(plain, path)


def _unpack(packed: BinaryIO, plain: BinaryIO, path: Path) -> None:
    packed.seek(0)
    try:
        with gzip.GzipFile(fileobj=packed) as stream:
            shutil.copyfileobj(stream, plain, _PART)
        plain.flush()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ArgumentError(f"{path}: expected a whole gzip file, got a damaged one ({error}); copy it anew") from error
    except OSError as error:
        error.filename = error.filename or tempfile.gettempdir()  # the disk that is full is that one
        raise


def _indexed(file: BinaryIO, path: Path) -> Lines:
    """Find the lines of a file, and check its bytes and hash them on the way."""
    file.seek(0)
    digest, decoder = hashlib.blake2b(digest_size=16), codecs.getincrementaldecoder("utf-8")()
    ends, size = [np.zeros(1, np.int64)], 0
    try:
        while part := file.read(_PART):
            decoder.decode(part)
            digest.update(part)
            ends.append(np.flatnonzero(np.frombuffer(part, np.uint8) == ord("\n")) + (size + 1))
            size += len(part)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        number = sum(map(len, ends)) + error.object[: error.start].count(b"\n")
        wrong = f"expected UTF-8, got byte 0x{error.object[error.start]:02x}"
        raise ArgumentError(f"{path}: line {number}: {wrong}; correct it or convert the file") from error
    if ends[-1][-1:] != size:
        ends.append(np.array([size]))  # the last line has no end of its own
    buffer = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    return Lines(path, buffer, np.concatenate(ends), digest.hexdigest())
