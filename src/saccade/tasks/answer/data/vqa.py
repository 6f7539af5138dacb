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

from saccade.errors import ArgumentError
from saccade.tasks.answer.data.collection import Gathering, Known
from saccade.tasks.dataset import SPLITS
from saccade.tasks.image.places import Images
from saccade.tasks.media import read_bytes
from saccade.tasks.splits import SplitNames

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
    text = _PERIOD.sub("", _SPACED.sub(" ", _THOUSANDS.sub("", answer.lower())))
    return " ".join(_DIGITS.get(word, word) for word in text.split() if word not in _ARTICLES)


def _files(path: Path) -> dict[str, Path]:
    """The files of questions by what they are about, such as train2014."""
    found = {}
    for file in sorted(path.glob("*_questions.json")):
        if (match := _QUESTIONS.fullmatch(file.name)) is not None:
            found[match[1]] = file
    return found


def _add(gathering: Gathering, file: Path, answers: Path, subtype: str, split: str) -> None:
    known = dict[int, Mapping[str, Any]]()
    for where, one in _each(answers, "annotations", ("question_id", "answers")):
        if known.setdefault(one["question_id"], one) is not one:
            raise ArgumentError(f"{where}: expected each question_id once, got {one['question_id']} again")
    seen = set[int]()
    for where, one in _each(file, "questions", ("question_id", "image_id", "question")):
        number = one["question_id"]
        if number in seen:
            raise ArgumentError(f"{where}: expected each question_id once, got {number} again")
        seen.add(number)
        if number not in known:
            raise ArgumentError(f"{where}: expected an annotation of question {number} in {answers.name}, found none")
        annotation = known[number]
        said = [normalized(answer) or answer for answer in _answers(annotation, where)]
        image = _image(one["image_id"], subtype, where)
        gathering.add(image, one["question"], said, where, split, str(annotation.get("answer_type", "")))


def _answers(annotation: Mapping[str, Any], where: str) -> list[str]:
    try:
        return [str(one["answer"]) for one in annotation["answers"]]
    except (TypeError, KeyError) as error:
        question = annotation["question_id"]
        raise ArgumentError(f"{where}: expected a list of answers to question {question}, got others") from error


def _image(number: Any, subtype: str, where: str) -> str:
    if type(number) is not int:
        raise ArgumentError(f"{where}: expected a number as image_id, got {number!r:.60}")
    return f"COCO_{subtype}_{number:012}.jpg"


def _each(path: Path, key: str, fields: tuple[str, ...]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The objects of a list in a JSON file, each with what messages call it."""
    try:
        content = json.loads(read_bytes(path, str(path), "a JSON file", _MOST_BYTES, "split it"))
    except ValueError as error:
        raise ArgumentError(f"{path}: expected JSON, got something else ({error})") from error
    rows = content.get(key) if isinstance(content, Mapping) else None
    if not isinstance(rows, list):
        raise ArgumentError(f"{path}: expected an object with a list of {key}, got others")
    for number, row in enumerate(rows, 1):
        where = f"{path}: {key} {number}"
        if not isinstance(row, Mapping) or not all(name in row for name in fields):
            raise ArgumentError(f"{where}: expected {', '.join(fields)}, got {row!r:.60}")
        if "question" in row and not isinstance(row["question"], str):
            raise ArgumentError(f"{where}: expected a text as question, got {row['question']!r:.60}")
        yield where, row
