from dataclasses import dataclass
from types import SimpleNamespace
from typing import NamedTuple

from torch import nn

from saccade.data import Examples, Rows
from saccade.tasks.text.codec import TextCodec
from saccade.tasks.text.tokenizer import SpacedWords

OPTIONS = SimpleNamespace(max_length=9)


class Tagged(NamedTuple):
    text: str
    tags: str


class Tags(TextCodec):
    by_word = True

    def labels_of(self, example):
        return example.tags.split()


def codec(options=OPTIONS):
    return Tags(("name", "other"), SpacedWords.learn(["Ann met Bo", "Bo left"], 20), options=options)


def test_texts_may_have_several_labels():
    tags = codec()
    samples = tags.encode([Tagged("Ann met Bo", "name other name"), Tagged("Bo left", "name other")], "train")
    (values, lengths), labels = tags.collate(samples)
    assert values.tolist() == [tags.words.encode("Ann met Bo"), [*tags.words.encode("Bo left"), 0]]
    assert lengths.tolist() == [3, 2] and labels.tolist() == [0, 1, 0, 0, 1]
    assert tags.show(Tagged("Bo left", "name other"), "").answer == "name other"


def test_any_tokenizer_is_saved_with_the_labels(tmp_path):
    codec().save(tmp_path)
    again = Tags.restore(tmp_path, OPTIONS)
    assert again.parts == codec().parts and again.labels == ("name", "other")
    assert again.read("Bo  met Cy", 1).ids == codec().words.encode("Bo met Cy")


def test_labels_of_words_are_cut_with_them():
    tags = codec(SimpleNamespace(max_length=2))
    [sample] = tags.encode([Tagged("Ann met Bo", "name other name")], "train")
    assert (sample.size, sample.labels) == (2, [0, 1])


def test_a_model_has_the_words_and_labels():
    @dataclass(frozen=True)
    class Options:
        dim: int = 3

    class Model(nn.Embedding):
        def __init__(self, size, classes, options):
            super().__init__(size, classes * options.dim)

    Model.Options = Options
    assert codec(SimpleNamespace(max_length=2, dim=5)).build(Model).weight.shape == (8, 2 * 5)


def test_words_and_labels_are_learned_from_the_training_split():
    texts = [Tagged("Bo met Bo", "name other name"), Tagged("U.S. , Ann", "place other name")]
    data = Examples(Rows({"train": texts}, ""), lambda row: row)
    learned, notes = Tags.fit(data, SimpleNamespace(max_length=9, vocabulary_size=6))
    assert learned.labels == ("name", "other", "place") and not list(notes)
    assert learned.words.units == (",", "Bo")  # the most frequent, then by the alphabet
