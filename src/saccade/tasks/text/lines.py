"""The lines of a text file by number, however many there are: the bytes stay on the disk."""

import codecs
import gzip
import hashlib
import shutil
import tempfile
import zlib
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from saccade.data.conversions import converted, recoded
from saccade.errors import ArgumentError
from saccade.tasks.pinned import Pinned, check_unchanged, state_of
from saccade.train.files import naming, other_than_file

__all__ = ["NO_TEXT", "Lines", "gather", "read_lines"]

_PART = 1 << 22  # bytes read at once
_LONGEST = 1 << 26  # bytes of a line: far more than a book
_GZIP = b"\x1f\x8b"
#: First bytes of white space that is not ASCII, and of a mark.
_BLANK_STARTS = {"utf-8": (0xC2, 0xE1, 0xE2, 0xE3, 0xEF), "latin-1": (0x85, 0xA0)}
#: Latin-1 has a character for every byte, so bytes that no text has tell what is none.
NO_TEXT = bytes(set(range(32)) - set(b"\t\n\v\f\r"))


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines of one file, each a text that is made when it is asked for.

    Args:
        path: where they were read.
        file: the file, or what it was unpacked to.
        starts: `(lines + 1,)`, where each line begins in them, and behind the last one where it ends.
        digest: a hash of the bytes.
        encoding: of the bytes, "utf-8" or "latin-1".
    """

    path: Path
    file: Pinned
    starts: NDArray[np.int64]
    digest: str
    encoding: str = "utf-8"

    def __len__(self) -> int:
        """How many lines there are."""
        return len(self.starts) - 1

    def __getitem__(self, number: int) -> str:
        """Return a line, counted from 0, without its end.

        Raises:
            ArgumentError: if the file is not what it was when its lines were found.
        """
        start, end = int(self.starts[number]), int(self.starts[number + 1])
        line = self.file.read(start, end - start).decode(self.encoding)
        return line.removesuffix("\n").removesuffix("\r").removeprefix("" if number else "\ufeff")

    def blank(self) -> NDArray[np.bool_]:
        """Return which lines are empty or white space alone, `(lines,)`."""
        begins, end = self.starts[:-1], int(self.starts[-1])
        first = np.zeros(len(self), np.uint8)
        for start in range(0, end, _PART):
            part = np.frombuffer(self.file.read(start, min(_PART, end - start)), np.uint8)
            here = slice(*np.searchsorted(begins, (start, start + _PART)))
            first[here] = part[begins[here] - start]
        blank = (first <= ord(" ")) | np.isin(
            first, _BLANK_STARTS[self.encoding]
        )  # those that may be: only they are looked at
        places = np.flatnonzero(blank)
        blank[places] = np.fromiter((not self[number].strip() for number in map(int, places)), bool, len(places))
        return blank


def read_lines(path: Path, *, latin1: bool = False) -> Lines:
    r"""Index the lines of a file of UTF-8, which end at \n alone; a \r before it belongs to the end.

    The file is read once, in parts, and then line by line. A packed file is unpacked into a temporary file without a
    name, which the system removes with the process. So is a file copied whose size the system does not say (/proc).

    Args:
        path: the file, packed or not, whatever it is called.
        latin1: whether a file that is no UTF-8 is one of Latin-1, if there are no bytes in it that no text has.

    Raises:
        ArgumentError: naming the file and line of what is no text so, or the file that is no whole gzip.
        OSError: if it cannot be read, or there is no space to unpack it.
    """
    if got := other_than_file(path):
        raise ArgumentError(f"{path}: expected a file of lines, got {got}")
    with naming(path), path.open("rb") as file:
        packed = file.read(len(_GZIP)) == _GZIP
        if not packed and state_of(file)[0]:
            return _indexed(file, path, latin1=latin1)
        with tempfile.TemporaryFile() as plain:
            file.seek(0)
            _copy(file, plain, path, packed=packed)
            return _indexed(plain, path, latin1=latin1)


def gather(path: Path, texts: Iterable[str]) -> Lines:
    """Return texts from elsewhere as lines that are made when they are asked for, in a temporary file without a name.

    Args:
        path: where they are from, for messages.
        texts: each is a line, line breaks within it included.

    Raises:
        OSError: if there is no space for them.
    """
    digest, starts = hashlib.blake2b(digest_size=16), array("q", [0])
    with tempfile.TemporaryFile() as plain:
        for text in texts:
            content = text.encode() + b"\n"
            digest.update(len(content).to_bytes(8, "big") + content)
            starts.append(starts[-1] + plain.write(content))
        plain.flush()
        return Lines(path, Pinned(plain, path, state_of(plain)), np.array(starts, np.int64), digest.hexdigest())


def _copy(file: BinaryIO, plain: BinaryIO, path: Path, *, packed: bool) -> None:
    """Copy a file, unpacked."""
    try:
        shutil.copyfileobj(gzip.GzipFile(fileobj=file) if packed else file, plain, _PART)
        plain.flush()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ArgumentError(f"{path}: expected a whole gzip file, got a damaged one ({error}); copy it anew") from error
    except OSError as error:
        error.filename = error.filename or tempfile.gettempdir()  # the disk that is full is that one
        raise


def _indexed(file: BinaryIO, path: Path, *, latin1: bool) -> Lines:
    """Find the lines of a file in the first encoding that it is in."""
    try:
        return _found(file, path, "utf-8")
    except ArgumentError:
        if not latin1:
            raise
    return _found(file, path, "latin-1")


def _found(file: BinaryIO, path: Path, encoding: str) -> Lines:
    """Find the lines of a file, and check its bytes and hash them on the way."""
    file.seek(0)
    state = state_of(file)
    digest, decoder = hashlib.blake2b(digest_size=16), codecs.getincrementaldecoder(encoding)()
    ends, size, last = [np.zeros(1, np.int64)], 0, 0
    try:
        while part := file.read(_PART):
            decoder.decode(part)
            if encoding == "latin-1" and len(part.translate(None, NO_TEXT)) < len(part):
                start = next(place for place, byte in enumerate(part) if byte in NO_TEXT)
                raise UnicodeDecodeError(encoding, part, start, start + 1, "no text")
            digest.update(part)
            ends.append(np.flatnonzero(np.frombuffer(part, np.uint8) == ord("\n")) + (size + 1))
            last = int(ends[-1][-1]) if len(ends[-1]) else last
            size += len(part)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        number = sum(map(len, ends)) + error.object[: error.start].count(b"\n")
        expected = "UTF-8" if encoding == "utf-8" else "text in UTF-8 or Latin-1"
        wrong = f"expected {expected}, got byte 0x{error.object[error.start]:02x}"
        way_out = converted(path).removeprefix("; ") or recoded(path)
        raise ArgumentError(f"{path}: line {number}: {wrong}; {way_out}") from error
    if last != size:
        ends.append(np.array([size]))  # the last line has no end of its own
    starts = np.concatenate(ends)
    _check_lengths(np.diff(starts), path)
    check_unchanged(file, state, path)
    return Lines(path, Pinned(file, path, state), starts, digest.hexdigest(), encoding)


def _check_lengths(sizes: NDArray[np.int64], path: Path) -> None:
    """Refuse a line that would fill the memory when it is asked for."""
    if sizes.max(initial=0) > _LONGEST:
        place, got = f"{path}: line {int(sizes.argmax()) + 1}", f"got {int(sizes.max()) >> 20} MiB without a line break"
        raise ArgumentError(f"{place}: expected a text of at most {_LONGEST >> 20} MiB, {got}; cut it into lines")
