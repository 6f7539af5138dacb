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
from saccade.tasks.transcribe.data.fsdd import Digits, Take, open_fsdd

FSDD = Path(__file__).resolve().parents[5] / "shared/data/fsdd"
SPEAKERS = ("ann", "bob_b")
TAKES = (0, 3, 5, 9, 10, 49)


def level(digit, speaker, take):
    """What tells a made recording from all others: its first sample, of 2^15."""
    return 1000 * digit + 100 * SPEAKERS.index(speaker) + take + 1


def wav(samples, rate=8000):
    file = io.BytesIO()
    soundfile.write(file, samples, rate, format="WAV")
    return file.getvalue()


@pytest.fixture(scope="module")
def files():
    """Ten digits of two speakers, six takes each, as short as a click."""
    known = [(digit, speaker, take) for digit in range(10) for speaker in SPEAKERS for take in TAKES]
    return {f"{d}_{s}_{t}.wav": wav(np.full(200, level(d, s, t), np.int16)) for d, s, t in known}


@pytest.fixture
def folder(tmp_path, files):
    (tmp_path / "recordings").mkdir()
    for name, data in files.items():
        (tmp_path / "recordings" / name).write_bytes(data)
    (tmp_path / "recordings/README.md").write_text("not a recording")
    return tmp_path


def said(utterance):
    """The recordings of a string, by their level: (digit, speaker, take)."""
    signal = utterance.signal * 2**15
    known = {level(d, s, t): (str(d), s, t) for d in range(10) for s in SPEAKERS for t in TAKES}
    runs = [(value, len(run)) for value, run in _runs(signal.tolist())]
    return [known[round(value)] for value, length in runs if length >= 200]


def _runs(values):
    start = 0
    for place in range(1, len(values) + 1):
        if place == len(values) or values[place] != values[start]:
            yield values[start], values[start:place]
            start = place


@pytest.mark.parametrize(("split", "takes"), [("train", {10, 49}), ("validation", {5, 9}), ("test", {0, 3})])
def test_strings_are_of_one_speaker_and_of_splits_own_takes(folder, split, takes):
    corpus = open_fsdd(folder)
    for index in range(60):
        utterance = corpus.example(split, index)
        recordings = said(utterance)
        assert " ".join(digit for digit, _, _ in recordings) == utterance.text
        assert {speaker for _, speaker, _ in recordings} == {utterance.group}
        assert {take for _, _, take in recordings} <= takes
        assert 1 <= len(recordings) <= 7


@pytest.mark.slow
@pytest.mark.parametrize("split", ["validation", "test"])
def test_every_held_out_recording_is_used_and_all_lengths_occur(folder, split):
    corpus = open_fsdd(folder)
    found = [corpus.example(split, index) for index in range(corpus.size(split))]
    assert len(found) == 500 and len({one for utterance in found for one in said(utterance)}) == 40
    lengths = Counter(len(utterance.text.split()) for utterance in found)
    assert set(lengths) == set(range(1, 8)) and min(lengths.values()) >= 70
    assert set(Counter(utterance.group for utterance in found).values()) == {250}


@pytest.mark.slow
def test_held_out_recordings_are_used_equally_often(folder):
    corpus = open_fsdd(folder)
    for speaker in range(2):
        used = Counter(one for place in range(250) for one in said(corpus.example("test", 2 * place + speaker)))
        assert len(used) == 20 and max(used.values()) - min(used.values()) <= 1


@pytest.mark.slow
def test_many_speakers_make_more_strings(folder):
    recordings = [Take(str(n % 10), f"{n}", torch.full((3,), n / 64), 0.0) for n in range(40)]
    corpus = Digits({"test": {f"speaker {n}": recordings for n in range(70)}}, "", "")
    assert corpus.size("test") == 70 * 14
    used = {
        (one.group, value) for one in map(corpus.example, ["test"] * 980, range(980)) for value in one.signal.tolist()
    }
    assert len({(who, value) for who, value in used if value}) == 70 * 39


def test_pause_is_as_loud_as_quietest_of_strings_recordings():
    loud, quiet = (Take("7", "", torch.ones(400), level) for level in (0.1, 0.01))
    lengths = []
    for index in range(50):
        signal = Digits({"test": {"ann": [loud, quiet]}}, "", "").example("test", 7 * index + 2).signal
        pause = signal[signal != 1]  # both of them: these strings have three digits, the last two of them different
        lengths.append(len(pause))
        assert 0.008 < pause.square().mean().sqrt() < 0.012 and pause.abs().max() <= 0.04 + 1e-6
    assert 800 <= min(lengths) < 1500 and 4000 < max(lengths) <= 4800


