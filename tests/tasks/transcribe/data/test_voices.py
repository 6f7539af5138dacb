"""Two voices at once: each sends its digits in frequencies of its own, and the text is that of one of them."""

from collections import Counter

import pytest
import torch

from saccade.tasks.transcribe.data import tones
from saccade.tasks.transcribe.data.tones import FREQUENCIES
from saccade.tasks.transcribe.data.voices import VOICES, Voices
from tasks.transcribe.data.test_tones import heard

PARTY = Voices()


@pytest.mark.parametrize("split", ["train", "test"])
def test_each_voice_sends_its_own_digits_and_one_is_written(split, monkeypatch):
    monkeypatch.setattr(tones, "NOISE", (30.0, 30.0))
    right, others = [], []
    for index in range(40):
        recording = PARTY.example(split, index)
        voice, *digits = recording.text.split()
        assert voice == recording.group and recording.signal.abs().max() <= 1
        heard_of = {name: heard(recording.signal, pitch=pitch).split() for name, pitch in VOICES.items()}
        right.append(heard_of.pop(voice) == digits)
        others.append(next(iter(heard_of.values())) == digits)
    assert sum(right) >= 36  # a pause or a key of 60 ms has few stretches of its own
    assert sum(others) <= 4  # strings of one digit may be equal


def test_no_frequency_of_one_voice_is_below_those_of_the_other():
    frequencies = {tone for pair in FREQUENCIES.values() for tone in pair}
    assert VOICES["high"] * min(frequencies) > VOICES["low"] * max(frequencies)
    assert VOICES["high"] * max(frequencies) < tones.RATE / 2


def test_both_voices_are_written_and_the_text_is_known_without_its_sound(monkeypatch):
    recordings = [PARTY.example("train", index) for index in range(5)]
    texts = [PARTY.text("train", index) for index in range(400)]
    assert min(Counter(text.split()[0] for text in texts).values()) > 160
    monkeypatch.setattr(tones, "_part", None)
    assert [PARTY.text("train", index) for index in range(5)] == [one.text for one in recordings]
    assert Voices("fr").text("test", 0).split()[0] == PARTY.text("test", 0).split()[0]
    assert len({data.fingerprint for data in (PARTY, Voices("fr"), tones.Tones())}) == 3


def test_a_recording_is_a_function_of_its_split_and_index():
    assert torch.equal(PARTY.example("train", 7).signal, Voices().example("train", 7).signal)
