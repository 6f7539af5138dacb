"""What is learned of questions before training is read back as it was, of classes and of words, pixels and features."""

import json
from dataclasses import dataclass, field

import pytest
import torch

from saccade.errors import ArgumentError
from saccade.tasks.answer.data import Asked, Posed
from saccade.tasks.answer.options import Options
from saccade.tasks.answer.vocabulary import Vocabulary, learn
from saccade.tasks.generate.answers import WrittenAnswers
from saccade.tasks.image.features.store import FeatureStore, write_store
from saccade.tasks.labels.answers import ClassAnswers
from saccade.tasks.saved import TOKENIZER

SAID = [("a lamp",), ("a lamp",), ("no", "no", "a red lamp"), ("two",)]


@dataclass
class Few:
    """Questions of one kind."""

    shape: tuple[int, int, int] | None = (3, 8, 10)
    note: str = ""
    said: list[tuple[str, ...]] = field(default_factory=lambda: list(SAID))

    def size(self, split):
        return len(self.said)

    def posed(self, split, index):
        return Posed("what is it?", self.said[index], "what")

    def images(self, split):
        return len(self.said)

    def about(self, split, image):
        return [image]

    def example(self, split, index):
        image = None if self.shape is None else torch.full(self.shape, 51 * index, dtype=torch.uint8)
        return Asked(image, self.posed(split, index), f"{index}.png")


@pytest.mark.parametrize("generate", [False, True])
@pytest.mark.parametrize("featured", [False, True])
def test_what_is_learned_is_read_back(generate, featured, tmp_path):
    write_store(tmp_path / "store", ["0.png"], [torch.ones(6, 7)], grid=(2, 3))
    store = FeatureStore.open(tmp_path / "store") if featured else None
    known, note = learn(Few(None if featured else (3, 8, 10)), Options(generate=generate), store)
    known.save(tmp_path)
    assert Vocabulary.restore(tmp_path).to_json() == known.to_json() and note == ""
    assert (known.sight.dim, known.sight.grid) == ((7, (2, 3)) if featured else (None, None))
    assert featured or known.sight.mean == (0.3,) * 3


def test_classes_are_frequent_answers_of_all_words():
    classes, note = learn(Few(), Options(answers=2))
    assert classes.output == ClassAnswers(("a lamp", "no"))
    assert note.startswith("train: 1 of 4 questions have no answer among the 2 most frequent (--answers); nothing")
    words, note = learn(Few(), Options(generate=True))
    assert words.output.searching(3) == WrittenAnswers(words.output.target, 3, 3)
    assert words.output.target.units == ("a", "lamp", "no", "red", "two")
    assert note == ""
    few, note = learn(Few(), Options(generate=True, vocabulary_size=7))
    assert few.output.target.units == ("a", "lamp", "no")
    assert note.startswith("train: 1 of 4 questions have no answer among those of the 3 most frequent words (--vocab")


@pytest.mark.parametrize(
    ("name", "value"),
    [("longest_target", 0), ("longest_target", None), ("target", {"kind": "words"}), ("target", None), ("sight", {})],
)
def test_what_is_not_whole_is_one_error(name, value, tmp_path):
    known, _ = learn(Few(), Options(generate=True))
    known.save(tmp_path)
    content = json.loads((tmp_path / TOKENIZER).read_text())
    (tmp_path / TOKENIZER).write_text(json.dumps(content | {name: value}))
    with pytest.raises(ArgumentError) as caught:
        Vocabulary.restore(tmp_path)
    assert TOKENIZER in str(caught.value) and "\n" not in str(caught.value)


def test_answers_that_the_words_cannot_write_are_refused():
    said = [("a lamp",), ("a lamp",), ("no way",)]
    with pytest.raises(ArgumentError, match=r"--data: none of 3 training .* words \(--vocabulary-size\); raise"):
        learn(Few(said=said), Options(generate=True, vocabulary_size=5))


def test_one_answer_to_everything_is_refused():
    with pytest.raises(ArgumentError, match="--data: expected two different answers"):
        learn(Few(said=[("no",)] * 3), Options(generate=True))
