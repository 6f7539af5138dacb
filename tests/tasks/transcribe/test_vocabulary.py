import json

import pytest
import torch

from saccade import runs
from saccade.errors import ArgumentError
from saccade.tasks.transcribe import Transcribe
from saccade.tasks.transcribe.data.corpus import Recording
from saccade.tasks.transcribe.vocabulary import Vocabulary, learn
from saccade.train.files import read_json


class Few:
    """Ten recordings, the last of them wordy, and held-out ones with a word of their own."""

    rate, dim = 8000, None

    def __init__(self, dim=None):
        self.dim, self.rate = dim, None if dim else 8000

    def text(self, split, index):
        return "no yes " * (20 if index == 9 else 1) + ("maybe" if split == "test" else "")

    def example(self, split, index):
        return Recording(f"{split} {index}", torch.zeros(800), self.text(split, index), "")

    def size(self, split):
        return 10 if split == "train" else 2


def options(**more):
    return runs.options(Transcribe, "some/files", "las", {"mels": 12, **more})


@pytest.mark.parametrize("kind", ["words", "characters", "bpe"])
def test_what_is_learned_is_saved_and_read_back(tmp_path, kind):
    learned, _ = learn(Few(), options(tokenizer=kind))
    learned.save(tmp_path)
    again = Vocabulary.restore(tmp_path, options(tokenizer=kind))
    assert (again.longest, again.signals) == (learned.longest, learned.signals)
    assert again.target.encode("yes no") == learned.target.encode("yes no")
    assert learned.target.decode(learned.target.encode("yes no")) == "yes no"


def test_the_longest_text_is_the_longest_trained_on():
    learned, note = learn(Few(), options(max_length=5))
    assert learned.longest == 2
    assert "1 of 10 training texts looked at have more than 5 tokens, and such are left out (--max-length)" in note
    assert "test has maybe, which training has not: they cannot be written" in note and "validation has" not in note
    assert learn(Few(), options(tokenizer="bpe"))[1] == ""
    with pytest.raises(ArgumentError, match="--max-length: each training text has more than 1 tokens; raise it"):
        learn(Few(), options(max_length=1))
    _, cut = learn(Few(), options(vocabulary_size=5))
    assert "yes are not among the most frequent (--vocabulary-size), and cannot be written" in cut or "no are" in cut


def test_features_are_as_the_data_have_them():
    learned, _ = learn(Few(), options(hop_ms=5))
    assert (learned.signals.rate, learned.signals.width, learned.signals.hop_ms) == (8000, 12, 5)
    given = runs.options(Transcribe, "some/files", "las", {})
    assert learn(Few(39), given)[0].signals.width == 39
    for name, value in (("mels", 12), ("hop_ms", 5), ("window_ms", 30)):
        with pytest.raises(ArgumentError, match=f"--{name.replace('_', '-')}: expected only with recordings, as these"):
            learn(Few(39), runs.options(Transcribe, "some/files", "las", {name: value}))
    with pytest.raises(ArgumentError, match="--mels: expected fewer"):
        learn(Few(), options(mels=900))


WRONG = (
    {"rate": None},
    {"dim": 39},
    {"rate": -1},
    {"rate": "8000"},
    {"longest_target": 0},
    {"longest_target": True},
    {"longest_target": 2**40},
    {"target": {"kind": "x"}},
    {"target": None},
)


@pytest.mark.parametrize("change", ["{", "[]", "", *WRONG])
def test_a_tokenizer_that_is_damaged_is_named(tmp_path, change):
    learn(Few(), options())[0].save(tmp_path)
    whole = read_json(tmp_path / "tokenizer.json")
    (tmp_path / "tokenizer.json").write_text(change if isinstance(change, str) else json.dumps({**whole, **change}))
    with pytest.raises(ArgumentError, match=r"tokenizer\.json: expected"):
        Vocabulary.restore(tmp_path, options())
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(ArgumentError, match=r"tokenizer\.json: expected the tokenizer of this run"):
        Vocabulary.restore(tmp_path, options())
