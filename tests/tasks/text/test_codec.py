from types import SimpleNamespace
from typing import NamedTuple

from saccade.tasks.text.codec import TextCodec
from saccade.tasks.text.tokenizer import SpacedWords

OPTIONS = SimpleNamespace(max_length=9)


class Tagged(NamedTuple):
    text: str
    tags: str


class Tags(TextCodec):
    def labels_of(self, example):
        return example.tags.split()


def codec():
    return Tags(("name", "other"), SpacedWords.learn(["Ann met Bo", "Bo left"], 20), options=OPTIONS)


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
