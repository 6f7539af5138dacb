import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch

from saccade.errors import ArgumentError
from saccade.tasks.audio.features import deltas
from saccade.tasks.transcribe.data.an4 import open_an4

AN4 = Path(__file__).resolve().parents[5] / "shared/data/an4_mfcc"
TRAIN = {f"an4_clstk/{who}/cen{n}-{who}-b": f"{who.upper()} {n}" for who in "abcdefghijkl" for n in (1, 2)}
TEST = {f"an4test_clstk/{who}/an{n}-{who}-b": "RUBOUT" for who in "yz" for n in (1, 2, 3)}


def mfc(frames):
    return np.array([frames.size], ">i4").tobytes() + frames.astype(">f4").tobytes()


def lists(folder, split, entries):
    lines = [f"{text} ({name.rpartition('/')[2]})" for name, text in entries.items()]
    (folder / f"etc/an4_{split}.fileids").write_text("".join(f"{name}\n" for name in entries))
    (folder / f"etc/an4_{split}.transcription").write_text("".join(f"{line}\n" for line in lines))


def frames(name):
    """Some frames for a file id, other ones for each."""
    draws = np.random.default_rng([ord(letter) for letter in name])
    return draws.normal(size=(20 + len(name) % 7, 13))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "etc").mkdir()
    lists(tmp_path, "train", TRAIN)
    lists(tmp_path, "test", TEST)
    for name in (*TRAIN, *TEST):
        path = tmp_path / f"feat/{name}.mfc"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(mfc(frames(name)))
    return tmp_path


def utterances(corpus, split):
    return [corpus.example(split, index) for index in range(corpus.size(split))]


def test_every_tenth_speaker_validates_and_test_is_as_it_is(folder):
    corpus = open_an4(folder)
    speakers = {split: {one.group for one in utterances(corpus, split)} for split in ("train", "validation", "test")}
    assert speakers == {"train": set("abcdefghikl"), "validation": {"j"}, "test": set("yz")}
    assert [corpus.size(split) for split in speakers] == [22, 2, 6]
    assert corpus.example("validation", 1).text == "J 2" and corpus.note == ""
    assert corpus.fingerprint.startswith("AN4 train 22, validation 2, test 6, contents ")


def test_features_are_cepstra_and_their_changes_normalized(folder):
    corpus = open_an4(folder)
    one = corpus.example("train", 0)
    static = torch.from_numpy(frames(one.name)).float()
    whole = torch.cat([static, deltas(static), deltas(deltas(static))], 1)
    expected = (whole - whole.mean(0)) / whole.std(0, correction=0)
    torch.testing.assert_close(one.signal, expected, rtol=1e-4, atol=1e-5)
    assert one.signal.shape[1] == corpus.dim == 39 and corpus.rate is None


def test_other_words_or_features_are_other_data(folder):
    known = {open_an4(folder).fingerprint}
    lists(folder, "test", dict.fromkeys(TEST, "STOP"))
    known.add(open_an4(folder).fingerprint)
    (folder / "feat/an4_clstk/a/cen1-a-b.mfc").write_bytes(mfc(np.ones((20, 13))))
    known.add(open_an4(folder).fingerprint)
    assert len(known) == 3


def test_marks_of_silence_are_no_words(folder):
    marked = dict.fromkeys(TEST, "<s> U  M <sil> SIX </s>")
    lists(folder, "test", marked)
    assert open_an4(folder).example("test", 0).text == "U M SIX"


def test_speakers_of_training_in_the_test_are_noted(folder):
    lists(folder, "test", dict(list(TRAIN.items())[:4]))
    assert open_an4(folder).note.endswith("speakers of the test are in training too: a, b")


def refused(folder):
    with pytest.raises(ArgumentError) as error:
        open_an4(folder)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_what_is_missing_is_named(folder):
    (folder / "feat/an4_clstk/a/cen1-a-b.mfc").unlink()
    assert refused(folder).endswith("expected features of every file id, found none of an4_clstk/a/cen1-a-b")
    (folder / "feat").rename(folder / "other")
    assert refused(folder).endswith("expected the features in feat/, found none")
    (folder / "feat.tar.gz").touch()
    assert refused(folder).endswith(f"found none; this unpacks it: tar xzf {folder}/feat.tar.gz -C {folder}")
    (folder / "etc/an4_test.transcription").unlink()
    assert refused(folder).endswith("an4_test.transcription: expected a list of the test utterances, found none")


def test_a_line_that_does_not_fit_is_named(folder):
    path = folder / "etc/an4_test.transcription"
    lines = path.read_text().splitlines(keepends=True)
    for wrong, message in (
        ("RUBOUT\n", "expected words and (an2-y-b), as the list of file ids has it, got 'RUBOUT'"),
        ("RUBOUT (an3-y-b)\n", "got 'RUBOUT (an3-y-b)'"),
        ("<s> </s> (an2-y-b)\n", "expected words, got none"),
    ):
        path.write_text("".join([lines[0], wrong, *lines[2:]]))
        assert refused(folder).endswith(message)
    path.write_text("".join(lines[:-1]))
    assert "got 5 for 6" in refused(folder)


def test_one_speaker_cannot_train_and_validate(folder):
    lists(folder, "train", dict(list(TRAIN.items())[:2]))
    assert refused(folder).endswith("expected 2 speakers or more to train and validate, got a")


def test_what_there_is_not_is_refused(folder):
    corpus = open_an4(folder)
    with pytest.raises(ArgumentError, match="index: expected 0 <= index < 6 in test, got 6"):
        corpus.example("test", 6)
    with pytest.raises(ArgumentError, match="split: expected one of"):
        corpus.size("dev")


@pytest.mark.skipif(not AN4.exists(), reason="AN4 is not at hand")
def test_an4_as_it_ships(tmp_path):
    shutil.copytree(AN4 / "etc", tmp_path / "etc")
    with tarfile.open(AN4 / "feat.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    corpus = open_an4(tmp_path)
    assert [corpus.size(split) for split in ("train", "validation", "test")] == [857, 91, 130] and corpus.note == ""
    speakers = {split: {entry.speaker for entry in entries} for split, entries in corpus.splits.items()}
    assert [len(found) for found in speakers.values()] == [67, 7, 10] and len(set().union(*speakers.values())) == 84
    assert sum(map(len, corpus.frames.values())) == 289_252
    one = corpus.example("train", 3)
    assert (one.text, one.group, one.signal.shape) == ("U M N Y H SIX", "fash", (259, 39))
