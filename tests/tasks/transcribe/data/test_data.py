import numpy as np
import pytest
import soundfile

from saccade.errors import ArgumentError
from saccade.tasks.transcribe.data import BUILTIN, open_corpus
from saccade.tasks.transcribe.data.an4 import Census
from saccade.tasks.transcribe.data.fsdd import Digits
from saccade.tasks.transcribe.data.recordings import Recordings


@pytest.mark.parametrize("name", list(BUILTIN))
def test_built_in_data_have_three_splits_a_rate_and_a_fingerprint(name):
    corpus = open_corpus(name)
    for split in ("train", "validation", "test"):
        utterance = corpus.example(split, 0)
        assert utterance.text and utterance.signal.ndim == 1
    assert corpus.size("test") and corpus.rate and corpus.fingerprint == open_corpus(name).fingerprint


def refused(data, rate=None, **more):
    with pytest.raises(ArgumentError) as error:
        open_corpus(str(data), rate, **more)
    assert "\n" not in str(error.value)
    return str(error.value)


def clips(folder, names):
    folder.mkdir(exist_ok=True)
    for name in names:
        soundfile.write(folder / name, np.zeros(400), 8000)


def an4(folder):
    (folder / "etc").mkdir()
    for split, speakers in (("train", "ab"), ("test", "c")):
        (folder / f"etc/an4_{split}.fileids").write_text("".join(f"x/{who}/1-{who}\n" for who in speakers))
        (folder / f"etc/an4_{split}.transcription").write_text("".join(f"YES (1-{who})\n" for who in speakers))
    for who in "abc":
        (folder / f"feat/x/{who}").mkdir(parents=True)
        data = np.array([26], ">i4").tobytes() + np.ones(26, ">f4").tobytes()
        (folder / f"feat/x/{who}/1-{who}.mfc").write_bytes(data)


def test_a_folder_is_known_by_what_it_holds(tmp_path):
    clips(tmp_path / "recordings", [f"7_ann_{take}.wav" for take in (0, 5, 10)])
    assert isinstance(open_corpus(str(tmp_path)), Digits)
    assert isinstance(open_corpus(str(tmp_path / "recordings"), 8000), Digits)
    assert refused(tmp_path, 16000).endswith("as its recordings have 8000 Hz; leave 16000 out")
    (tmp_path / "an4").mkdir()
    an4(tmp_path / "an4")
    assert isinstance(open_corpus(str(tmp_path / "an4")), Census)
    assert refused(tmp_path / "an4", 8000).endswith("as its signals are features, which have none; leave 8000 out")


def test_a_manifest_comes_before_recordings_beside_it(tmp_path):
    clips(tmp_path / "recordings", ["a.wav", "b.wav", "c.wav"])
    listed = "".join(f"recordings/{name}.wav,words\n" for name in "abc")
    (tmp_path / "manifest.csv").write_text(f"path,text\n{listed}")
    corpus = open_corpus(str(tmp_path))
    assert isinstance(corpus, Recordings) and corpus.rate == 16000
    assert open_corpus(str(tmp_path / "manifest.csv"), 8000).rate == 8000


def test_data_that_are_not_there_are_named(tmp_path):
    assert refused("no/such/folder") == "--data: no data set no/such/folder, and no folder or file; built in: tones"
    assert refused("tone") == "--data: no data set tone, and no folder or file; did you mean tones?"
    message = refused(tmp_path)
    assert message.startswith(f"--data: expected in the folder {tmp_path} manifest.csv (.tsv, .jsonl, .json, .parquet)")
    assert "FSDD" in message and "AN4" in message and message.endswith("got an empty folder")
    clips(tmp_path, ["a.wav"])
    assert "a.wav: line 1: expected text in UTF-8 or Latin-1, got byte 0x" in refused(tmp_path / "a.wav")


def test_a_rate_is_the_datas_own():
    assert open_corpus("tones", 8000).rate == 8000
    message = refused("tones", 16000)
    assert message == "--rate: expected none for tones, as its recordings have 8000 Hz; leave 16000 out"


def test_a_language_is_chosen_for_built_in_data_alone(tmp_path):
    assert open_corpus("tones", language="fr").text("test", 6) == "six trois"
    assert refused(tmp_path, language="fr") == "--language: expected only with --data tones, got fr"
    assert "--language: expected one of ar, cs, " in refused("tones", language="french")
