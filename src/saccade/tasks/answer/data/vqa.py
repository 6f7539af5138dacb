"""VQA's JSON, version 1 and 2: questions, ten people's answers to each, and COCO's images.

    v2_OpenEnded_mscoco_train2014_questions.json   {"questions": [{"image_id": 9, "question": "...",
                                                                   "question_id": 90}]}
    v2_mscoco_train2014_annotations.json           {"annotations": [{"question_id": 90, "answer_type": "yes/no",
                                                                     "answers": [{"answer": "no"}, ...]}]}
    train2014/COCO_train2014_000000000009.jpg      in the folder, or in a tar or zip there

train2014 is to train on, val2014 validates; what has no annotations is not read. The test questions' answers are not
public, so the test split is held out from training, by images; with `--test-split val` val2014 is to test on, and what
validates is held out.

Source:
    Antol et al. 2015, "VQA: Visual Question Answering" (https://arxiv.org/abs/1505.00468); Goyal et al. 2017
    (https://arxiv.org/abs/1612.00837) for version 2; https://visualqa.org/evaluation.html for how answers are compared.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from saccade.data.cleaning import cleaned
from saccade.data.dataset import SPLITS
from saccade.data.media import read_bytes
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.answer.data.collection import Gathering, Known
from saccade.tasks.fields import text, whole_number
from saccade.tasks.image.places import Images

__all__ = ["is_vqa", "normalized", "read_vqa"]

_MOST_BYTES = 1 << 30
_QUESTIONS = re.compile(r".*?((?:train|val|test)[\w-]*?\d{4})_questions\.json")
_ARTICLES = {"a", "an", "the"}
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_DIGITS = {word: str(number) for number, word in enumerate(_NUMBERS)} | {"none": "0"}
_SPACED = re.compile(r"[;/\[\]\"{}()=+\\_\-><@`?!,]")  # punctuation, but periods, apostrophes and colons
_PERIOD = re.compile(r"(?<!\d)\.|\.(?!\d)")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d)")


def is_vqa(path: Path) -> bool:
    """Return whether a folder has a file of VQA's questions."""
    return path.is_dir() and bool(_files(path))


def read_vqa(path: Path, names: SplitNames, known: Known | None = None) -> Gathering:
    """Read questions and answers.

    Args:
        path: the folder.
        names: what splits are called, the year left out: train, val.
        known: of an image's name, whether there are features of it; then no image is looked for.

    Raises:
        ArgumentError: naming what is missing or wrong.
        OSError: if something cannot be read.
    """
    gathering = Gathering(path, Images(path).find, published=True, known=known)
    unread = list[str]()
    found = set[str]()
    for subtype, file in _files(path).items():
        split = names.split(re.sub(r"\d{4}$", "", subtype)) or names.split(subtype)
        answers = next(iter(sorted(path.glob(f"*{subtype}_annotations.json"))), None)
        if split is None or answers is None:
            unread.append(file.name)
            continue
        if split in found:
            raise ArgumentError(f"{path}: expected one file of questions to {split}, got {file.name} as well")
        found.add(split)
        _add(gathering, file, answers, subtype, split)
    for split in SPLITS:
        if split not in found:
            names.check(split, path, _files(path))
    if unread:
        gathering.notes.append(f"not read: {', '.join(unread)}, which have no annotations or are in no split")
    return gathering


def normalized(answer: str) -> str:
    """Return an answer as VQA compares it: lower case, no articles, numbers as digits, no punctuation but in numbers.

    Contractions that miss their apostrophe are left as they are, which the official evaluation mends.

    >>> normalized("The Two dogs."), normalized("$2,000.50"), normalized("t-shirt")
    ('2 dogs', '$2000.50', 't shirt')
    """
    plain = _PERIOD.sub("", _SPACED.sub(" ", _THOUSANDS.sub("", answer.lower())))
    return " ".join(_DIGITS.get(word, word) for word in plain.split() if word not in _ARTICLES)


def _files(path: Path) -> dict[str, Path]:
    """The files of questions by what they are about, such as train2014."""
    found = {}
    for file in sorted(path.glob("*_questions.json")):
        if (match := _QUESTIONS.fullmatch(file.name)) is not None:
            found[match[1]] = file
    return found


def _add(gathering: Gathering, file: Path, answers: Path, subtype: str, split: str) -> None:
    told = _numbered(answers, "annotations", ("question_id", "answers"))
    annotations = {number: (place, annotation) for number, place, annotation in told}
    for number, where, one in _numbered(file, "questions", ("question_id", "image_id", "question")):
        if number not in annotations:
            raise ArgumentError(f"{where}: expected an annotation of question {number} in {answers.name}, found none")
        place, annotation = annotations[number]
        image = f"COCO_{subtype}_{whole_number(one, 'image_id', where):012}.jpg"
        kind = cleaned(text(annotation, "answer_type", place), place) if "answer_type" in annotation else ""
        gathering.add(image, text(one, "question", where), _answers(annotation, place), where, split, kind)


def _answers(annotation: Mapping[str, Any], where: str) -> list[str]:
    """What people answered, as it is compared; an answer of punctuation alone stays as it is."""
    given, asked = annotation["answers"], f"question {annotation['question_id']}"
    if not isinstance(given, list) or not all(isinstance(one, Mapping) for one in given):
        raise ArgumentError(f"{where}: expected a list of answers to {asked}, got {given!r:.60}")
    said = [cleaned(text(one, "answer", where), where) for one in given]
    if not any(said):
        way_out = "write one, or leave out the annotation and its question"
        raise ArgumentError(f"{where}: expected an answer to {asked}, got none; {way_out}")
    return [normalized(answer) or answer for answer in said]


def _numbered(path: Path, key: str, fields: tuple[str, ...]) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """The objects of a list in a JSON file, each with its question_id and what messages call it."""
    seen = set[int]()
    for where, one in _each(path, key, fields):
        number = whole_number(one, "question_id", where)
        if number in seen:
            raise ArgumentError(f"{where}: expected each question_id once, got {number} again")
        seen.add(number)
        yield number, where, one


def _each(path: Path, key: str, fields: tuple[str, ...]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The objects of a list in a JSON file, each with what messages call it."""
    try:
        content = json.loads(read_bytes(path, str(path), "a JSON file", _MOST_BYTES, "split it"))
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"{path}: expected JSON, got something else ({error})") from error
    rows = content.get(key) if isinstance(content, Mapping) else None
    if not isinstance(rows, list):
        raise ArgumentError(f"{path}: expected an object with a list of {key}, got others")
    for number, row in enumerate(rows, 1):
        where = f"{path}: {key} {number}"
        if not isinstance(row, Mapping) or not all(name in row for name in fields):
            raise ArgumentError(f"{where}: expected {', '.join(fields)}, got {row!r:.60}")
        yield where, row
