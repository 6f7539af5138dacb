import numpy as np
import pytest
import soundfile

from saccade.errors import ArgumentError
from saccade.tasks.transcribe.data import open_corpus


def sounds(folder, count=9):
    folder.mkdir(parents=True, exist_ok=True)
    for n in range(count):
        soundfile.write(folder / f"{n}.wav", np.full(80 + n, 0.25), 8000)


def heard(corpus):
    found = [corpus.example(split, n) for split in ("train", "validation", "test") for n in range(corpus.size(split))]
    return sorted((one.text, one.group, len(one.signal)) for one in found)


def test_ljspeech_has_normalized_texts(tmp_path):
    sounds(tmp_path / "wavs")
    (tmp_path / "metadata.csv").write_text("".join(f"{n}|Dr. {n}|doctor {n}\n" for n in range(9)))
    assert heard(open_corpus(str(tmp_path), 8000)) == [(f"doctor {n}", "", 80 + n) for n in range(9)]
    (tmp_path / "metadata.csv").write_text("0|a|b\n1\n")
    with pytest.raises(ArgumentError, match="row 2 of .*metadata.csv: expected a name, | and a text, got '1'"):
        open_corpus(str(tmp_path), 8000)


def kaldi(folder, numbers):
    folder.mkdir(exist_ok=True)
    (folder / "wav.scp").write_text("".join(f"u{n} {folder.parent}/clips/{n}.wav\n" for n in numbers))
    (folder / "text").write_text("".join(f"u{n} good morning {n}\n" for n in numbers))
    (folder / "utt2spk").write_text("".join(f"u{n} ann\n" for n in numbers))


def test_kaldi_has_a_folder_or_one_for_each_split(tmp_path):
    sounds(tmp_path / "clips")
    for name, numbers in (("train", range(6)), ("dev", [6]), ("test", [7, 8])):
        kaldi(tmp_path / name, numbers)
    corpus = open_corpus(str(tmp_path), 8000)
    assert [corpus.size(split) for split in ("train", "validation", "test")] == [6, 1, 2]
    assert heard(corpus) == [(f"good morning {n}", "ann", 80 + n) for n in range(9)]
    assert sum(open_corpus(str(tmp_path / "train"), 8000).size(split) for split in ("train", "validation", "test")) == 6
    (tmp_path / "test/wav.scp").write_text("u7 sph2pipe -f wav 7.sph |\n")
    with pytest.raises(ArgumentError, match="row 1 of .*wav.scp: expected the path of a recording, got a command; run"):
        open_corpus(str(tmp_path), 8000)


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("segments", "u0 r0 0 1", "segments: expected a recording for each utterance, got segments; cut"),
        ("text", "u0 again", "row 10 of .*text: expected each utterance once, got u0 again"),
        ("wav.scp", "u0 other.wav", "row 10 of .*wav.scp: expected each utterance once, got u0 again"),
        ("text", "u99 nobody", "text: expected utterances of wav.scp, got u99; take it out"),
    ],
)
def test_lists_of_kaldi_that_lose_utterances_are_rejected(tmp_path, name, line, message):
    sounds(tmp_path / "clips")
    kaldi(tmp_path / "data", range(9))
    with (tmp_path / "data" / name).open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(ArgumentError, match=message):
        open_corpus(str(tmp_path / "data"), 8000)
