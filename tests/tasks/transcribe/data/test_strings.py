import io
import re
import tarfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from saccade.errors import ArgumentError
from saccade.tasks.transcribe.data import open_corpus
from saccade.tasks.transcribe.data.corpus import Recording
from saccade.tasks.transcribe.data.strings import Digits

FSDD = Path(__file__).resolve().parents[5] / "shared/data/fsdd"
SPEAKERS = ("ann", "bob_b")
TAKES = (0, 3, 5, 9, 10, 49)
KNOWN = [(digit, speaker, take) for digit in range(10) for speaker in SPEAKERS for take in TAKES]


def level(digit, speaker, take):
    """What tells a made recording from all others: its first sample, of 2^15."""
    return 1000 * digit + 100 * SPEAKERS.index(speaker) + take + 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Ten digits of two speakers, six takes each, as short as a click."""
    folder = tmp_path_factory.mktemp("fsdd")
    for digit, speaker, take in KNOWN:
        samples = np.full(200, level(digit, speaker, take), np.int16)
        soundfile.write(folder / f"{digit}_{speaker}_{take}.wav", samples, 8000)
    return folder


@pytest.fixture(scope="module")
def corpus(folder):
    return open_corpus(str(folder))


def said(utterance):
    """The recordings of a string, by their level: (digit, speaker, take)."""
    known = {level(*one): one for one in KNOWN}
    values, counts = (utterance.signal * 2**15).unique_consecutive(return_counts=True)
    return [known[round(value)] for value, count in zip(values.tolist(), counts.tolist(), strict=True) if count >= 200]


@pytest.mark.parametrize(("split", "takes"), [("train", {10, 49}), ("validation", {5, 9}), ("test", {0, 3})])
def test_strings_are_of_one_speaker_and_of_splits_own_takes(corpus, split, takes):
    for index in range(60):
        utterance = corpus.example(split, index)
        recordings = said(utterance)
        assert " ".join(str(digit) for digit, _, _ in recordings) == utterance.text == corpus.text(split, index)
        assert {speaker for _, speaker, _ in recordings} == {utterance.group}
        assert {take for _, _, take in recordings} <= takes
        assert 1 <= len(recordings) <= 7


@pytest.mark.slow
@pytest.mark.parametrize("split", ["validation", "test"])
def test_held_out_recordings_are_used_equally_often_and_all_lengths_occur(corpus, split):
    found = [corpus.example(split, index) for index in range(corpus.size(split))]
    lengths = Counter(len(utterance.text.split()) for utterance in found)
    assert set(lengths) == set(range(1, 8)) and min(lengths.values()) >= 70
    for speaker in SPEAKERS:
        own = [utterance for utterance in found if utterance.group == speaker]
        used = Counter(one for utterance in own for one in said(utterance))
        assert len(own) == 250 and len(used) == 20 and max(used.values()) - min(used.values()) <= 1


def test_many_speakers_make_more_strings():
    recordings = [Recording(f"{n}", torch.full((3,), n / 64), str(n % 10), "") for n in range(40)]
    corpus = Digits({"test": {f"speaker {n}": recordings for n in range(70)}}, "", "")
    assert corpus.size("test") == 70 * 14
    used = {value for number in range(14) for value in corpus.example("test", 70 * number).signal.tolist()}
    assert used >= {n / 64 for n in range(40)}


def test_pause_is_as_loud_as_quietest_of_strings_recordings():
    loud, quiet = (Recording("", torch.full((400,), level), "7", "ann") for level in (0.1, 0.01))
    lengths = []
    for index in range(50):
        signal = Digits({"test": {"ann": [loud, quiet]}}, "", "").example("test", 7 * index + 2).signal
        pause = signal[~torch.isin(signal, torch.tensor([0.1, 0.01]))]  # of three digits, the last two different
        lengths.append(len(pause))
        assert 0.008 < pause.square().mean().sqrt() < 0.012 and pause.abs().max() <= 0.04 + 1e-6
    assert 800 <= min(lengths) < 1500 and 4000 < max(lengths) <= 4800


def test_a_single_digit_is_its_recording(corpus):
    utterance = corpus.example("test", 0)
    assert re.fullmatch(rf"{utterance.text}_ann_[03]\.wav", utterance.name) and len(utterance.signal) == 200


def test_an_utterance_is_a_function_of_its_split_and_index(corpus, folder):
    other = open_corpus(str(folder))
    assert other.fingerprint == corpus.fingerprint
    assert other.fingerprint.startswith("FSDD train 40, validation 40, test 40, contents ")
    for split, index in (("train", 2**32 + 5), ("test", 13)):
        assert torch.equal(corpus.example(split, index).signal, other.example(split, index).signal)
    assert len({corpus.text("train", index) for index in range(100)}) > 60


def test_another_recording_is_other_data(tmp_path):
    fingerprints = set()
    for value in (0.0, 0.5):
        for take in (0, 5, 10):
            soundfile.write(tmp_path / f"7_ann_{take}.wav", np.full(200, value), 8000)
        fingerprints.add(open_corpus(str(tmp_path)).fingerprint)
    assert len(fingerprints) == 2


def test_what_there_is_not_is_refused(corpus):
    assert (corpus.size("train"), corpus.rate, corpus.dim) == (None, 8000, None)
    with pytest.raises(ArgumentError, match="index: expected 0 <= index < 500 in test, got 500"):
        corpus.example("test", 500)
    with pytest.raises(ArgumentError, match="split: expected one of"):
        corpus.text("dev", 0)


@pytest.mark.slow
@pytest.mark.skipif(not FSDD.exists(), reason="the Free Spoken Digit Dataset is not at hand")
def test_fsdd_as_it_ships(tmp_path):
    with tarfile.open(FSDD / "recordings.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    corpus = open_corpus(str(tmp_path))
    assert corpus.fingerprint == "FSDD train 2400, validation 300, test 300, contents 7a7d2e1d3633f3f9"
    speakers = {"george", "jackson", "lucas", "nicolas", "theo", "yweweler"}
    for split in ("validation", "test"):
        found = [corpus.example(split, index) for index in range(corpus.size(split))]
        assert len(found) == 500 and {utterance.group for utterance in found} == speakers
        assert all(utterance.signal.abs().max() <= 1 for utterance in found)
    single = corpus.example("test", 1)
    samples, _ = soundfile.read(io.BytesIO((tmp_path / "recordings" / single.name).read_bytes()), dtype="float32")
    assert torch.equal(single.signal, torch.from_numpy(samples)) and corpus.note == ""
