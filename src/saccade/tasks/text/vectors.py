"""Word vectors of a text file in the format of GloVe and word2vec."""

import gzip
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch
from torch import Tensor

from saccade._system.files import naming, other_than_file
from saccade.errors import ArgumentError

__all__ = ["Vectors", "read_vectors"]

_GZIP = b"\x1f\x8b"
_LARGEST = 1e6  # of a number: squares of larger ones may overflow
_LONGEST = 1 << 20  # bytes of a line, far more than a vector has


@dataclass(frozen=True)
class Vectors:
    """The vectors of some words.

    Args:
        numbers: of the words, `(vectors,)`: their indices in the requested words.
        values: `(vectors, dim)`, float32.
    """

    numbers: Tensor
    values: Tensor


def read_vectors(path: Path, words: Sequence[str]) -> Vectors:
    r"""Read the vectors of words from a file, perhaps packed by gzip.

    A line is a word and its numbers with spaces between. The first line may have the number of vectors and of
    their features, as in word2vec. The first vector of a word counts.

    Args:
        path: the file.
        words: as the file writes them.

    Returns:
        The vectors in the file.

    Raises:
        ArgumentError: naming the line that is wrong, or if the file is empty or has none of the words.
        OSError: if it cannot be read.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "vectors.txt")
        ...     _ = path.write_text("the 1 2\ncat 3 4\n")
        ...     vectors = read_vectors(path, ["dog", "cat"])
        >>> vectors.numbers.tolist(), vectors.values.tolist()
        ([1], [[3.0, 4.0]])
    """
    indices = {word.encode(): number for number, word in enumerate(words)}
    rows: dict[int, list[float]] = {}
    dim = None
    with _opened(path) as lines:
        for number, line in enumerate(lines, 1):
            line = line.removeprefix(b"\xef\xbb\xbf").rstrip() if number == 1 else line.rstrip()
            if dim is None:
                dim, header = _shape(line, f"{path}: line {number}")
                if header:
                    continue
            _read(line, dim, indices, rows, f"{path}: line {number}")
    if dim is None:
        raise ArgumentError(f"{path}: expected word vectors, got an empty file")
    if not rows:
        raise ArgumentError(f"{path}: expected vectors of the {len(words)} words of the training split, got none")
    numbers = sorted(rows)
    values = np.array([rows[number] for number in numbers], np.float32)
    return Vectors(torch.tensor(numbers), torch.from_numpy(values))


def _shape(line: bytes, where: str) -> tuple[int, bool]:
    """Return the features of a vector by the first line, and whether it is a header."""
    parts = line.split(b" ")
    if len(parts) == 2 and all(part.isdigit() for part in parts):
        if not 0 < int(parts[1]) <= _LONGEST:
            raise ArgumentError(f"{where}: expected how many numbers a vector has, got {int(parts[1])}")
        return int(parts[1]), True
    if len(parts) < 2:
        raise ArgumentError(f"{where}: expected a word and its numbers with spaces between, got {_quoted(line)}")
    return len(parts) - 1, False


def _read(line: bytes, dim: int, indices: Mapping[bytes, int], rows: dict[int, list[float]], where: str) -> None:
    """Add the vector of a line, if its word is requested. A word may have spaces."""
    word, *numbers = line.rsplit(b" ", dim)
    if len(numbers) < dim or not word or (b" " in word and _numeric(word.rpartition(b" ")[2])):
        raise ArgumentError(
            f"{where}: expected a word and {dim} numbers, got {len(line.split())} parts: {_quoted(line)}"
        )
    number = indices.get(word)
    if number is None or number in rows:
        if numbers and not _numeric(numbers[0]):  # the first alone, since a file has millions
            raise ArgumentError(f"{where}: expected a word and {dim} numbers, got {_quoted(line)}")
        return
    try:
        values = [float(part) for part in numbers]
    except ValueError:
        raise ArgumentError(f"{where}: expected a word and {dim} numbers, got {_quoted(line)}") from None
    if not all(abs(value) <= _LARGEST for value in values):  # NaN is not either
        raise ArgumentError(f"{where}: expected numbers of at most {_LARGEST:g}, got others for {_quoted(word)}")
    rows[number] = values


def _numeric(part: bytes) -> bool:
    try:
        float(part)
    except ValueError:
        return False
    return True


def _quoted(line: bytes) -> str:
    return repr(line[:40].decode(errors="replace"))


@contextmanager
def _opened(path: Path) -> Iterator[Iterator[bytes]]:
    """Lines of a file, of limited length."""
    if got := other_than_file(path):
        raise ArgumentError(f"{path}: expected word vectors, got {got}")
    with naming(path), path.open("rb") as file:
        packed = file.peek(2)[:2] == _GZIP
        try:
            yield _lines(gzip.GzipFile(fileobj=file) if packed else file, path)  # type: ignore[arg-type]
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ArgumentError(
                f"{path}: expected a whole gzip file, got a damaged one ({error}); copy it anew"
            ) from error


def _lines(file: BinaryIO, path: Path) -> Iterator[bytes]:
    number = 0
    while line := file.readline(_LONGEST):
        number += 1
        if len(line) == _LONGEST:
            raise ArgumentError(
                f"{path}: line {number}: expected word vectors as text, got an endless line. Is it a binary file?"
            )
        yield line
