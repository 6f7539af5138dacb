"""Questions about images that are Python objects: arrays, tensors, Pillow's images, files and what `datasets` has."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from saccade.data.dataset import SPLITS
from saccade.data.rows import rows_of
from saccade.data.splits import SplitNames
from saccade.tasks.answer.data.collection import Collection, Gathering
from saccade.tasks.image.decoded import Source, key_of, source_of

__all__ = ["open_objects"]

_IMAGE, _QUESTION, _ANSWER = ("image", "img", "path"), ("question", "text"), ("answers", "answer", "label")


def open_objects(
    objects: Any, size: int | None = None, names: SplitNames | None = None, folder: Path | None = None
) -> Collection:
    """Return a data set of rows of an image, a question and its answer.

    A row is three of them, or a mapping with the columns `image`, `question` and `answer` (or `answers`, a list); an
    image is whatever `saccade.tasks.image.decoded.source_of` takes. Files are read as they are asked for.

    Args:
        objects: see `saccade.data.objects.rows_of`.
        size: pixels of images' longer side; see `Decoded`.
        names: what the splits of a mapping are called.
        folder: of the table that the rows are from, from which on paths are seen.

    Raises:
        ArgumentError: naming the row that is wrong.

    Example:
        >>> import numpy as np
        >>> rows = [(np.full((9, 9), level, np.uint8), "how bright is it?", str(level // 20)) for level in range(60)]
        >>> data = open_objects(rows)
        >>> data.shape, data.posed("train", 0).question, data.size("test")
        ((3, 9, 9), 'how bright is it?', 3)
    """

    def read(row: Any, _: Any) -> tuple[Source, str, tuple[str, ...]]:
        if isinstance(row, Mapping):
            row = [next((row[name] for name in each if name in row), None) for each in (_IMAGE, _QUESTION, _ANSWER)]
        if isinstance(row, str) or not isinstance(row, Sequence) or len(row) != 3 or row[0] is None:
            raise ValueError("expected an image, a question and its answer")
        image, question, answer = row
        if not isinstance(question, str) or not question.strip():
            raise ValueError(f"expected a question, got {question!r:.60}")
        return source_of(image, folder or Path()), question, _answers(answer)

    rows = rows_of(objects, read, lambda row: row[0], names)
    known = dict[object, str]()
    sources = dict[str, Source]()
    gathering = Gathering(Path("data"), sources.get)
    for split in SPLITS:
        for number, (source, question, answers) in enumerate(rows.splits[split], 1):
            name = known.setdefault(key_of(source), str(source) if isinstance(source, Path) else f"{split} {number}")
            sources[name] = source
            gathering.add(name, question, answers, f"data: {split}, row {number}", split)
    gathering.notes += [rows.note] if rows.note else []
    return gathering.open(size)


def _answers(given: Any) -> tuple[str, ...]:
    """One answer or several, as texts."""
    answers = [given] if isinstance(given, str | int) and not isinstance(given, bool) else given
    if not isinstance(answers, Sequence) or not answers:
        raise ValueError(f"expected an answer or a list of answers, got {given!r:.60}")
    texts = [one.get("answer") if isinstance(one, Mapping) else one for one in answers]
    if not all(isinstance(one, str | int) and str(one).strip() for one in texts):
        raise ValueError(f"expected an answer, got {given!r:.60}")
    return tuple(map(str, texts))
