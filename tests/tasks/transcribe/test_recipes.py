"""Which recipe suits recordings: by how many there are, how long they are, and whether a word is said or a sentence."""

import numpy as np
import pytest
import soundfile

from saccade.tasks.transcribe import TRANSCRIBE
from saccade.tasks.transcribe.data import open_corpus
from saccade.tasks.transcribe.recipes import Heard, hear, smaller, suited
from saccade.train.task import options_class, recipe

USUAL = recipe(TRANSCRIBE, "las", "files")


def test_forty_minutes_have_the_published_recipe():
    for heard in (Heard(857, 2.8, 3), Heard(None, 2.0, 4), Heard(100_000, 3.0, 8)):  # AN4, FSDD, much
        assert suited(heard, USUAL) == (USUAL, "")


@pytest.mark.parametrize(
    ("heard", "steps", "said"),
    [
        (Heard(120, 0.5, 1), 1000, "120 recordings of 0.5 s in the median, a word each: the recipe for few words"),
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
    assert (chosen.hidden_dim < USUAL["hidden_dim"]) == (heard.words > 1)
    assert chosen.checkpoint_steps * chosen.average <= steps


def test_a_smaller_listener_keeps_the_schedule():
    found = smaller(suited(Heard(120, 0.5, 1), USUAL)[0])
    assert found is not None
    options, reason = found
    chosen = options_class(TRANSCRIBE, "las")(model="las", data="a/folder", **options)
    usual = options_class(TRANSCRIBE, "las")(model="las", data="a/folder", **USUAL)
    assert (chosen.max_steps, chosen.time_width) == (1000, 8)
    assert chosen.hidden_dim < usual.hidden_dim and chosen.layers < usual.layers
    assert "128 features" in reason and smaller(options) is None


def test_training_hears_a_corpus_once(tmp_path):
    for split, count in (("train", 4), ("validation", 1), ("test", 1)):
        for word in ("low", "high"):
            (tmp_path / split / word).mkdir(parents=True)
            for number in range(count):
                soundfile.write(tmp_path / split / word / f"{number}.wav", np.full(2400, number / 8), 8000)
    assert hear(open_corpus(str(tmp_path), 8000)) == (8, 0.3, 1)
    found = TRANSCRIBE.suited("las", {"data": str(tmp_path), "rate": 8000})
    assert found.reason.startswith("8 recordings of 0.3 s in the median, a word each: the recipe for few words (")
    assert found.options["time_width"] == 8 and found.smaller.options["hidden_dim"] == 128
    assert found.data is found.smaller.data and found.data.get().size("train") == 8
