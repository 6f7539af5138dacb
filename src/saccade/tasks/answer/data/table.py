r"""Questions of one's own: lines of an image, a tab, a question, a tab and its answer.

    photos/a.jpg<TAB>what is on the desk?<TAB>a lamp
    photos/a.jpg<TAB>is it day?<TAB>yes

A path is taken from the file's folder on. A file alone has all splits held out, by images; a folder has train.tsv, and
validation.tsv and test.tsv, of which one that is missing is held out. Columns may be named by a header, `split` too.
"""

from pathlib import Path

from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.answer.data.collection import Gathering, Known
from saccade.tasks.image.decoded import Source
from saccade.tasks.image.places import Images
from saccade.tasks.image.tables import image_name, tables, told_rows

__all__ = ["ALONE", "asked_in", "read_table"]

#: What a file with the questions of all splits is called in a folder.
ALONE = "questions"

_COLUMNS = ("image", "question", "answer")
_ROW = "an image, a tab, a question, a tab and an answer"


def read_table(path: Path, names: SplitNames, known: Known | None = None) -> Gathering:
    """Read lines of images, questions and answers.

    Args:
        path: a file, packed by gzip or not; or a folder with one, or one for each split.
        names: what splits are called.
        known: of an image's name, whether there are features of it; then no image is looked for.

    Raises:
        ArgumentError: naming the line that is wrong.
        OSError: if a file cannot be read.
    """
    folder = path if path.is_dir() else path.parent
    images = Images(folder)

    def find(name: str) -> Source | None:
        if "\0" in name:
            return None
        return place if (place := folder / name).is_file() else images.find(name)

    gathering = Gathering(path, find, known=known)
    for split, table in tables(path, names, ALONE).items():
        for where, (name, question, answer), own in told_rows(table, _COLUMNS, _ROW, names, split):
            gathering.add(image_name(name), question, [answer], where, own or "train")
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
