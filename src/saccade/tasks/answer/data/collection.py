"""Questions about images of files: the questions in memory, the images decoded as they are asked for."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from saccade.data.cleaning import cleaned
from saccade.data.dataset import SPLITS, check_index, check_split
from saccade.data.splits import held_out
from saccade.errors import ArgumentError
from saccade.tasks.answer.data.corpus import Asked, Posed
from saccade.tasks.image.dataset import hashes, hold_out
from saccade.tasks.image.decoded import Decoded, Source, key_of
from saccade.tasks.image.places import Place

__all__ = ["Collection", "Gathering", "Known", "Named", "Row", "kind_of"]

_WAY_OUT = "write one or leave the question out"
_KINDS = 12  # of questions, as their first words say; all others are one more

Known = Callable[[str], bool]
"""Whether features of the image of a name are there."""


class Row(NamedTuple):
    """A question about the image of a number.

    >>> Row(0, Posed("is it raining?", ("yes",), "is")).image
    0
    """

    image: int
    posed: Posed


class Named:
    """Images that are known by their names alone: features of them are in a store, and none is read.

    Args:
        names: of the images.

    Example:
        >>> Named(["a.jpg"]).get(0) is None, Named(["a.jpg"]).name(0)
        (True, 'a.jpg')
    """

    shape = None

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def get(self, number: int) -> None:
        """Return no image."""

    def name(self, number: int) -> str:
        """Return what an image is called."""
        return self._names[number]

    def told(self) -> list[object]:
        """Return what tells each image from others."""
        return list(self._names)


class Collection:
    """Questions about images of files, in three splits.

    Args:
        images: all images, or their names alone.
        splits: the questions of "train", "validation" and "test".
        note: what a user should know of the data, "" if nothing.

    Raises:
        ArgumentError: if a split has no questions.

    Example:
        >>> import torch
        >>> images = Decoded([("a", torch.zeros(3, 9, 12, dtype=torch.uint8))], None)
        >>> data = Collection(images, dict.fromkeys(SPLITS, [Row(0, Posed("is it raining?", ("no",), ""))]), "")
        >>> data.size("test"), data.example("train", 0).image.shape, data.posed("train", 0).answers
        (1, torch.Size([3, 9, 12]), ('no',))
    """

    def __init__(self, images: Decoded | Named, splits: Mapping[str, Sequence[Row]], note: str) -> None:
        for split in SPLITS:
            if not splits[split]:
                raise ArgumentError(f"{split}: expected questions about images, got none")
        self.sources, self.splits, self.note = images, splits, note

    def example(self, split: str, index: int) -> Asked:
        """Return one example of a split.

        Raises:
            ArgumentError: if there is no such split, or no such index in it, or the image cannot be read.
        """
        row = self._row(split, index)
        image = self.sources.get(row.image)
        return Asked(None if image is None else image.clone(), row.posed, self.sources.name(row.image))

    def posed(self, split: str, index: int) -> Posed:
        """Return a question and its answers alone.

        Raises:
            ArgumentError: if there is no such split, or no such index in it.
        """
        return self._row(split, index).posed

    def size(self, split: str) -> int:
        """Return how many questions a split has.

        Raises:
            ArgumentError: if there is no such split.
        """
        check_split(split)
        return len(self.splits[split])

    def images(self, split: str) -> int:
        """Return how many images a split has questions about.

        Raises:
            ArgumentError: if there is no such split.
        """
        check_split(split)
        return len(self._by_image[split])

    def about(self, split: str, image: int) -> Sequence[int]:
        """Return the indices of the questions about the image that a split names as the first, second, ...

        Raises:
            ArgumentError: if there is no such split, or no such image in it.
        """
        check_index(split, image, self.images(split))
        return self._by_image[split][image]

    @property
    def shape(self) -> tuple[int, int, int] | None:
        """Channels, height and width of all images; None if they are known by their names alone."""
        if self.sources.shape is None:
            return None
        channels, height, width = self.sources.shape
        return channels, height, width

    @cached_property
    def fingerprint(self) -> str:
        """How many questions there are, and a hash of them, of their answers and of the sizes of images' files."""
        digest = hashlib.blake2b(json.dumps([self.shape, self.sources.told()]).encode(), digest_size=8)
        for split in SPLITS:
            for row in self.splits[split]:
                digest.update(json.dumps([split, row.image, row.posed.question, row.posed.answers]).encode())
        counts = ", ".join(f"{split} {len(self.splits[split])}" for split in SPLITS)
        return f"questions {counts}, contents {digest.hexdigest()}"

    @cached_property
    def _by_image(self) -> dict[str, list[list[int]]]:
        found: dict[str, dict[int, list[int]]] = {split: {} for split in SPLITS}
        for split, rows in self.splits.items():
            for index, row in enumerate(rows):
                found[split].setdefault(row.image, []).append(index)
        return {split: list(own.values()) for split, own in found.items()}

    def _row(self, split: str, index: int) -> Row:
        check_index(split, index, self.size(split))
        return self.splits[split][index]


