import pytest
import torch

from saccade.errors import ArgumentError
from saccade.tasks.transcribe.data import tones
from saccade.tasks.transcribe.data.digits import DIGITS
from saccade.tasks.transcribe.data.tones import FREQUENCIES, Tones
from tiers import every

TONES = Tones()


def heard(signal, seconds=0.02, pitch=1.0):
    """The digits of a waveform: the strongest row and column of keys in each stretch that is louder than its noise."""
    parts = signal.double().unfold(0, round(8000 * seconds), round(8000 * seconds) // 2)
    turns = 2j * torch.pi * torch.arange(parts.shape[1]) / 8000
    tones = sorted({frequency for pair in FREQUENCIES.values() for frequency in pair})
    waves = torch.exp(torch.outer(turns.to(torch.complex128), pitch * torch.tensor(tones, dtype=torch.complex128)))
    powers = (parts.to(torch.complex128) @ waves).abs()
    loud = powers.sum(1) > powers.sum(1).max() / 2
    digits = {pair: digit for digit, pair in FREQUENCIES.items()}
    rows, columns = powers[:, :4].argmax(1).tolist(), powers[:, 4:].argmax(1).tolist()
    found = [
        digits[tones[row], tones[4 + column]] if on else " "
        for row, column, on in zip(rows, columns, loud.tolist(), strict=True)
    ]
    return " ".join(digit for digit, before in zip(found, [" ", *found], strict=False) if digit not in (" ", before))


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_what_is_sent_is_what_is_written(split):
    right = [heard(one.signal) == one.text for one in (TONES.example(split, index) for index in range(60))]
    assert sum(right) >= 57  # a pause or a key of 60 ms has few stretches of its own, and noise may cover one


def test_frequencies_are_those_of_the_recommendation():
    assert FREQUENCIES["1"] == (697, 1209) and FREQUENCIES["0"] == (941, 1336) and FREQUENCIES["9"] == (852, 1477)
    assert sorted(FREQUENCIES) == list("0123456789") and len(set(FREQUENCIES.values())) == 10


def test_an_utterance_is_a_function_of_its_split_and_index():
    first, again = TONES.example("train", 7), Tones().example("train", 7)
    assert torch.equal(first.signal, again.signal) and first.text == again.text
    others = [TONES.example(split, index) for split, index in (("train", 8), ("validation", 7), ("test", 7))]
    assert all(one.signal.shape != first.signal.shape or not torch.equal(one.signal, first.signal) for one in others)


def test_all_digits_and_lengths_stay_within_bounds(monkeypatch):
    found = [TONES.example("test", index) for index in range(500)]
    assert {len(one.text.split()) for one in found} == {1, 2, 3, 4, 5, 6}
    assert set("".join(one.text for one in found)) == set("0123456789 ")
    peaks = torch.tensor([one.signal.abs().max() for one in found])
    assert peaks.max() <= 1 and peaks.min() < 0.1 and peaks.max() > 0.3
    for one in found:
        parts = 2 * len(one.text.split()) + 1
        assert one.signal.dtype == torch.float32 and 479 * parts <= len(one.signal) <= 1121 * parts
    monkeypatch.setattr(tones, "LEVELS", (-1.0, 0.0))
    assert TONES.example("test", 0).signal.abs().max() == 1


@every("language", DIGITS)
def test_digits_are_said_in_the_words_of_a_language(language):
    own, words = Tones(language), DIGITS[language]
    assert len(words) == len(set(words)) == 10 and all(len(word.split()) == 1 for word in words)
    for index in range(20):
        assert own.text("test", index) == " ".join(words[int(digit)] for digit in TONES.text("test", index).split())
    one, plain = own.example("train", 3), TONES.example("train", 3)
    assert torch.equal(one.signal, plain.signal) and one.text == own.text("train", 3) != plain.text
    assert TONES.fingerprint in own.fingerprint and own.fingerprint != TONES.fingerprint


def test_a_text_is_known_without_its_sound(monkeypatch):
    wanted = [TONES.example(split, index).text for split in ("train", "test") for index in range(5)]
    monkeypatch.setattr(tones, "_part", None)
    assert [TONES.text(split, index) for split in ("train", "test") for index in range(5)] == wanted
    with pytest.raises(ArgumentError, match="index: expected 0 <= index < 500 in test, got 500"):
        TONES.text("test", 500)
