import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch

from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.audio.features import deltas
from saccade.tasks.transcribe.data import open_corpus

AN4 = Path(__file__).resolve().parents[4] / "shared/data/an4_mfcc"
TRAIN = {f"an4_clstk/{who}/cen{n}-{who}-b": f"{who.upper()} {n}" for who in "abcdefghijkl" for n in (1, 2)}
TEST = {f"an4test_clstk/{who}/an{n}-{who}-b": "RUBOUT" for who in "yz" for n in (1, 2, 3)}
FEATURES, WORDS = "feat/an4_clstk/a/cen1-a-b.mfc", "etc/an4_test.transcription"


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


def opened(folder, **more):
    return open_corpus(str(folder), **more)


def speakers(corpus):
    return [{corpus.example(split, n).group for n in range(corpus.size(split))} for split in ("train", "validation")]


def test_every_tenth_speaker_validates_and_test_is_as_it_is(folder):
    corpus = opened(folder)
    assert speakers(corpus) == [set("abcdefghikl"), {"j"}]
    assert [corpus.size(split) for split in ("train", "validation", "test")] == [22, 2, 6] and corpus.note == ""
    assert (corpus.example("validation", 1).text, corpus.text("validation", 0)) == ("J 2", "J 1")
    lists(folder, "test", dict(list(TRAIN.items())[:4]))
    assert opened(folder).note.endswith("speakers of the test are in training too: a, b")


def test_features_are_cepstra_and_their_changes_normalized(folder):
    corpus = opened(folder)
    one = corpus.example("train", 0)
    static = torch.from_numpy(frames(one.name)).float()
    whole = torch.cat([static, deltas(static), deltas(deltas(static))], 1)
    expected = (whole - whole.mean(0)) / whole.std(0, correction=0)
    torch.testing.assert_close(one.signal, expected, rtol=1e-4, atol=1e-5)
    assert one.signal.shape[1] == corpus.dim == 39 and corpus.rate is None


def test_other_words_or_features_are_other_data(folder):
    known = {opened(folder).fingerprint}
    lists(folder, "test", dict.fromkeys(TEST, "<s> U  M <sil> SIX </s>"))
    known.add(opened(folder).fingerprint)
    assert opened(folder).text("test", 0) == "U M SIX"  # without marks of silence
    (folder / FEATURES).write_bytes(mfc(1 + frames(FEATURES[5:-4])))
    known.add(opened(folder).fingerprint)
    assert len(known) == 3


def pack(folder):
    (folder / "feat").rename(folder / "other")
    (folder / "feat.tar.gz").touch()


def line(text):
    def change(folder):
        lines = (folder / WORDS).read_text().splitlines(keepends=True)
        (folder / WORDS).write_text("".join([lines[0], text, *lines[2:]]))

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder / FEATURES).unlink(), "of every file id, found none of an4_clstk/a/cen1-a-b"),
        (lambda folder: (folder / FEATURES).write_bytes(b"1234"), "expected a count of floats, .*; copy the file anew"),
        (lambda folder: (folder / "feat").rename(folder / "other"), "expected the features in feat/, found none$"),
        (pack, "found none; this unpacks it: tar xzf .*/feat.tar.gz -C .*"),
        (lambda folder: (folder / WORDS).unlink(), "transcription: expected a list of the test utterances, found none"),
        (line("RUBOUT\n"), r"row 2 of .*expected words and \(an2-y-b\), as the list of file ids has it, got 'RUBOUT'"),
        (line("RUBOUT (an3-y-b)\n"), r"got 'RUBOUT \(an3-y-b\)'"),
        (line("<s> </s> (an2-y-b)\n"), "expected words, got none"),
        (line(""), "got 5 for 6"),
        (
            lambda folder: lists(folder, "train", dict(list(TRAIN.items())[:2])),
            "expected 2 speakers or more to train and validate, got a",
        ),
    ],
)
def test_what_is_wrong_is_named(folder, change, message):
    change(folder)
    with pytest.raises(ArgumentError, match=message) as error:
        opened(folder)
    assert "\n" not in str(error.value)


def test_its_splits_and_its_rate_are_known(folder):
    with pytest.raises(ArgumentError, match="as its signals are features, which have none; leave 8000 out"):
        opened(folder, rate=8000)
    (folder / "feat").rename(folder / "other")
    with pytest.raises(ArgumentError, match="--test-split: expected none for .*, whose splits are fixed; leave x out"):
        opened(folder, names=SplitNames({"test": "x"}))


@pytest.mark.skipif(not AN4.exists(), reason="AN4 is not at hand")
def test_an4_as_it_ships(tmp_path):
    shutil.copytree(AN4 / "etc", tmp_path / "etc")
    with tarfile.open(AN4 / "feat.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    corpus = opened(tmp_path)
    assert [corpus.size(split) for split in ("train", "validation", "test")] == [857, 91, 130] and corpus.note == ""
    train, validation = speakers(corpus)
    assert (len(train), len(validation), train & validation) == (67, 7, set())
    one = corpus.example("train", 3)
    assert (one.text, one.group, one.signal.shape) == ("U M N Y H SIX", "fash", (259, 39))
