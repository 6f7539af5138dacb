"""Which recipe suits recordings: by how many there are, how long they are, and whether a word is said or a sentence."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import soundfile

from saccade.data.dataset import Lazy
from saccade.tasks.transcribe import TRANSCRIBE, task
from saccade.tasks.transcribe.data import open_corpus
from saccade.tasks.transcribe.options import WAVEFORM
from saccade.tasks.transcribe.recipes import Heard, advice, hear, smaller, suited
from saccade.train.task import options_class, recipe

USUAL = recipe(TRANSCRIBE, "las", "files")


def test_forty_minutes_have_the_published_recipe():
    for heard in (Heard(857, 2.8, 3), Heard(None, 2.0, 4), Heard(100_000, 3.0, 8)):  # AN4, FSDD, much
        assert suited(heard, USUAL) == (USUAL, "")


@pytest.mark.parametrize(
    ("heard", "steps", "said"),
    [
        (Heard(120, 0.5, 1), 2000, "120 recordings of 0.5 s in the median, a word each: the recipe for few words"),
        (Heard(4000, 1.0, 1), 2000, "4,000 recordings of 1.0 s in the median, a word each: the recipe for words"),
        (Heard(80_000, 1.0, 1), 5000, "80,000 recordings of 1.0 s in the median, a word each: the recipe for words"),
        (Heard(300, 2.0, 4), 2000, "300 recordings of 2.0 s in the median, 10 minutes of speech: the recipe for li"),
    ],
)
def test_words_and_little_speech_have_recipes_of_their_own(heard, steps, said):
    options, reason = suited(heard, USUAL)
    chosen = options_class(TRANSCRIBE, "las")(model="las", data="a/folder", **options)
    assert chosen.max_steps == chosen.schedule_steps == steps and reason.startswith(said)
    assert chosen.time_width * chosen.hop_ms / 1000 < heard.seconds / 4  # no mask hides a word
    assert (chosen.hidden_dim < USUAL["hidden_dim"]) == (heard.recordings < 1000)
    features = chosen.normalization, chosen.trim_db, chosen.attend_to
    assert features == (("recording", 40, "loud") if heard.words == 1 else ("bands", 0, "all"))
    assert chosen.checkpoint_steps * chosen.average <= steps


def test_a_smaller_listener_keeps_the_schedule():
    found = smaller(suited(Heard(4000, 0.5, 1), USUAL)[0])
    assert found is not None
    options, reason = found
    chosen = options_class(TRANSCRIBE, "las")(model="las", data="a/folder", **options)
    usual = options_class(TRANSCRIBE, "las")(model="las", data="a/folder", **USUAL)
    assert (chosen.max_steps, chosen.time_width, chosen.normalization) == (2000, 8, "recording")
    assert chosen.hidden_dim < usual.hidden_dim and chosen.layers < usual.layers
    assert "128 features" in reason and smaller(options) is None


def speak(folder, rate=8000):
    """A folder for each of two words, with ten recordings of 0.3 s."""
    for split, count in (("train", 4), ("validation", 1), ("test", 1)):
        for word in ("low", "high"):
            (folder / split / word).mkdir(parents=True)
            for number in range(count):
                soundfile.write(folder / split / word / f"{number}.wav", np.full(3 * rate // 10, number / 8), rate)
    return str(folder)


def test_training_hears_a_corpus_once(tmp_path):
    data = speak(tmp_path)
    assert hear(open_corpus(data, 8000)) == (8, 0.3, 1)
    found = TRANSCRIBE.suited("las", {"data": data, "rate": 8000})
    assert found.reason.startswith("8 recordings of 0.3 s in the median, a word each: the recipe for few words (")
    assert found.options["time_width"] == 8 and found.smaller is None and "rate" not in found.options
    assert found.data.get().size("train") == 8


@pytest.mark.parametrize(
    ("rate", "expected"), [(8000, 8000), (4000, 8000), (11025, 11025), (16000, None), (44100, None)]
)
def test_files_below_the_usual_rate_keep_theirs(tmp_path, rate, expected):
    found = TRANSCRIBE.suited("las", {"data": speak(tmp_path, rate)})
    assert found.options.get("rate") == expected and found.data.get().rate == (expected or 16000)
    again = open_corpus(str(tmp_path), expected)
    assert found.data.get().fingerprint == again.fingerprint


def test_features_have_no_options_of_waveforms(monkeypatch):
    few = Heard(120, 0.5, 1)
    monkeypatch.setattr(task, "hear", lambda corpus: few)
    found = TRANSCRIBE.suited("las", {"data": "x"}, Lazy(lambda: SimpleNamespace(rate=None)))
    assert found.options["hidden_dim"] == 128 and not {*WAVEFORM, "attend_to"} & set(found.options)


def test_the_way_to_a_better_model_of_words_is_named():
    chosen = options_class(TRANSCRIBE, "las")(model="las", data="a/folder", **suited(Heard(120, 0.5, 1), USUAL)[0])
    assert advice(chosen) == "try --max-steps 4000 --schedule-steps 4000"
    assert advice(replace(chosen, normalization="bands")) == "try --normalization recording --trim-db 40"
    assert (
        advice(replace(chosen, max_steps=None, max_minutes=1.0))
        == "try --max-minutes 2 --max-steps 4000 --schedule-steps 4000"
    )
