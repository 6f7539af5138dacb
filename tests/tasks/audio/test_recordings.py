import io
import math
import random

import numpy as np
import pytest
import soundfile
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade.errors import ArgumentError, SaccadeError
from saccade.tasks.audio import recordings
from saccade.tasks.audio.recordings import SUFFIXES, missing_bytes, read_audio, read_whole, resample
from tiers import every

RATES = [(8000, 16000), (16000, 8000), (44100, 16000), (11025, 8000), (48000, 44100), (7, 5), (1009, 997)]
FORMATS = {".aif": "AIFF", ".oga": "OGG", ".opus": "OGG"}


def tone(frequency, rate, count, phase=0.3):
    return torch.sin(2 * torch.pi * frequency * torch.arange(count, dtype=torch.float64) / rate + phase)


def middle(values):
    """What is far enough from both ends, beyond which there is silence."""
    return values[len(values) // 4 : -(len(values) // 4)]


def packed(samples, rate=8000, form="WAV", **options):
    file = io.BytesIO()
    soundfile.write(file, samples, rate, format=form, **options)
    return file.getvalue()


def read(data, rate=8000):
    return read_audio(io.BytesIO(data), rate, "a.wav")


@every(("rate", "new_rate"), RATES)
@every("share", [0.0, 0.05, 0.5, 0.9])
def test_a_tone_below_nyquist_keeps_amplitude_and_phase(rate, new_rate, share):
    frequency, seconds = share * min(rate, new_rate) / 2, 1200 / min(rate, new_rate)
    found = resample(tone(frequency, rate, round(rate * seconds)), rate, new_rate)
    expected = tone(frequency, new_rate, len(found))
    torch.testing.assert_close(middle(found), middle(expected), rtol=0, atol=2e-4)


@every(("rate", "new_rate"), [rates for rates in RATES if rates[0] > rates[1]])
@every("share", [0.0, 0.5, 1.0])
def test_a_tone_above_the_new_nyquist_is_gone(rate, new_rate, share):
    frequency = new_rate / 2 + share * (rate - new_rate) / 2
    found = resample(tone(frequency, rate, 1200 * rate // new_rate), rate, new_rate)
    assert middle(found).abs().max() < 2e-4


@given(st.integers(1, 300), st.integers(1, 60), st.integers(1, 60))
def test_a_resampled_waveform_is_the_sum_that_defines_it(count, rate, new_rate):
    samples = torch.sin(torch.arange(count, dtype=torch.float64) ** 2)
    found = resample(samples, rate, new_rate)
    assert len(found) == math.ceil(count * new_rate / rate) and (found is samples) == (rate == new_rate)
    cutoff = 0.96 * min(rate, new_rate) / 2
    for n in (0, len(found) // 2, len(found) - 1) if rate != new_rate else ():
        t = n / new_rate - torch.arange(count, dtype=torch.float64) / rate
        window = np.i0(8 * np.sqrt(np.clip(1 - (2 * cutoff * t.numpy() / 64) ** 2, 0, None))) / np.i0(8)
        terms = torch.sinc(2 * cutoff * t) * torch.from_numpy(window) * (2 * cutoff * t.abs() <= 64)
        assert found[n].item() == pytest.approx(2 * cutoff / rate * (samples * terms).sum().item(), abs=1e-6)


def test_rates_without_a_common_divisor_are_a_ratio_of_smaller_numbers():
    found = resample(tone(300, 999_983, 100_000), 999_983, 8000)
    assert abs(len(found) - 100_000 * 8000 / 999_983) <= 1
    torch.testing.assert_close(middle(found), middle(tone(300, 8000, len(found))), rtol=0, atol=2e-4)


@pytest.mark.parametrize(
    ("samples", "rates", "message"),
    [
        (torch.zeros(3), (0, 8000), "rate: expected a sample rate above 0 Hz, got 0"),
        (torch.zeros(3), (8000, -1), "new_rate: expected a sample rate above 0 Hz, got -1"),
        (torch.zeros(0), (8000, 16000), "samples: expected one or more, got none"),
    ],
)
def test_what_cannot_be_resampled_is_refused(samples, rates, message):
    with pytest.raises(ArgumentError, match=message):
        resample(samples, *rates)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_of_every_suffix_are_read(tmp_path, suffix):
    path, samples = tmp_path / f"a{suffix}", 0.5 * tone(300, 8000, 4000).numpy()
    options = {"subtype": "OPUS"} if suffix == ".opus" else {}
    path.write_bytes(packed(samples, form=FORMATS.get(suffix, suffix[1:].upper()), **options))
    audio = read_whole(path, 8000, path.name)
    assert audio.samples.dtype == torch.float32 and audio.damage == "" and missing_bytes(path) == 0
    assert middle(audio.samples).square().mean().sqrt() == pytest.approx(0.5 / math.sqrt(2), rel=0.05)


def test_what_is_changed_is_said():
    samples = (np.arange(-3, 4) / 4).astype(np.float32)
    audio = read(packed(samples))
    assert audio.samples.tolist() == samples.tolist() and audio.notes == ()
    assert read(packed(np.zeros(1))).samples.tolist() == [0.0]
    left, right = tone(300, 16000, 800).numpy(), tone(300, 16000, 800).numpy() / 2
    audio = read(packed(np.stack([left, right], 1), 16000))
    assert audio.notes == ("a.wav: mean of 2 channels", "a.wav: resampled from 16000 to 8000 Hz")
    torch.testing.assert_close(middle(audio.samples).double(), middle(0.75 * tone(300, 8000, 400)), rtol=0, atol=1e-3)
    loud = read(packed(np.array([0.5, -4.0, 2.0]), subtype="FLOAT"))
    assert loud.samples.tolist() == [0.125, -1.0, 0.5] and loud.notes == ("a.wav: scaled down from a peak of 4 to 1",)


@pytest.mark.parametrize("subtype", ["PCM_16", "FLOAT", "ULAW", "PCM_24"])
def test_a_truncated_file_is_reported_and_not_learned(tmp_path, subtype):
    path = tmp_path / "a.wav"
    path.write_bytes(packed(tone(300, 8000, 4000) / 2, subtype=subtype)[:-301])
    assert missing_bytes(path) == 301
    audio = read_audio(path, 8000, "a.wav")
    assert audio.notes == (audio.damage,) == ("a.wav: cut short, 301 bytes of sound are missing at its end",)
    with pytest.raises(ArgumentError, match=r"a\.wav: cut short, 301 bytes .*; copy it anew, or leave it out"):
        read_whole(path, 8000, "a.wav")
    path.write_bytes(b"RIFF")
    assert missing_bytes(path) == 0


@pytest.mark.parametrize("size", [0xFFFFFFFF, 0x7FFFFFFF])
def test_a_stream_whose_writer_could_not_know_lacks_nothing(size):
    data = packed(np.zeros(4000))
    place = data.index(b"data") + 4
    assert read(data[:place] + size.to_bytes(4, "little") + data[place + 4 :]).notes == ()


def test_samples_that_a_header_promises_and_a_file_lacks_are_said():
    data = packed(tone(300, 8000, 40000).numpy() / 2, form="MP3")
    audio = read(data[: len(data) // 2])
    assert audio.notes == (f"a.wav: damaged, only {len(audio.samples)} of 40000 samples could be read",)


@every(
    ("data", "message"),
    [
        (b"", "expected a sound file such as WAV, FLAC or Ogg, got an empty file"),
        (b"RIFF", "expected a sound file such as WAV, FLAC or Ogg, got one that cannot be read"),
        (b"the words of a letter\n" * 50, "got one that cannot be read"),
        (packed(np.zeros(80))[:30], "got one that cannot be read"),
        (packed(np.zeros(80), 1), "expected a sample rate from 1000 to 1000000 Hz, got 1"),
        (packed(np.zeros(80), 2_000_000), "expected a sample rate from 1000 to 1000000 Hz, got 2000000"),
        (packed(np.zeros(0)), "expected audio, got a sound file without a sample"),
        (packed(np.array([0.0, math.nan]), subtype="FLOAT"), "expected finite samples, got NaN or infinity"),
        (packed(np.array([[0.0, 1.0], [math.inf, 0.0]]), subtype="FLOAT"), "expected finite samples, got NaN or inf"),
    ],
)
def test_what_is_no_audio_is_named_in_one_line(data, message):
    with pytest.raises(ArgumentError, match=f"^a.wav: .*{message}") as caught:
        read(data)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["AIFF", "CAF", "FLAC", "OGG", "WAV"])
@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_of_a_damaged_file_comes_an_argument_error_or_audio(kind, damage, capfd):
    whole, draws, outcomes = packed(tone(300, 8000, 3000).numpy() / 2, form=kind), random.Random(kind), []
    for _ in range(60):
        data = bytearray(whole[: draws.randrange(len(whole))] if damage == "cut" else whole)
        for _ in range(damage == "changed" and 5):
            data[draws.randrange(80)] = draws.randrange(256)
        try:
            samples = read(bytes(data)).samples
        except ArgumentError as error:
            outcomes.append(str(error).startswith("a.wav: ") and "\n" not in str(error))
        else:
            outcomes.append(bool(len(samples) and samples.isfinite().all()))
    assert all(outcomes) and capfd.readouterr().err == ""


def test_what_cannot_be_read_is_named(tmp_path, monkeypatch):
    with pytest.raises(ArgumentError, match="^here: expected a sound file, got a folder$"):
        read_audio(tmp_path, 8000, "here")
    with pytest.raises(ArgumentError, match="^gone.wav: expected a sound file, found none$"):
        read_audio(tmp_path / "gone.wav", 8000, "gone.wav")
    monkeypatch.setitem(__import__("sys").modules, "soundfile", None)
    with pytest.raises(SaccadeError, match=r"needs soundfile, .*: pip install 'saccade-attention\[train\]'"):
        read(b"RIFF")


@given(st.integers(1, 300), st.integers(0, 99), st.sampled_from([8000, 16000, 44100]))
def test_a_waveform_file_holds_rate_and_samples_alone(size, seed, rate):
    """The header that soundfile gives floats has a chunk with the time of day: two equal waveforms, two files."""
    samples = 2 * torch.rand(size, generator=torch.Generator().manual_seed(seed)) - 1
    data = recordings.wav(samples, rate)
    audio = read_audio(io.BytesIO(data), rate, "a.wav")
    assert torch.equal(audio.samples, samples) and audio.notes == () and b"PEAK" not in data[:100]
