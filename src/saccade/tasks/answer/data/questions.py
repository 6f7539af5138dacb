"""Questions about images: rows of files, tables and Python objects as a data set."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from saccade.data import Column, Row, Rows
from saccade.data.cleaning import cleaned
from saccade.data.columns import FILL
from saccade.data.dataset import SPLITS
from saccade.data.naming import are_questions, are_texts
from saccade.tasks.answer.data.corpus import Asked, Posed
from saccade.tasks.image.pictures import Gallery, Illustrated

__all__ = ["COLUMNS", "Questions", "kind_of"]

_KINDS = 12  # groups of questions by first words; all other questions are one more group


class Questions(Illustrated[Posed]):
    """Questions about images in three splits.

    The group of a question is its kind, or else its first words.

    Args:
        rows: of an `image`, a `question`, its `answer`, a tuple, and its `kind`, "" if there is none.
        gallery: of the rows.
        size: height and width of all images; None if there are features of them.
    """

    def __init__(self, rows: Rows[Row], gallery: Gallery, size: tuple[int, int] | None) -> None:
        counts = Counter(kind_of(row["question"]) for row in rows.splits["train"] if not row["kind"])
        common = {kind for kind, _ in counts.most_common(_KINDS)}

        def posed(row: Row) -> Posed:
            kind = kind_of(row["question"])
            return Posed(row["question"], row["answer"], row["kind"] or (kind if kind in common else "other"))

        splits = {split: [(row["image"].number, posed(row)) for row in rows.splits[split]] for split in SPLITS}
        super().__init__(gallery.pictures, size, splits, rows.note, rows.guessed)

    def example(self, split: str, index: int) -> Asked:
        """Return one example of a split."""
        image, name = self.image(split, index)
        return Asked(image, self.posed(split, index), name)

    def posed(self, split: str, index: int) -> Posed:
        """Return a question and its answers alone."""
        return self._row(split, index)[1]


def kind_of(question: str) -> str:
    """Return the kind of a question by its first words.

    >>> kind_of("How many chairs are there?"), kind_of("What is on the desk?")
    ('how many', 'what')
    """
    words = question.lower().split()[:2]
    return " ".join(words[: 2 if words[0] == "how" else 1])[:20]


def _question(cell: Any) -> str:
    if not isinstance(cell, str) or not (question := cleaned(cell, "question")):
        got = repr(cell) if cell and not isinstance(cell, str) else "an empty cell"
        raise ValueError(f"expected a question, got {got:.60}; {FILL}")
    return question


def _answers(cell: Any) -> tuple[str, ...]:
    """One answer or several, as texts."""
    answers = [cell] if isinstance(cell, str | int) and not isinstance(cell, bool) else cell
    if not isinstance(answers, Sequence):
        raise ValueError(f"expected an answer or a list of answers, got {cell!r:.60}")
    texts = [answer.get("answer") if isinstance(answer, Mapping) else answer for answer in answers]
    if not all(isinstance(text, str | int) for text in texts):
        raise ValueError(f"expected an answer, got {cell!r:.60}")
    cleaned_texts = tuple(filter(None, (cleaned(str(text), "answer") for text in texts)))
    if not cleaned_texts:
        raise ValueError(f"expected an answer, got an empty cell; {FILL}")
    return cleaned_texts


COLUMNS = (
    Column("question", ("question", "text"), _question, what="a question", looks=are_questions),
    Column("answer", ("answer", "answers", "label"), _answers, what="an answer", looks=are_texts),
    Column("kind", ("kind",), lambda cell: cell if isinstance(cell, str) else "", needed=False),
)
"""Columns of questions with an answer, or one of each person."""
