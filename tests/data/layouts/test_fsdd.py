import numpy as np
import pytest
import soundfile

from saccade.data.layouts.fsdd import fsdd
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.transcribe.data import open_corpus

TAKES = {"train": (10, 49), "validation": (5, 9), "test": (0, 4)}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "recordings").mkdir()
    for name in (f"7_bob_b_{take}.wav" for takes in TAKES.values() for take in takes):
        soundfile.write(tmp_path / "recordings" / name, np.full(200, 0.5), 8000)
    (tmp_path / "recordings/README.md").write_text("not a recording")
    return tmp_path


def test_takes_say_which_split_a_recording_is_in(folder):
    for place, below in ((folder, "recordings/"), (folder / "recordings", "")):
        rows = {split: list(table.rows) for split, table in fsdd(place, SplitNames()).items()}
        assert rows == {
            split: [{"path": f"{below}7_bob_b_{take}.wav", "text": "7", "speaker": "bob_b"} for take in takes]
            for split, takes in TAKES.items()
        }
    assert open_corpus(str(folder)).fingerprint == open_corpus(str(folder / "recordings")).fingerprint


def test_another_folder_is_none(tmp_path):
    assert fsdd(tmp_path, SplitNames()) is fsdd(tmp_path / "gone", SplitNames()) is None


def remove(folder, names):
    for path in (folder / "recordings").glob(names):
        path.unlink()
    (folder / "recordings.tar.gz").touch()


def pack(folder):
    remove(folder, "*")
    (folder / "recordings").rmdir()


@pytest.mark.parametrize(
    ("change", "names", "message"),
    [
        (pack, {}, "expected the folder recordings, got an archive; this unpacks it: tar xzf .*gz -C .*"),
        (lambda folder: remove(folder, "*_[59].wav"), {}, r"such as 7_jackson_5\.wav \(takes 5 to 9\) for validation"),
        (lambda folder: remove(folder, "*"), {}, r"7_jackson_0\.wav \(takes 0 to 4\) for test, found none"),
        (pack, {"test": "x"}, "--test-split: expected none for .*, whose splits are fixed; leave x out"),
        (lambda folder: (folder / "recordings/7_bob_b_10.wav").write_bytes(b"RIFF"), {}, "10.wav: expected a sound fi"),
    ],
)
def test_what_is_wrong_is_named(folder, change, names, message):
    change(folder)
    with pytest.raises(ArgumentError, match=message):
        open_corpus(str(folder), names=SplitNames(names))


def test_another_rate_is_noted_or_refused(folder):
    assert open_corpus(str(folder)).note == ""
    with pytest.raises(ArgumentError, match="as its recordings have 8000 Hz; leave 16000 out"):
        open_corpus(str(folder), 16000)
    soundfile.write(folder / "recordings/7_bob_b_49.wav", np.zeros((400, 2)), 16000)
    note = open_corpus(str(folder)).note
    assert "7_bob_b_49.wav: mean of 2 channels" in note and "resampled from 16000 to 8000 Hz" in note
