"""Corpora of speech in the folders that they are published in."""

from itertools import chain

import numpy as np
import pytest
import soundfile

from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.transcribe.data import open_corpus


def sound(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, np.linspace(-0.5, 0.5, 800), 8000)


def texts(corpus):
    return {
        split: sorted(corpus.text(split, index) for index in range(corpus.size(split)))
        for split in ("train", "validation", "test")
    }


def librispeech(folder, parts):
    for part in parts:
        chapter = folder / part / "103" / "1240"
        for number in range(3):
            sound(chapter / f"103-1240-000{number}.flac")
        lines = [f"103-1240-000{number} {part.upper()} {number}\n" for number in range(3)]
        (chapter / "103-1240.trans.txt").write_text("".join(lines))
    return str(folder)


def test_librispeech(tmp_path):
    parts = ("train-clean-100", "train-clean-360", "dev-clean", "dev-other", "test-clean", "test-other")
    corpus = open_corpus(librispeech(tmp_path, parts), 8000)
    expected = {
        "train": [f"{part} {n}" for part in ("TRAIN-CLEAN-100", "TRAIN-CLEAN-360") for n in range(3)],
        "validation": [f"DEV-CLEAN {n}" for n in range(3)],
        "test": [f"TEST-CLEAN {n}" for n in range(3)],
    }
    assert texts(corpus) == expected and "not read: dev-other, test-other" in corpus.note
    example = corpus.example("test", 0)
    assert example.group == "103" and len(example.signal) == 800
    other = open_corpus(str(tmp_path), 8000, names=SplitNames({"test": "test-other"}))
    assert texts(other)["test"] == [f"TEST-OTHER {n}" for n in range(3)]
    with pytest.raises(ArgumentError, match="--test-split: .*got test-odd"):
        open_corpus(str(tmp_path), 8000, names=SplitNames({"test": "test-odd"}))


@pytest.mark.parametrize(
    ("named", "train", "validation"),
    [
        ({"validation": "train-other-500"}, "TRAIN-CLEAN-100", "TRAIN-OTHER-500"),
        ({"train": "dev-clean"}, "DEV-CLEAN", "DEV-OTHER"),
    ],
)
def test_what_an_option_names_is_in_no_other_split(tmp_path, named, train, validation):
    parts = ("train-clean-100", "train-other-500", "dev-clean", "dev-other", "test-clean")
    corpus = open_corpus(librispeech(tmp_path, parts), 8000, names=SplitNames(named))
    found = texts(corpus)
    assert found["train"] == [f"{train} {n}" for n in range(3)]
    assert found["validation"] == [f"{validation} {n}" for n in range(3)]
    assert "more than one split" not in corpus.note


def test_a_split_of_librispeech_alone_is_divided(tmp_path):
    librispeech(tmp_path, ["dev-clean"])
    found = texts(open_corpus(str(tmp_path / "dev-clean"), 8000))
    assert sorted(chain.from_iterable(found.values())) == [f"DEV-CLEAN {n}" for n in range(3)] and all(found.values())
    (tmp_path / "dev-clean/103/1240/103-1240-0001.flac").unlink()
    with pytest.raises(ArgumentError, match=r"^row 2 of .*103-1240\.trans\.txt: expected a sound file, found none"):
        open_corpus(str(tmp_path / "dev-clean"), 8000)


def common_voice(folder, names):
    for name in names:
        lines = ["client_id\tpath\tsentence_id\tsentence\tup_votes\tlocale"]
        for number in range(3):
            sound(folder / "clips" / f"{name}{number}.wav")
            lines.append(f'ann\t{name}{number}.wav\t0\t"{name} {number}\t2\ten')
        (folder / f"{name}.tsv").write_text("\n".join(lines))
    return str(folder)


def test_common_voice(tmp_path):
    corpus = open_corpus(common_voice(tmp_path, ["train", "dev", "test", "validated", "other"]), 8000)
    names = {"train": "train", "validation": "dev", "test": "test"}
    assert texts(corpus) == {split: [f'"{name} {n}' for n in range(3)] for split, name in names.items()}
    assert corpus.example("train", 0).group == "ann"


def test_common_voice_of_validated_clips_alone_is_divided(tmp_path):
    found = texts(open_corpus(common_voice(tmp_path, ["validated"]), 8000))
    assert sorted(chain.from_iterable(found.values())) == [f'"validated {n}' for n in range(3)] and all(found.values())
