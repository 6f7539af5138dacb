r"""Questions of one's own: lines of an image, a tab, a question, a tab and its answer.

    photos/a.jpg<TAB>what is on the desk?<TAB>a lamp
    photos/a.jpg<TAB>is it day?<TAB>yes

A path is taken from the file's folder on. A file alone has all splits held out, by images; a folder has train.tsv
(.csv, .jsonl), and validation and test, of which one that is missing is held out. Columns may be named by a header,
`split` too.
"""

from functools import partial
from pathlib import Path

from saccade.data import tables
from saccade.data.columns import Column, file_name
from saccade.data.files import open_tables
from saccade.data.rows import placed_rows
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.answer.data.collection import Gathering, Known
from saccade.tasks.image.decoded import Source
from saccade.tasks.image.places import Images

__all__ = ["asked_in", "read_table"]

_COLUMNS = (Column("image", ("image",), file_name), Column("question", ("question",)), Column("answer", ("answer",)))
_ENDS = (".tsv", ".csv", ".jsonl", ".ndjson")


def read_table(path: Path, names: SplitNames, known: Known | None = None) -> Gathering | None:
    """Read rows of images, questions and answers; None if the path has none.

    Args:
        path: a file; or a folder with one, or one for each split.
        names: the names of splits.
        known: whether a store has features of the image of a name; then no image is looked for.

    Raises:
        ArgumentError: naming the row that is wrong.
        OSError: if a file cannot be read.
    """
    read = partial(tables.read_table, columns=_COLUMNS)
    if (opened := open_tables(path, names, read, _ENDS, ["questions"])) is None:
        return None
    folder = path if path.is_dir() else path.parent
    images = Images(folder)

    def find(name: str) -> Source | None:
        if "\0" in name:
            return None
        return place if (place := folder / name).is_file() else images.find(name)

    gathering = Gathering(path, find, known=known)
    for where, row, split in placed_rows(opened, _COLUMNS, names, path):
        gathering.add(row["image"], row["question"], [row["answer"]], where, split or "train")
    return gathering


def asked_in(line: str, number: int) -> tuple[str, str]:
    r"""Return image and question of a line without an answer: what is asked of a model.

    Args:
        line: an image, a tab and a question.
        number: of the line.

    Raises:
        ArgumentError: naming the line, if one is missing.

    Example:
        >>> asked_in("a.png\twhat is it ?", 1)
        ('a.png', 'what is it ?')
    """
    name, tab, question = line.partition("\t")
    if not tab:
        raise ArgumentError(f"line {number}: expected an image, a tab and a question, got no tab: {line!r:.60}")
    for part, where in ((question, "a question behind"), (name, "an image before")):
        if not part.strip():
            raise ArgumentError(f"line {number}: expected {where} the tab, got none")
    return name.strip(), question
