"""Which corpora there are, and what they are called on the command line."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from saccade.data.dataset import data_path, no_such_data
from saccade.data.splits import SplitNames
from saccade.tasks.arrow import is_arrow, read_arrow
from saccade.tasks.classify_text.data.corpus import Corpus, Example, check_labels, unknown_label
from saccade.tasks.classify_text.data.folder import open_files
from saccade.tasks.classify_text.data.reviews import Reviews
from saccade.tasks.objects import OBJECTS, LeftOut, Rows, pair_reader, rows_of

__all__ = ["BUILTIN", "open_corpus"]

BUILTIN = {
    "reviews": "sentences about films, positive or negative by their word order; generated on the fly",
}


def open_corpus(data: str, objects: Any = None, names: SplitNames | None = None) -> Corpus:
    """Return the corpus that --data names: the built-in one, a file, a folder, or what files' names begin with.

    Args:
        data: its name.
        objects: the texts and labels themselves, where `data` says that they are Python objects.
        names: what splits are called.

    Raises:
        ArgumentError: if there is none, or something is wrong with it.

    Example:
        >>> open_corpus("reviews").labels
        ('negative', 'positive')
    """
    path, names = data_path(data), names or SplitNames()
    if data == OBJECTS:
        return _objects(objects, names)
    if data in BUILTIN:
        names.refuse(data)
        return Reviews()
    if is_arrow(path):
        return _objects(read_arrow(path, names), names, data)
    found = open_files(path, names)
    if found is not None:
        return found
    raise no_such_data(data, BUILTIN, "folder, file or files that begin so")


def _objects(objects: Any, names: SplitNames, where: str = "data") -> "_Objects":
    """Read rows, leave out those without a text, and check the labels; messages say where they are from."""
    found = _Objects(rows_of(objects, _read, lambda row: row[0], names, _BLANK))
    labels = set(found.labels)
    check_labels(labels, found.size("train"), where)
    for split, rows in found.rows.splits.items():
        for index, (_, label) in enumerate(rows):
            if label not in labels:
                raise unknown_label(label, split, found.rows.place(split, index))
    return found


def _read(row: Any, features: Any) -> tuple[str, ...]:
    text, label = _PAIR(row, features)
    if text and not label:
        raise ValueError("expected a label beside the text, got none")
    return text, label


_PAIR = pair_reader(("sentence", "text"), ("label",))
_BLANK = LeftOut[tuple[str, ...]](lambda row: not row[0], "texts, which are blank")


@dataclass(frozen=True)
class _Objects:
    """A corpus of Python objects."""

    rows: Rows[tuple[str, ...]]

    @property
    def note(self) -> str:
        """What a user should know of the texts."""
        return self.rows.note

    def example(self, split: str, index: int) -> Example:
        """Return one example of a split; its group is ""."""
        text, label = self.rows.example(split, index)
        return Example(text, label, "")

    def size(self, split: str) -> int:
        """Return how many examples a split has."""
        return self.rows.size(split)

    @property
    def labels(self) -> Sequence[str]:
        """All labels of the training split, sorted."""
        return sorted({label for _, label in self.rows.splits["train"]})

    @property
    def fingerprint(self) -> str:
        """What the examples are, in one string."""
        return self.rows.fingerprint
