import io
import math
import random
from unittest.mock import Mock

import numpy as np
import pytest
import soundfile
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from saccade.errors import ArgumentError, SaccadeError
from saccade.tasks.audio import recordings
from saccade.tasks.audio.recordings import SUFFIXES, read_audio, resample
from tiers import every

RATES = [
    (8000, 16000),
    (16000, 8000),
    (44100, 8000),
    (44100, 16000),
    (11025, 8000),
    (48000, 44100),
    (7, 5),
    (1009, 997),
]
FORMATS = {".aif": "AIFF", ".oga": "OGG", ".opus": "OGG"}


def tone(frequency, rate, count, phase=0.3):
    return torch.sin(2 * torch.pi * frequency * torch.arange(count, dtype=torch.float64) / rate + phase)


def middle(values):
    """What is far enough from both ends, beyond which there is silence."""
    return values[len(values) // 4 : -(len(values) // 4)]


def wav(samples, rate=8000, **options):
    file = io.BytesIO()
    soundfile.write(file, samples, rate, format="WAV", **options)
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


@pytest.mark.parametrize(("rate", "new_rate"), [(22050, 16000), (44100, 16000), (16000, 44100), (48000, 16000)])
def test_resampling_a_common_rate_caches_its_filters(monkeypatch, rate, new_rate):
    convolve, design = Mock(side_effect=F.conv1d), Mock(side_effect=torch.sinc)
    samples = tone(1000, rate, rate // 10)
    resample(samples, rate, new_rate)
    monkeypatch.setattr(F, "conv1d", convolve)
    monkeypatch.setattr(torch, "sinc", design)
    resample(samples, rate, new_rate)
    assert convolve.call_count <= 4 and not design.called


def test_file_read_without_gradients_takes_none_from_next():
    with torch.inference_mode():
        resample(torch.ones(9, dtype=torch.float64), 7, 3)
    samples = torch.ones(9, dtype=torch.float64, requires_grad=True)
    resample(samples, 7, 3).sum().backward()
    assert samples.grad is not None


@given(st.integers(1, 300), st.integers(1, 60), st.integers(1, 60))
def test_a_resampled_waveform_is_the_sum_that_defines_it(count, rate, new_rate):
    samples = torch.sin(torch.arange(count, dtype=torch.float64) ** 2)
    found = resample(samples, rate, new_rate)
    assert len(found) == math.ceil(count * new_rate / rate)
    if rate == new_rate:
        assert found is samples
        return
    cutoff = 0.96 * min(rate, new_rate) / 2
    for n in (0, len(found) // 2, len(found) - 1):
        t = n / new_rate - torch.arange(count, dtype=torch.float64) / rate
        window = np.i0(8 * np.sqrt(np.clip(1 - (2 * cutoff * t.numpy() / 64) ** 2, 0, None))) / np.i0(8)
        terms = torch.sinc(2 * cutoff * t) * torch.from_numpy(window) * (2 * cutoff * t.abs() <= 64)
        assert found[n].item() == pytest.approx(2 * cutoff / rate * (samples * terms).sum().item(), abs=1e-6)


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
    path = tmp_path / f"a{suffix}"
    options = {"subtype": "OPUS"} if suffix == ".opus" else {}
    samples = 0.5 * tone(300, 8000, 4000).numpy()
    soundfile.write(path, samples, 8000, format=FORMATS.get(suffix, suffix[1:].upper()), **options)
    audio = read_audio(path, 8000, path.name)
    assert audio.samples.dtype == torch.float32
    found = middle(audio.samples)
    assert found.square().mean().sqrt() == pytest.approx(0.5 / math.sqrt(2), rel=0.05)


def test_a_file_at_the_rate_is_its_samples():
    samples = (np.arange(-3, 4) / 4).astype(np.float32)
    audio = read(wav(samples))
    assert audio.samples.tolist() == samples.tolist() and audio.notes == ()


def test_what_is_changed_is_said():
    left, right = tone(300, 16000, 800).numpy(), tone(300, 16000, 800).numpy() / 2
    audio = read(wav(np.stack([left, right], 1), 16000))
    assert audio.notes == ("a.wav: mean of 2 channels", "a.wav: resampled from 16000 to 8000 Hz")
    torch.testing.assert_close(middle(audio.samples).double(), middle(0.75 * tone(300, 8000, 400)), rtol=0, atol=1e-3)
    loud = read(wav(np.array([0.5, -4.0, 2.0]), subtype="FLOAT"))
    assert loud.samples.tolist() == [0.125, -1.0, 0.5] and loud.notes == ("a.wav: scaled down from a peak of 4 to 1",)


def test_a_waveform_within_its_bounds_is_left_as_it_is():
    samples = torch.tensor([0.5, -1.0])
    assert recordings.leveled(samples, "a")[0] is samples and recordings.leveled(samples, "a")[1] == ()
    loud, notes = recordings.leveled(3 * samples, "a")
    assert loud.tolist() == [0.5, -1.0] and notes == ("a: scaled down from a peak of 3 to 1",)


def test_samples_that_a_header_promises_and_a_file_lacks_are_said():
    file = io.BytesIO()
    soundfile.write(file, tone(300, 8000, 40000).numpy() / 2, 8000, format="MP3")
    audio = read(file.getvalue()[: len(file.getvalue()) // 2])
    assert audio.notes == (f"a.wav: damaged, only {len(audio.samples)} of 40000 samples could be read",)


def test_silence_and_a_single_sample_are_audio():
    assert read(wav(np.zeros(1))).samples.tolist() == [0.0]
    assert read(wav(np.zeros(16000), 16000)).samples.abs().max() == 0


@every(
    ("data", "message"),
    [
        (b"", "expected a sound file such as WAV, FLAC or Ogg, got an empty file"),
        (b"RIFF", "expected a sound file such as WAV, FLAC or Ogg, got one that cannot be read"),
        (b"the words of a letter\n" * 50, "got one that cannot be read"),
        (wav(np.zeros(80))[:30], "got one that cannot be read"),
        (wav(np.zeros(80), 1), "expected a sample rate from 1000 to 1000000 Hz, got 1"),
        (wav(np.zeros(80), 2_000_000), "expected a sample rate from 1000 to 1000000 Hz, got 2000000"),
        (wav(np.zeros(0)), "expected audio, got a sound file without a sample"),
        (wav(np.array([0.0, math.nan]), subtype="FLOAT"), "expected finite samples, got NaN or infinity"),
        (wav(np.array([[0.0, 1.0], [math.inf, 0.0]]), subtype="FLOAT"), "expected finite samples, got NaN or infinity"),
    ],
)
def test_what_is_no_audio_is_named_in_one_line(data, message):
    with pytest.raises(ArgumentError, match=f"^a.wav: .*{message}") as caught:
        read(data)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["AIFF", "CAF", "FLAC", "OGG", "WAV"])
@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_of_a_damaged_file_comes_an_argument_error_or_audio(kind, damage, capfd):
    file = io.BytesIO()
    soundfile.write(file, tone(300, 8000, 3000).numpy() / 2, 8000, format=kind)
    whole, draws, outcomes = file.getvalue(), random.Random(kind), []
    for _ in range(60):
        data = bytearray(whole[: draws.randrange(len(whole))] if damage == "cut" else whole)
        for _ in range(damage == "changed" and 5):
            data[draws.randrange(80)] = draws.randrange(256)
        try:
            audio = read(bytes(data))
        except ArgumentError as error:
            outcomes.append(str(error).startswith("a.wav: ") and "\n" not in str(error))
        else:
            outcomes.append(bool(len(audio.samples) and audio.samples.isfinite().all()))
    assert all(outcomes) and capfd.readouterr().err == ""


def test_paths_that_are_no_file_are_named(tmp_path):
    with pytest.raises(ArgumentError, match="^here: expected a sound file, got a folder$"):
        read_audio(tmp_path, 8000, "here")
    with pytest.raises(ArgumentError, match="^gone.wav: expected a sound file, found none$"):
        read_audio(tmp_path / "gone.wav", 8000, "gone.wav")


def test_what_reads_audio_may_be_missing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "soundfile", None)
    with pytest.raises(SaccadeError, match=r"needs soundfile, .*: pip install 'saccade-attention\[train\]'"):
        read(b"RIFF")


@given(st.integers(1, 300), st.integers(0, 99), st.sampled_from([8000, 16000, 44100]))
def test_waveform_that_is_written_is_read_again_to_the_bit(size, seed, rate):
    samples = 2 * torch.rand(size, generator=torch.Generator().manual_seed(seed)) - 1
    audio = read_audio(io.BytesIO(recordings.wav(samples, rate)), rate, "a.wav")
    assert torch.equal(audio.samples, samples) and audio.notes == ()


def test_waveform_files_hold_rate_and_samples_alone():
    """The header that soundfile gives floats has a chunk with the time of day: two equal waveforms, two files."""
    samples = torch.linspace(-1, 1, 100)
    data = recordings.wav(samples, 8000)
    chunks, place = {}, 12
    while place < len(data):
        size = int.from_bytes(data[place + 4 : place + 8], "little")
        chunks[data[place : place + 4]], place = data[place + 8 : place + 8 + size], place + 8 + size
    assert chunks.keys() == {b"fmt ", b"fact", b"data"} and chunks[b"data"] == samples.numpy().tobytes()
    assert torch.equal(read(data).samples, samples)
