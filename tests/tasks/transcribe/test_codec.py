import json

import pytest
import torch

from saccade import runs
from saccade._system.files import read_json
from saccade.errors import ArgumentError
from saccade.tasks.transcribe import TRANSCRIBE
from saccade.tasks.transcribe.codec import Recordings, Utterance, pad, stretched
from saccade.tasks.transcribe.data.corpus import Recording


def utterance(size, ids=(4,), value=1.0):
    return Utterance("a", torch.full((size, 3), value), list(ids))


def test_utterances_are_padded_side_by_side():
    batch = pad([utterance(4, [7, 8]), utterance(2, [9])]).to(torch.device("cpu"))
    assert batch.source.lengths.tolist() == [4, 2] and batch.source.values.shape == (2, 4, 3)
    assert float(batch.source.values[1, 2:].abs().sum()) == 0 and float(batch.source.values[1, :2].min()) == 1
    assert batch.target.tolist() == [[1, 7, 8, 2], [1, 9, 2, 0]]


def test_stretching_changes_the_time_alone():
    ramp = Utterance("a", torch.linspace(0, 1, 200)[:, None].expand(200, 2).contiguous(), [5])
    found = stretched([ramp] * 50, 0.2, torch.Generator().manual_seed(3))
    sizes = {one.size for one in found}
    assert min(sizes) >= 160 and max(sizes) <= 240 and len(sizes) > 20
    for one in found:  # a straight line stays one, from end to end
        expected = torch.linspace(0, 1, one.size)
        torch.testing.assert_close(one.frames[:, 0], expected, atol=0.01, rtol=0)
        assert one.ids == [5] and one.name == "a"
    again = stretched([ramp] * 50, 0.2, torch.Generator().manual_seed(3))
    assert [one.size for one in again] == [one.size for one in found]
    [one], [same] = (stretched([utterance(size)], 1.0 * (size == 1), torch.Generator()) for size in (1, 7))
    assert one.size >= 1 and bool((one.frames == 1).all()) and torch.equal(same.frames, utterance(7).frames)


def test_utterances_are_sorted_by_frames_then_tokens():
    found = sorted([utterance(3, [4, 5]), utterance(3, [4]), utterance(2, [4, 5, 6])], key=lambda one: one.order)
    assert [(one.size, len(one.ids)) for one in found] == [(2, 3), (3, 1), (3, 2)]


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


def fit(data, settings):
    """The codec of some data, and the note on them."""
    codec, [note] = Recordings.fit(data, settings)
    return codec, note


def options(**more):
    return runs.options(TRANSCRIBE, "some/files", "las", {"mels": 12, **more})


@pytest.mark.parametrize("kind", ["words", "characters", "bpe"])
def test_what_is_learned_is_saved_and_read_back(tmp_path, kind):
    learned, _ = fit(Few(), options(tokenizer=kind))
    learned.save(tmp_path)
    again = Recordings.restore(tmp_path, options(tokenizer=kind))
    assert (again.longest, again.signals) == (learned.longest, learned.signals)
    assert again.target.encode("yes no") == learned.target.encode("yes no")
    assert learned.target.decode(learned.target.encode("yes no")) == "yes no"


def test_the_longest_text_is_the_longest_trained_on():
    learned, note = fit(Few(), options(max_length=5))
    assert learned.longest == 2
    assert "1 of 10 training texts looked at have more than 5 tokens, and such are left out (--max-length)" in note
    assert "test has maybe, which training has not: they cannot be written" in note and "validation has" not in note
    assert fit(Few(), options(tokenizer="bpe"))[1] == ""
    with pytest.raises(ArgumentError, match="--max-length: each training text has more than 1 tokens; raise it"):
        fit(Few(), options(max_length=1))
    _, cut = fit(Few(), options(vocabulary_size=5))
    assert "yes are not among the most frequent (--vocabulary-size), and cannot be written" in cut or "no are" in cut


def test_features_are_as_the_data_have_them():
    learned, _ = fit(Few(), options(hop_ms=5))
    assert (learned.signals.rate, learned.signals.width, learned.signals.hop_ms) == (8000, 12, 5)
    given = runs.options(TRANSCRIBE, "some/files", "las", {})
    assert fit(Few(39), given)[0].signals.width == 39
    for name, value in (("mels", 12), ("hop_ms", 5), ("window_ms", 30)):
        with pytest.raises(ArgumentError, match=f"--{name.replace('_', '-')}: expected only with recordings, as these"):
            fit(Few(39), runs.options(TRANSCRIBE, "some/files", "las", {name: value}))
    with pytest.raises(ArgumentError, match="--mels: expected fewer"):
        fit(Few(), options(mels=900))


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
    fit(Few(), options())[0].save(tmp_path)
    whole = read_json(tmp_path / "tokenizer.json")
    (tmp_path / "tokenizer.json").write_text(change if isinstance(change, str) else json.dumps({**whole, **change}))
    with pytest.raises(ArgumentError, match=r"tokenizer\.json: expected"):
        Recordings.restore(tmp_path, options())
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(ArgumentError, match=r"tokenizer\.json: expected the tokenizer of this run"):
        Recordings.restore(tmp_path, options())