class Gathering:
    """Questions as they are read, line by line, with each image found once.

    Args:
        source: the file, or the folder of several, for messages.
        find: where the image of a name is; None if there is none.
        published: whether it is a collection as it was published, of which images may be missing: their questions are
            left out, and that is said. Else they are errors.
        known: of an image's name, whether there are features of it; then no image is looked for.

    Example:
        >>> import torch
        >>> gathering = Gathering(Path("pairs.tsv"), lambda name: torch.zeros(3, 9, 9, dtype=torch.uint8))
        >>> for name in "abc":
        ...     gathering.add(name, "is it raining?", ["no"], "pairs.tsv: line 1")
        >>> gathering.open(None).size("test")
        1
    """

    def __init__(
        self,
        source: Path,
        find: Callable[[str], Source | None],
        *,
        published: bool = False,
        known: Known | None = None,
    ) -> None:
        self.source, self.find, self.published, self.known = source, find, published, known
        self.names = list[str]()  # of each image the first that it was found by
        self.sources = list[Source]()  # of each, none where features are known
        self._numbers = dict[object, int]()  # of each image, by its names and by where it is
        self.rows: dict[str, list[Row]] = {split: [] for split in SPLITS}
        self.notes = list[str]()
        self.missing = Counter[str]()

    def add(
        self, name: str, question: str, answers: Sequence[str], where: str, split: str = "train", group: str = ""
    ) -> None:
        """Add a question.

        Args:
            name: of its image.
            question: white space in it is of no matter.
            answers: one, or as many as people gave.
            where: it stands, for messages.
            split: that it is in.
            group: its kind, "" where its first words are to say that.

        Raises:
            ArgumentError: if something is empty, or there is no such image.
        """
        text, said = cleaned(question, where), tuple(cleaned(answer, where) for answer in answers)
        if not name:
            raise ArgumentError(f"{where}: expected the name of an image, got none")
        if not text:
            raise ArgumentError(f"{where}: expected a question about {name}, got none; {_WAY_OUT}")
        if not said or not any(said):
            raise ArgumentError(f"{where}: expected an answer to {text!r:.60}, got none; {_WAY_OUT}")
        if (number := self._image(name, where)) is not None:
            self.rows[split].append(Row(number, Posed(text, tuple(filter(None, said)), group)))

    def open(self, size: int | None) -> Collection:
        """Return all questions; a split that is missing is held out from training, by images.

        Args:
            size: as `Decoded` takes it.

        Raises:
            ArgumentError: if there is nothing to train on, or no image can be read.
        """
        if not self.rows["train"]:
            raise ArgumentError(f"{self.source}: expected questions to train on, got none{self._absent()}")
        missing = [split for split in SPLITS if not self.rows[split]]
        if missing:
            self._hold_out(missing)
        if self.missing:
            count, images = sum(self.missing.values()), len(self.missing)
            gone = f"{self.source}: left out {_counted(count, 'question')} about {_counted(images, 'image')}"
            absent = "which is not there" if images == 1 else "which are not there"
            self.notes.append(f"{gone}, {absent if self.known is None else 'of which there are no features'}")
        self._name_kinds()
        out = held_out(missing, {split: len(rows) for split, rows in self.rows.items()}, "questions")
        note = "; ".join(filter(None, [*self.notes, f"{out}, by images" if out else ""]))
        named = list(zip(self.names, self.sources, strict=False))
        return Collection(Named(self.names) if self.known else Decoded(named, size), self.rows, note)

    def _image(self, name: str, where: str) -> int | None:
        if name in self._numbers:
            return self._numbers[name]
        if name not in self.missing:
            source = None if self.known else self.find(name)
            if source is not None or (self.known and self.known(name)):
                return self._numbered(name, source)
        if not self.published:
            what = "features of it in the store" if self.known else "an image"
            raise ArgumentError(f"{where}: expected {what}, found none: {name}")
        self.missing[name] += 1
        return None

    def _numbered(self, name: str, source: Source | None) -> int:
        """The number of an image that is named for the first time; one that has several names is one, in one split."""
        place = key_of(source) if isinstance(source, Place | Path) else name
        if place not in self._numbers:
            self._numbers[place] = len(self.names)
            self.names.append(name)
            self.sources += [] if source is None else [source]
        self._numbers[name] = self._numbers[place]
        return self._numbers[name]

    def _hold_out(self, missing: Sequence[str]) -> None:
        rows = self.rows["train"]
        numbers = sorted({row.image for row in rows})
        keys = hashes([os.fsencode(self.names[number]) for number in numbers])
        parts = hold_out(keys, missing, str(self.source))
        place = {number: split for split, inside in parts.items() for number in _chosen(numbers, inside)}
        for split in (*missing, "train"):
            self.rows[split] = [row for row in rows if place[row.image] == split]

    def _name_kinds(self) -> None:
        """Say the kind of all questions that come without one."""
        counts = Counter(kind_of(row.posed.question) for row in self.rows["train"] if not row.posed.group)
        known = {kind for kind, _ in counts.most_common(_KINDS)}
        for split, rows in self.rows.items():
            self.rows[split] = [_with_kind(row, known) for row in rows]

    def _absent(self) -> str:
        return f"; there is no image of the {len(self.missing)} that are named" if self.missing else ""


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def kind_of(question: str) -> str:
    """Return what kind of question its first words say it is.

    >>> kind_of("How many chairs are there?"), kind_of("What is on the desk?")
    ('how many', 'what')
    """
    words = question.lower().split()[:2]
    return " ".join(words[: 2 if words[0] == "how" else 1])[:20]


def _with_kind(row: Row, known: set[str]) -> Row:
    if row.posed.group:
        return row
    kind = kind_of(row.posed.question)
    return Row(row.image, row.posed._replace(group=kind if kind in known else "other"))


def _chosen(numbers: Sequence[int], inside: Iterable[Any]) -> list[int]:
    return [number for number, chosen in zip(numbers, inside, strict=True) if chosen]