def test_a_single_digit_is_its_recording(folder):
    utterance = open_fsdd(folder).example("test", 0)
    assert re.fullmatch(rf"{utterance.text}_ann_[03]\.wav", utterance.name) and len(utterance.signal) == 200


def test_an_utterance_is_a_function_of_its_split_and_index(folder):
    one, other = open_fsdd(folder), open_fsdd(folder)
    for split, index in (("train", 2**32 + 5), ("test", 13)):
        assert torch.equal(one.example(split, index).signal, other.example(split, index).signal)
    texts = {one.example("train", index).text for index in range(100)}
    assert len(texts) > 60


def test_the_folder_of_recordings_is_the_data_set(folder):
    plain, bare = open_fsdd(folder), open_fsdd(folder / "recordings")
    assert plain.fingerprint == bare.fingerprint
    assert plain.fingerprint.startswith("FSDD train 40, validation 40, test 40, contents ")
    assert torch.equal(bare.example("train", 3).signal, plain.example("train", 3).signal)


def test_an_archive_is_to_be_unpacked(tmp_path):
    (tmp_path / "recordings.tar.gz").touch()
    way_out = f"this unpacks it: tar xzf {tmp_path}/recordings.tar.gz -C {tmp_path}"
    with pytest.raises(ArgumentError, match=f"expected the folder recordings, got an archive; {way_out}"):
        open_fsdd(tmp_path)


def test_another_recording_is_other_data(folder):
    before = open_fsdd(folder).fingerprint
    (folder / "recordings/7_ann_49.wav").write_bytes(wav(np.zeros(200)))
    assert open_fsdd(folder).fingerprint != before


def test_what_had_to_be_changed_is_noted(folder):
    assert open_fsdd(folder).note == ""
    (folder / "recordings/7_ann_49.wav").write_bytes(wav(np.zeros((400, 2)), 16000))
    note = open_fsdd(folder).note
    assert "7_ann_49.wav: mean of 2 channels" in note and "resampled from 16000 to 8000 Hz" in note


def test_a_split_without_recordings_is_named(folder):
    for path in (folder / "recordings").glob("*_[59].wav"):
        path.unlink()
    wanted = r"7_jackson_5\.wav \(takes 5 to 9\) for validation, found none"
    with pytest.raises(ArgumentError, match=f"expected recordings called such as {wanted}"):
        open_fsdd(folder)


def test_a_damaged_recording_is_named(folder):
    (folder / "recordings/3_ann_10.wav").write_bytes(b"RIFF")
    with pytest.raises(ArgumentError, match=r"3_ann_10\.wav: expected a sound file"):
        open_fsdd(folder)


def test_what_there_is_not_is_refused(folder):
    corpus = open_fsdd(folder)
    assert (corpus.size("train"), corpus.rate, corpus.dim) == (None, 8000, None)
    with pytest.raises(ArgumentError, match="index: expected 0 <= index < 500 in test, got 500"):
        corpus.example("test", 500)
    with pytest.raises(ArgumentError, match="split: expected one of"):
        corpus.example("dev", 0)


@pytest.mark.slow
@pytest.mark.skipif(not FSDD.exists(), reason="the Free Spoken Digit Dataset is not at hand")
def test_fsdd_as_it_ships(tmp_path):
    with tarfile.open(FSDD / "recordings.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    corpus = open_fsdd(tmp_path)
    assert corpus.fingerprint.startswith("FSDD train 2400, validation 300, test 300, ") and corpus.note == ""
    speakers = {"george", "jackson", "lucas", "nicolas", "theo", "yweweler"}
    for split in ("validation", "test"):
        found = [corpus.example(split, index) for index in range(corpus.size(split))]
        assert len(found) == 500 and {utterance.group for utterance in found} == speakers
        assert all(utterance.signal.abs().max() <= 1 for utterance in found)
    with tarfile.open(FSDD / "recordings.tar.gz") as archive:
        single = corpus.example("test", 1)
        file = archive.extractfile(f"recordings/{single.name}")
        samples, _ = soundfile.read(io.BytesIO(file.read()), dtype="float32")
    assert torch.equal(single.signal, torch.from_numpy(samples))
