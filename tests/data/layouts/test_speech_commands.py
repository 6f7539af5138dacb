import os

import numpy as np
import pytest
import soundfile

from saccade.data.layouts.speech_commands import speech_commands
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.transcribe.data import open_corpus

SPLITS = ("train", "validation", "test")


@pytest.fixture
def commands(tmp_path):
    """A folder as Speech Commands comes, of two words and six speakers."""
    for word in ("yes", "no"):
        (tmp_path / word).mkdir()
        for speaker in range(6):
            samples = np.full(80 + speaker, 0.5)
            soundfile.write(tmp_path / word / f"{speaker:08x}_nohash_0.wav", samples, 8000)
    (tmp_path / "_background_noise_").mkdir()
    soundfile.write(tmp_path / "_background_noise_" / "white_noise.wav", np.zeros(99), 8000)
    (tmp_path / "_background_noise_" / "README.md").write_text("noise")
    (tmp_path / "validation_list.txt").write_text("yes/00000000_nohash_0.wav\nbed/00000000_nohash_0.wav\n")
    (tmp_path / "testing_list.txt").write_text("yes/00000001_nohash_0.wav\nno/00000001_nohash_0.wav\n")
    return tmp_path


def test_speech_commands_as_they_come(commands):
    corpus = open_corpus(str(commands), 8000)
    assert {split: corpus.size(split) for split in SPLITS} == {"train": 9, "validation": 1, "test": 2}
    one = corpus.example("test", 1)
    assert (one.text, one.group, len(one.signal)) == ("yes", "00000001", 81)
    assert corpus.text("validation", 0) == "yes"
    assert "left out 1 recordings without a label" in corpus.note
    assert "1 of 4 files that the lists name are not there" in corpus.note


def test_a_split_without_a_list_is_held_out(commands):
    (commands / "validation_list.txt").unlink()
    corpus = open_corpus(str(commands), 8000)
    assert {split: corpus.size(split) for split in SPLITS} == {"train": 9, "validation": 1, "test": 2}
    assert "1 recording for validation" in corpus.note
    (commands / "testing_list.txt").unlink()
    (commands / "yes").rename(commands / "maybe")
    assert open_corpus(str(commands), 8000).fingerprint != corpus.fingerprint


def test_a_recording_that_is_cut_short_is_refused_before_training(commands):
    path = commands / "no" / "00000002_nohash_0.wav"
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(ArgumentError, match=r"a whole sound file, got \S*no/00000002\S* cut short by 50 bytes"):
        open_corpus(str(commands), 8000)


def test_names_of_files_are_of_any_encoding(commands):
    soundfile.write(os.fsencode(commands / "no") + b"/caf\xe9.wav", np.zeros(90), 8000, format="WAV")
    corpus = open_corpus(str(commands), 8000)
    assert corpus.size("train") == 10 and corpus.fingerprint


def test_a_folder_without_recordings_in_folders_is_none(tmp_path):
    soundfile.write(tmp_path / "a.wav", np.zeros(9), 8000)
    assert speech_commands(tmp_path, SplitNames(), (".wav",)) is None


def test_a_word_may_be_a_link_to_a_folder(commands, tmp_path_factory):
    plain, elsewhere = open_corpus(str(commands), 8000), tmp_path_factory.mktemp("elsewhere") / "no"
    (commands / "no").rename(elsewhere)
    (commands / "no").symlink_to(elsewhere)
    linked = open_corpus(str(commands), 8000)
    assert linked.fingerprint == plain.fingerprint and linked.size("train") == 9
