"""bAbI: stories with questions between their sentences.

A file has one of 20 tasks and one split, for example `qa1_single-supporting-fact_train.txt`. A line is a number and a
sentence, or a number, a question, a tab, its answer, a tab and the numbers of the supporting sentences. The numbers of
each story start at 1.

Source:
    Weston et al. 2015, "Towards AI-Complete Question Answering: A Set of Prerequisite Toy Tasks"
    (https://arxiv.org/abs/1502.05698).
"""

import re
from collections.abc import Iterator
from pathlib import Path

from saccade.data.cleaning import composed
from saccade.data.splits import SplitNames
from saccade.data.table import Table
from saccade.data.texts import read_lines
from saccade.errors import ArgumentError

__all__ = ["QUESTION", "babi", "cut", "is_babi"]

QUESTION = "?"
_FILE = re.compile(r"(qa\d+)(?:_.+)?_([^_]+)\.txt")
_PIECES = re.compile(r"[^\s.?!]+|[.?!]")


def cut(text: str) -> list[str]:
    """Return the words and marks of a story, in lower case.

    >>> cut("Where is Mary?")
    ['where', 'is', 'mary', '?']
    """
    return _PIECES.findall(composed(text.lower()))


def babi(path: Path, names: SplitNames) -> dict[str, Table] | None:
    """Return rows of a story, its answers and its task, or None for another layout.

    Tasks without a training file are left out, with a note.

    Args:
        path: the folder (`en-10k`), or one task of it (`en-10k/qa1`).
        names: the names of splits.

    Raises:
        ArgumentError: for an invalid line, with its number, or without training files.
        OSError: if a file cannot be read.
    """
    if not (named := _named(path)):
        return None
    files = sorted((int(of[2:]), split, file) for file, of, split in named if names.split(split))
    whole = {number for number, split, _ in files if names.split(split) == "train"}
    if not whole:
        got = ", ".join(dict.fromkeys(f"qa{number}" for number, *_ in files)) or "none"
        raise ArgumentError(f"{path}: expected files of training (qa1_..._train.txt), got none; of others: {got}")
    left = ", ".join(dict.fromkeys(f"qa{number}" for number, *_ in files if number not in whole))
    unknown = ", ".join(sorted({split for _, _, split in named if not names.split(split)}))
    notes = [
        f"not read: {unknown}, which is no split's name (--train-split, ...)" if unknown else "",
        f"left out, as there is no training file: {left}" if left else "",
    ]
    note, tables = "; ".join(filter(None, notes)), dict[str, Table]()
    for split in dict.fromkeys(split for _, split, _ in files):
        parts = [list(_stories(file, f"qa{n}")) for n, of, file in files if of == split and n in whole]
        rows = [row for part in parts for row in part]
        if rows:
            tables[names.spelled(split)] = Table(
                rows, str, note=note if names.split(split) == "train" else "", size=len(rows)
            )
    return tables


def is_babi(path: Path) -> bool:
    """Return whether a path is a folder or a prefix of bAbI files.

    >>> is_babi(Path("nowhere/qa1"))
    False
    """
    return bool(_named(path))


def _named(path: Path) -> list[tuple[Path, str, str]]:
    """Return the files of a path with task and split."""
    folder, task = (path, "") if path.is_dir() else (path.parent, path.name)
    there = sorted(folder.iterdir()) if folder.is_dir() and (not task or re.fullmatch(r"qa\d+", task)) else []
    named = [(file, match[1], match[2]) for file in there if (match := _FILE.fullmatch(file.name))]
    return [(file, of, split) for file, of, split in named if task in ("", of)]


def _stories(file: Path, task: str) -> Iterator[dict[str, str]]:
    """Yield the stories of a file, each with at least one question."""
    words, answers, count = list[str](), list[str](), 0
    for number, line in enumerate(read_lines(file, "a question, a tab and its answer somewhere"), 1):
        if not line.strip():
            continue
        story_line, _, rest = line.partition(" ")
        where = f"row {number} of {file}"
        if not (story_line.isascii() and story_line.isdecimal() and rest.strip()):
            raise ArgumentError(f"{where}: expected a number and a sentence, got {line!r:.60}")
        if int(story_line) == 1:
            if answers:
                yield {"story": " ".join(words), "answers": " ".join(answers), "task": task}
            words, answers = [], []
        sentence, tab, rest = rest.partition("\t")
        words += [word for word in cut(sentence) if word != QUESTION]  # a question mark only for lines with an answer
        if tab:
            words.append(QUESTION)
            answers.append(_answer(rest, where))
            count += 1
    if not count:
        raise ArgumentError(f"{file}: expected a question, a tab and its answer somewhere, got none")
    if answers:
        yield {"story": " ".join(words), "answers": " ".join(answers), "task": task}


def _answer(rest: str, where: str) -> str:
    answer = composed(rest.partition("\t")[0].strip().lower())
    if not answer or len(answer.split()) > 1:
        raise ArgumentError(f"{where}: expected an answer of one word behind a tab, got {rest!r:.60}")
    return answer
