"""Word vectors that were learned elsewhere, out of a text file as GloVe and word2vec write them."""

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
_LARGEST = 1e6  # of a number: beyond it nothing is learned, and its square may be none that a float32 can be
_LONGEST = 1 << 20  # bytes of a line: no vector has so many


@dataclass(frozen=True)
class Vectors:
    """The vectors of some words.

    Args:
        numbers: which words they are of, `(found,)`: their places in what was asked for.
        values: `(found, dim)`, float32.
    """

    numbers: Tensor
    values: Tensor


def read_vectors(path: Path, words: Sequence[str]) -> Vectors:
    r"""Read the vectors of some words, in one pass over the file, packed by gzip or not.

    A line is a word and its numbers with spaces between. The first line may say how many vectors there are and how many
    numbers each has, as word2vec writes it. Of a word that is there twice the first is taken.

    Args:
        path: the file.
        words: that are asked for, as the file writes them.

    Returns:
        The vectors of those that the file has.

    Raises:
        ArgumentError: naming the line that is wrong, or if the file is empty or has none of the words.
        OSError: if it cannot be read.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "vectors.txt")
        ...     _ = path.write_text("the 1 2\ncat 3 4\n")
        ...     found = read_vectors(path, ["dog", "cat"])
        >>> found.numbers.tolist(), found.values.tolist()
        ([1], [[3.0, 4.0]])
    """
    wanted = {word.encode(): number for number, word in enumerate(words)}
    found: dict[int, list[float]] = {}
    dim = None
    with _opened(path) as lines:
        for number, line in enumerate(lines, 1):
            line = line.removeprefix(b"\xef\xbb\xbf").rstrip() if number == 1 else line.rstrip()
            if dim is None:
                dim, header = _shape(line, f"{path}: line {number}")
                if header:
                    continue
            _read(line, dim, wanted, found, f"{path}: line {number}")
    if dim is None:
        raise ArgumentError(f"{path}: expected word vectors, got an empty file")
    if not found:
        raise ArgumentError(f"{path}: expected vectors of the {len(words)} words of the training split, got none")
    numbers = sorted(found)
    values = np.array([found[number] for number in numbers], np.float32)
    return Vectors(torch.tensor(numbers), torch.from_numpy(values))


def _shape(line: bytes, place: str) -> tuple[int, bool]:
    """How many numbers a vector has, by the first line, and whether that is a header of two numbers."""
    parts = line.split(b" ")
    if len(parts) == 2 and all(part.isdigit() for part in parts):
        if not 0 < int(parts[1]) <= _LONGEST:
            raise ArgumentError(f"{place}: expected how many numbers a vector has, got {int(parts[1])}")
        return int(parts[1]), True
    if len(parts) < 2:
        raise ArgumentError(f"{place}: expected a word and its numbers with spaces between, got {_shown(line)}")
    return len(parts) - 1, False


def _read(line: bytes, dim: int, wanted: Mapping[bytes, int], found: dict[int, list[float]], place: str) -> None:
    """Take the vector of a line in, if it is wanted. A word may have spaces in it."""
    word, *numbers = line.rsplit(b" ", dim)
    if len(numbers) < dim or not word or (b" " in word and _numeric(word.rpartition(b" ")[2])):
        raise ArgumentError(
            f"{place}: expected a word and {dim} numbers, got {len(line.split())} parts: {_shown(line)}"
        )
    number = wanted.get(word)
    if number is None or number in found:
        if numbers and not _numeric(numbers[0]):  # no more is looked at: a file has millions of numbers
            raise ArgumentError(f"{place}: expected a word and {dim} numbers, got {_shown(line)}")
        return
    try:
        values = [float(part) for part in numbers]
    except ValueError:
        raise ArgumentError(f"{place}: expected a word and {dim} numbers, got {_shown(line)}") from None
    if not all(abs(value) <= _LARGEST for value in values):  # NaN is not either
        raise ArgumentError(f"{place}: expected numbers of at most {_LARGEST:g}, got others for {_shown(word)}")
    found[number] = values


def _numeric(part: bytes) -> bool:
    try:
        float(part)
    except ValueError:
        return False
    return True


def _shown(line: bytes) -> str:
    return repr(line[:40].decode(errors="replace"))


@contextmanager
def _opened(path: Path) -> Iterator[Iterator[bytes]]:
    """The lines of a file, none of them longer than a vector can be."""
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
                f"{path}: line {number}: expected word vectors as text, got a line of no end; a binary file?"
            )
        yield line
