"""JSON of VQA 1 and 2: questions with ten answers each, and images of COCO.

    v2_OpenEnded_mscoco_train2014_questions.json   {"questions": [{"image_id": 9, "question": "...",
                                                                   "question_id": 90}]}
    v2_mscoco_train2014_annotations.json           {"annotations": [{"question_id": 90, "answer_type": "yes/no",
                                                                     "answers": [{"answer": "no"}, ...]}]}
    train2014/COCO_train2014_000000000009.jpg      in the folder, or in a tar or zip there

train2014 is for training and val2014 for validation. Answers to the test questions are not public, so the test split is
held out from training, by images. With `--test-split val`, val2014 is the test split, and validation is held out.

Source:
    Antol et al. 2015, "VQA: Visual Question Answering" (https://arxiv.org/abs/1505.00468).
    Goyal et al. 2017 (https://arxiv.org/abs/1612.00837), for version 2.
    https://visualqa.org/evaluation.html, for the comparison of answers.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from saccade.data.cleaning import cleaned
from saccade.data.columns import Listed
from saccade.data.dataset import SPLITS
from saccade.data.layouts.annotations import objects, read_objects
from saccade.data.splits import SplitNames
from saccade.data.table import Row, Table
from saccade.errors import ArgumentError

__all__ = ["normalized", "vqa"]

_QUESTIONS = re.compile(r".*?((?:train|val|test)[\w-]*?\d{4})_questions\.json")
_ARTICLES = {"a", "an", "the"}
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_DIGITS = {word: str(number) for number, word in enumerate(_NUMBERS)} | {"none": "0"}
_SPACED = re.compile(r"[;/\[\]\"{}()=+\\_\-><@`?!,]")  # punctuation except periods, apostrophes and colons
_PERIOD = re.compile(r"(?<!\d)\.|\.(?!\d)")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d)")


def vqa(folder: Path, names: SplitNames) -> dict[str, Table] | None:
    """Return rows of `image`, `question`, `answers` and `kind`.

    The result is None without a file of questions.

    Args:
        folder: folder of the files.
        names: the names of splits without the year, for example train and val.

    Raises:
        ArgumentError: for a missing or invalid file, question or answer, with its name.
        OSError: if a file cannot be read.
    """
    files = [(match[1], file) for file in sorted(folder.glob("*.json")) if (match := _QUESTIONS.fullmatch(file.name))]
    if not files:
        return None
    tables, unread = dict[str, Table](), list[str]()
    for part, file in files:
        split = names.split(re.sub(r"\d{4}$", "", part)) or names.split(part)
        answers = next(iter(sorted(folder.glob(f"*{part}_annotations.json"))), None)
        if split is None or answers is None:
            unread.append(file.name)
            continue
        if names.of(split)[0] in tables:
            raise ArgumentError(f"{folder}: expected one file of questions to {split}, got {file.name} as well")
        rows = list(_rows(file, answers, part))
        positions = [position for position, _ in rows]
        tables[names.of(split)[0]] = Table([row for _, row in rows], positions.__getitem__, size=len(rows))
    for split in SPLITS:
        if names.of(split)[0] not in tables:
            names.check(split, folder, (part for part, _ in files))
    note = f"not read: {', '.join(unread)}, which have no annotations or are in no split" if unread else ""
    return {
        name: Table(table.rows, table.where, note=note * (name == next(iter(tables)))) for name, table in tables.items()
    }


def normalized(answer: str) -> str:
    """Return an answer normalized for the comparison of VQA.

    It is in lower case, without articles, with numbers as digits, and without punctuation except in numbers.
    Contractions without an apostrophe stay, unlike in the official evaluation.

    >>> normalized("The Two dogs."), normalized("$2,000.50"), normalized("t-shirt")
    ('2 dogs', '$2000.50', 't shirt')
    """
    plain = _PERIOD.sub("", _SPACED.sub(" ", _THOUSANDS.sub("", answer.lower())))
    return " ".join(_DIGITS.get(word, word) for word in plain.split() if word not in _ARTICLES)


def _rows(file: Path, answers: Path, part: str) -> Iterator[tuple[str, Row]]:
    annotations = _by_number(answers, "annotations", answers=list)
    for number, (where, row) in _by_number(file, "questions", image_id=int, question=str).items():
        if number not in annotations:
            raise ArgumentError(f"{where}: expected an annotation of question {number} in {answers.name}, found none")
        position, annotation = annotations[number]
        texts = [cleaned(answer["answer"], at) for at, answer in objects(annotation, "answers", position, answer=str)]
        if not any(texts):
            way_out = "write one, or leave out the annotation and its question"
            raise ArgumentError(f"{position}: expected an answer to question {number}, got none; {way_out}")
        kind = annotation.get("answer_type", "")
        if not isinstance(kind, str):
            raise ArgumentError(f"{position}: expected a text called answer_type, got {kind!r:.60}")
        row = {"image": Listed(f"COCO_{part}_{row['image_id']:012}.jpg"), "question": row["question"], "kind": kind}
        yield where, {**row, "answers": [normalized(answer) or answer for answer in texts]}


def _by_number(path: Path, name: str, **fields: type) -> dict[int, tuple[str, Any]]:
    """Return place and content of each object of a list by question_id."""
    numbered = dict[int, tuple[str, Any]]()
    for where, item in objects(read_objects(path, name), name, path, question_id=int, **fields):
        if item["question_id"] in numbered:
            raise ArgumentError(f"{where}: expected each question_id once, got {item['question_id']} again")
        numbered[item["question_id"]] = where, item
    return numbered
