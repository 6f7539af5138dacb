import numpy as np
import pytest
import soundfile

from saccade.errors import ArgumentError
from saccade.tasks.transcribe.data import BUILTIN, open_corpus
from saccade.tasks.transcribe.data.recordings import Recordings


@pytest.mark.parametrize("name", list(BUILTIN))
def test_built_in_data_have_three_splits_a_rate_and_a_fingerprint(name):
    corpus = open_corpus(name)
    for split in ("train", "validation", "test"):
        utterance = corpus.example(split, 0)
        assert utterance.text and utterance.signal.ndim == 1
    assert corpus.size("test") and corpus.rate and corpus.fingerprint == open_corpus(name, corpus.rate).fingerprint


def test_a_manifest_comes_before_recordings_beside_it(tmp_path):
    (tmp_path / "recordings").mkdir()
    for name in "abc":
        soundfile.write(tmp_path / f"recordings/{name}.wav", np.zeros(400), 8000)
    listed = "".join(f"recordings/{name}.wav,words\n" for name in "abc")
    (tmp_path / "manifest.csv").write_text(f"path,text\n{listed}")
    corpus = open_corpus(str(tmp_path))
    assert isinstance(corpus, Recordings) and corpus.rate == 16000
    assert open_corpus(str(tmp_path / "manifest.csv"), 8000).rate == 8000


@pytest.mark.parametrize(
    ("data", "more", "message"),
    [
        ("no/such/folder", {}, "--data: no data set no/such/folder, and no folder or file; built in: tones"),
        ("tone", {}, "--data: no data set tone, and no folder or file; did you mean tones?"),
        ("{}", {}, "--data: expected in the folder {} manifest.csv (.tsv, .jsonl, .json, .parquet), or "),
        ("{}/a.wav", {}, "{}/a.wav: line 1: expected UTF-8, got byte 0x"),
        ("tones", {"rate": 16000}, "--rate: expected none for tones, as its recordings have 8000 Hz; leave 16000 out"),
        ("{}", {"language": "fr"}, "--language: expected only with --data tones, voices, phrases, got fr"),
        ("tones", {"language": "french"}, "--language: expected one of ar, cs, "),
        ("phrases", {"language": "de"}, "--language: expected en or fr with --data phrases, got de"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, data, more, message):
    soundfile.write(tmp_path / "a.wav", np.zeros(400), 8000)
    with pytest.raises(ArgumentError) as error:
        open_corpus(data.format(tmp_path), **more)
    assert str(error.value).startswith(message.format(tmp_path)) and "\n" not in str(error.value)


def test_a_language_is_of_built_in_data():
    assert open_corpus("tones", language="fr").text("test", 6) == "six trois"
