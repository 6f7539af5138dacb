"""bAbI's files: stories with questions between their sentences (Weston et al. 2015, https://arxiv.org/abs/1502.05698).

A file is of one of 20 tasks and of one split, `qa1_single-supporting-fact_train.txt`. A line is a number, which begins
again at 1 with each story, and a sentence; or a question, a tab, its answer, a tab and the sentences that support it.
"""

import re
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from saccade.data.cleaning import composed
from saccade.data.rows import Rows, rows_of
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.memorize.data.corpus import Item
from saccade.train.files import read

__all__ = ["QUESTION", "Stories", "cut", "is_babi", "open_babi"]

QUESTION = "?"
_FILE = re.compile(r"(qa\d+)(?:_(.+))?_([^_]+)\.txt")
_PIECES = re.compile(r"[^\s.?!]+|[.?!]")
_LARGEST = 1 << 27  # bytes of a file, unpacked; the largest of bAbI's has 15 MB


class Stories:
    """Stories in three splits, each a question whose answers are those to all that is asked in it.

    Args:
        rows: the stories.
    """

    def __init__(self, rows: Rows[Item]) -> None:
        self.rows, self.fingerprint, self.note = rows, f"bAbI {rows.fingerprint}", rows.note

    def example(self, split: str, index: int) -> Item:
        """Return one story of a split; its group is its task."""
        return self.rows.row(split, index)

    def size(self, split: str) -> int:
        """Return how many stories a split has."""
        return self.rows.size(split)


def cut(text: str) -> list[str]:
    """Return the words and marks of a story, in lower case.

    >>> cut("Where is Mary?")
    ['where', 'is', 'mary', '?']
    """
    return _PIECES.findall(composed(text.lower()))


def is_babi(path: Path) -> bool:
    """Whether a path is a folder or archive with bAbI's files, or what names of such files begin with.

    >>> is_babi(Path("nowhere/qa1"))
    False
    """
    return bool(_named(path))


def open_babi(path: Path, names: SplitNames) -> Stories:
    """Open bAbI's files: all tasks of a folder or an archive, or the one that their names begin with.

    Args:
        path: of the folder (`en-10k`), the archive (`en-10k.tar.gz`), or one task of either (`en-10k/qa1`).
        names: what splits are called.

    A validation split that is missing is held out by a hash of the stories. Tasks that have no training file are left
    out, which is said.

    Raises:
        ArgumentError: if a line is not as it should be, naming it, or there are no training files.
        OSError: if a file cannot be read.
    """
    found, unknown = dict[str, dict[str, list[Item]]](), set[str]()
    for name, content in _contents(path):
        task, split = _told(name)
        if (known := names.split(split)) is None:
            unknown.add(split)
            continue
        splits = found.setdefault(task, {})
        if known in splits:
            way_out = "unpack it, and name the folder of one of them"
            raise ArgumentError(f"{path}: expected one set, got several, with {name} in each; {way_out}")
        if not (stories := list(_stories(content, task, name))):
            raise ArgumentError(f"{name}: expected a question, a tab and its answer somewhere, got none")
        splits[known] = stories
    whole = {task: splits for task, splits in found.items() if "train" in splits}
    if not whole:
        got = ", ".join(sorted(found, key=_number)) or "none"
        raise ArgumentError(f"{path}: expected files of training (qa1_..._train.txt), got none; of others: {got}")
    tasks = sorted(whole, key=_number)
    given = {split: [item for task in tasks for item in whole[task].get(split, ())] for split in names.all.values()}
    left = sorted(set(found) - set(whole), key=_number)
    rows = rows_of(_renamed({split: items for split, items in given.items() if items}, names), _kept, _asked, names)
    unread = f"not read: {', '.join(sorted(unknown))}, which is no split's name (--train-split, ...)" if unknown else ""
    notes = [rows.note, unread, f"left out, as there is no training file: {', '.join(left)}" if left else ""]
    return Stories(Rows(rows.splits, rows.fingerprint, "; ".join(filter(None, notes))))


def _kept(row: Item, features: object) -> Item:
    return row


def _asked(item: Item) -> str:
    return item.text


def _renamed(given: Mapping[str, list[Item]], names: SplitNames) -> dict[str, list[Item]]:
    return {names.of(split)[0]: items for split, items in given.items()}


def _told(name: str) -> tuple[str, str]:
    """Task and split of a file's name."""
    found = _FILE.fullmatch(name)
    assert found is not None
    return found[1], found[3]


def _number(task: str) -> int:
    return int(task.removeprefix("qa"))


def _named(path: Path) -> tuple[Path, str] | None:
    """Folder or archive, and the task that is meant, "" for all; None where no file of bAbI's is there."""
    for place, task in ((path, ""), (path.parent, path.name)):
        if task and not re.fullmatch(r"qa\d+", task):
            continue
        if place.is_dir() and any(_belongs(file.name, task) for file in place.iterdir()):
            return place, task
        if place.is_file() and place.name.endswith((".tar.gz", ".tgz", ".tar")) and _holds(place):
            return place, task
    return None


def _holds(place: Path) -> bool:
    """Whether an archive has files of bAbI's, or is damaged, which is told where it is read."""
    try:
        with tarfile.open(place) as archive:
            return any(_belongs(Path(member.name).name, "") for member in archive)
    except (tarfile.TarError, EOFError, OSError):
        return True


def _belongs(name: str, task: str) -> bool:
    found = _FILE.fullmatch(name)
    return found is not None and task in ("", found[1])


def _contents(path: Path) -> Iterator[tuple[str, str]]:
    """Name and text of each file that is meant."""
    named = _named(path)
    assert named is not None
    place, task = named
    if place.is_dir():
        for file in sorted(place.iterdir()):
            if _belongs(file.name, task):
                yield file.name, _text(read(file), file)
        return
    try:
        with tarfile.open(place) as archive:
            for member in archive:
                name = Path(member.name).name
                if member.isfile() and _belongs(name, task):
                    if member.size > _LARGEST:
                        raise ArgumentError(
                            f"{place}: {name}: expected at most {_LARGEST:,} bytes, got {member.size:,}"
                        )
                    content = archive.extractfile(member)
                    assert content is not None
                    yield name, _text(content.read(), Path(place.name) / name)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise ArgumentError(f"{place}: expected a whole archive, got a damaged one ({error})") from error


def _text(content: bytes, file: Path) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ArgumentError(f"{file}: expected UTF-8, got other bytes at byte {error.start}") from error


def _stories(content: str, task: str, name: str) -> Iterator[Item]:
    """The stories of a file, of which each has a question at the least."""
    words, answers = list[str](), list[str]()
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        place, _, told = line.partition(" ")
        if not (place.isascii() and place.isdecimal() and told.strip()):
            raise ArgumentError(f"{name}: line {number}: expected a number and a sentence, got {line!r:.60}")
        if int(place) == 1 and answers:
            yield Item(" ".join(words), " ".join(answers), task)
        if int(place) == 1:
            words, answers = [], []
        sentence, tab, rest = told.partition("\t")
        words += [word for word in cut(sentence) if word != QUESTION]  # only what has an answer asks
        if tab:
            words.append(QUESTION)
            answers.append(_answer(rest, name, number))
    if answers:
        yield Item(" ".join(words), " ".join(answers), task)


def _answer(rest: str, name: str, number: int) -> str:
    answer = composed(rest.partition("\t")[0].strip().lower())
    if not answer or len(answer.split()) > 1:
        raise ArgumentError(f"{name}: line {number}: expected an answer of one word behind a tab, got {rest!r:.60}")
    return answer
