"""Words, answers and images of questions are learned, saved and read back."""

import json
from dataclasses import dataclass, field

import pytest
import torch

from saccade.errors import ArgumentError
from saccade.tasks.answer.codec import Questions
from saccade.tasks.answer.data import Asked, Posed
from saccade.tasks.answer.options import Options
from saccade.tasks.answer.outputs import LabelAnswers
from saccade.tasks.image.features.store import write_store
from saccade.tasks.saved import TOKENIZER

ANSWERS = [("a lamp",), ("a lamp",), ("no", "no", "a red lamp"), ("two",)]


@dataclass
class Few:
    """Questions of one kind."""

    shape: tuple[int, int, int] | None = (3, 8, 10)
    note: str = ""
    answers: list[tuple[str, ...]] = field(default_factory=lambda: list(ANSWERS))

    def size(self, split):
        return len(self.answers)

    images = size

    def posed(self, split, index):
        return Posed("what is it?", self.answers[index], "what")

    def about(self, split, image):
        return [image]

    def example(self, split, index):
        image = None if self.shape is None else torch.full(self.shape, 51 * index, dtype=torch.uint8)
        return Asked(image, self.posed(split, index), f"{index}.png")


def fit(data=None, **options):
    codec, (note,) = Questions.fit(data or Few(), Options(**options))
    return codec, note


@pytest.mark.parametrize("generate", [False, True])
@pytest.mark.parametrize("featured", [False, True])
def test_a_saved_codec_is_read_back(generate, featured, tmp_path):
    write_store(tmp_path / "store", ["0.png"], [torch.ones(6, 7)], grid=(2, 3))
    features = {"features": str(tmp_path / "store")} if featured else {}
    codec, note = fit(Few(None if featured else (3, 8, 10)), generate=generate, **features)
    codec.save(tmp_path)
    again = Questions.restore(tmp_path, codec.options)
    parts = [(part.words.words, part.output.to_json(), part.sight) for part in (codec, again)]
    assert parts[0] == parts[1] and note == ""
    assert (again.sight.dim, again.sight.grid) == ((7, (2, 3)) if featured else (None, None))
    assert featured or again.sight.mean == (0.3,) * 3


def test_labels_are_frequent_answers_and_texts_have_all_words():
    labels, note = fit(answers=2)
    assert labels.output == LabelAnswers(("a lamp", "no"))
    assert note.startswith("train: 1 of 4 questions have no answer among the 2 most frequent (--answers); nothing")
    words, note = fit(generate=True, beam_size=3)
    assert (words.output.longest, words.output.beam_size, note) == (3, 3, "")
    assert words.output.target.units == ("a", "lamp", "no", "red", "two")
    few, note = fit(generate=True, vocabulary_size=7)
    assert few.output.target.units == ("a", "lamp", "no")
    assert note.startswith("train: 1 of 4 questions have no answer among those of the 3 most frequent words (--vocab")


def test_targets_are_the_shares_of_people_among_known_answers():
    codec, _ = fit(answers=2)
    samples = codec.encode([Few().example("train", index) for index in (1, 2, 3)], "test")
    assert [sample.shares for sample in samples] == [{"a lamp": 1.0}, {"no": 1.0}, {}]
    assert codec.collate(samples).target.tolist() == [[1, 0], [0, 1], [0, 0]]


@pytest.mark.parametrize(
    ("name", "value"),
    [("longest_target", 0), ("longest_target", None), ("target", {"kind": "words"}), ("target", None), ("sight", {})],
)
def test_a_damaged_codec_is_one_error(name, value, tmp_path):
    codec, _ = fit(generate=True)
    codec.save(tmp_path)
    content = json.loads((tmp_path / TOKENIZER).read_text())
    (tmp_path / TOKENIZER).write_text(json.dumps(content | {name: value}))
    with pytest.raises(ArgumentError) as caught:
        Questions.restore(tmp_path, codec.options)
    assert TOKENIZER in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("answers", "options", "message"),
    [
        ([("a lamp",), ("a lamp",), ("no way",)], {"vocabulary_size": 5}, r"none of 3 .* \(--vocabulary-size\); raise"),
        ([("no",)] * 3, {}, "expected two different answers"),
        (ANSWERS, {"min_count": 5}, "--min-count: no word is 5 times"),
    ],
)
def test_questions_without_anything_to_learn_are_rejected(answers, options, message):
    with pytest.raises(ArgumentError, match=message):
        fit(Few(answers=answers), generate=True, **options)
