import numpy as np
import pytest
import torch

from saccade.errors import ArgumentError
from saccade.tasks.audio.recordings import wav
from saccade.tasks.transcribe.data import open_corpus
from tiers import every

SIGNALS = [torch.sin(torch.arange(800) * (0.05 + 0.01 * n)) / 2 for n in range(12)]
PAIRS = [(signal, f"word  {n}") for n, signal in enumerate(SIGNALS)]


def open_objects(rows, rate):
    return open_corpus("objects", rate, rows)


def examples(corpus):
    return [corpus.example(split, n) for split in ("train", "validation", "test") for n in range(corpus.size(split))]


def opened(signals):
    """A corpus that says which split each waveform is in, which else goes by its samples."""
    rows = [(signal, text) for signal, (_, text) in zip(signals, PAIRS, strict=True)]
    return open_objects({"train": rows, "validation": rows[:1], "test": rows[:1]}, 8000)


def test_tensors_arrays_lists_and_paths_are_the_same(tmp_path):
    paths = [tmp_path / f"{n}.wav" for n in range(12)]
    for path, signal in zip(paths, SIGNALS, strict=True):
        path.write_bytes(wav(signal, 8000))
    forms = {
        "tensors": PAIRS,
        "with gradients": [(signal.clone().requires_grad_(), text) for signal, text in PAIRS],
        "arrays": [(signal.numpy(), text) for signal, text in PAIRS],
        "mappings of tensors": [({"array": signal, "sampling_rate": 8000}, text) for signal, text in PAIRS],
        "doubles": [(signal.double().numpy(), text) for signal, text in PAIRS],
        "lists": [(signal.tolist(), text) for signal, text in PAIRS],
        "paths": [(path, text) for path, (_, text) in zip(paths, PAIRS, strict=True)],
        "names": [{"path": str(path), "sentence": text} for path, (_, text) in zip(paths, PAIRS, strict=True)],
        "decoded": [
            {"audio": {"array": signal.numpy(), "sampling_rate": 8000}, "text": text} for signal, text in PAIRS
        ],
    }
    found = {name: open_objects(rows, 8000) for name, rows in forms.items()}
    assert len({corpus.fingerprint for corpus in found.values()}) == 1
    for corpus in found.values():
        assert {one.text for one in examples(corpus)} == {f"word {n}" for n in range(12)}  # a space between two
        assert corpus.rate == 8000 and corpus.dim is None and corpus.note.startswith("held out")


def test_another_rate_is_brought_to_runs_and_is_other_data():
    decoded = [({"array": signal.numpy(), "sampling_rate": 16000}, text) for signal, text in PAIRS]
    corpus = open_objects(decoded, 8000)
    assert {len(one.signal) for one in examples(corpus)} == {400}
    assert corpus.fingerprint != open_objects(PAIRS, 8000).fingerprint != open_objects(PAIRS, 16000).fingerprint


def test_what_is_too_loud_is_scaled_down_as_a_whole_as_in_files():
    corpus, plain = opened([signal * 8 for signal in SIGNALS]), opened(SIGNALS)
    for place in range(12):
        loud, one = corpus.example("train", place), plain.example("train", place)
        assert loud.text == one.text and loud.signal.dtype == torch.float32
        torch.testing.assert_close(loud.signal, one.signal / one.signal.abs().max(), rtol=0, atol=1e-6)
        peak = 8 * float(one.signal.abs().max())
        assert loud.notes == (f"train {place}: scaled down from a peak of {peak:.3g} to 1",)
        assert one.notes == ()


@every(
    ("kind", "scale", "middle"),
    [("int16", 1 << 15, 0), (">i2", 1 << 15, 0), ("int32", 1 << 31, 0), ("int8", 128, 0), ("uint8", 128, 128)],
)
def test_integers_are_shares_of_their_full_scale(kind, scale, middle):
    whole = [((signal.double() * scale).round() + middle).numpy().astype(kind) for signal in SIGNALS]
    arrays = opened(whole)
    tensors = [torch.from_numpy(each.astype(each.dtype.newbyteorder("="))) for each in whole]
    assert arrays.fingerprint == opened(tensors).fingerprint
    for one, other in zip(examples(arrays), examples(opened(SIGNALS)), strict=True):
        assert one.text == other.text and one.notes == ()
        torch.testing.assert_close(one.signal, other.signal, rtol=0, atol=0.51 / min(scale, 1 << 20))


def test_words_alone_and_names():
    corpus = open_objects(PAIRS, 8000)
    one = corpus.example("train", 3)
    assert corpus.text("train", 3) == one.text and one.name == "train 3" and one.group == "" and one.notes == ()


@every(
    ("row", "message"),
    [
        ((np.zeros((2, 5)), "a"), r"expected a waveform \(samples,\) of finite numbers, got shape \(2, 5\)"),
        ((np.array([1.0, np.inf]), "a"), "finite numbers"),
        ((np.zeros(0), "a"), "finite numbers"),
        (([0, 1000, -1000], "a"), "an array of floats in .*, got int64; divide them by their full scale"),
        ((np.zeros(9, complex), "a"), "an array of floats in .*, got complex128$"),
        (({"array": np.full(99, 3.4e38), "sampling_rate": 16000}, "a"), "finite numbers"),
        ((SIGNALS[0], 3.5), "expected a text, got float"),
        ((SIGNALS[0],), "expected audio and text, got"),
        ("ab", "expected audio and text, got 'ab'"),
        ({"audio": {"array": [0.5]}, "text": "a"}, "sampling_rate"),
        ({"audio": {"array": [0.5], "sampling_rate": 0}, "text": "a"}, "rate"),
        ({"audio": {"array": [0.5], "sampling_rate": "fast"}, "text": "a"}, "train, row 1"),
        ((None, "a"), "train, row 1"),
        (("no/such.wav", "a"), r"no/such\.wav: expected a sound file, found none"),
        (({}, "a"), "expected a recording, got an empty cell"),
        ((["x"], "a"), "train, row 1"),
    ],
)
def test_a_row_that_is_wrong_is_named(row, message):
    with pytest.raises(ArgumentError, match=message) as error:
        open_objects([row, *PAIRS], 8000)
    assert "\n" not in str(error.value)
