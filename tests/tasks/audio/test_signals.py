import io
import math
import sys

import numpy as np
import pytest
import torch

from saccade.errors import ArgumentError
from saccade.tasks.audio.features import LogMel, normalized
from saccade.tasks.audio.signals import Signals
from saccade.tasks.audio.sphinx import cepstra, features
from saccade.tasks.transcribe.data.tones import Tones
from speech import record

HEARD, GIVEN = Signals(8000, None, 40, 25, 10), Signals(None, 39)


def test_a_recording_becomes_normalized_log_mels(tmp_path):
    signal = Tones().example("test", 3).signal
    (found, loudness, start), notes = HEARD.read(str(record(tmp_path / "a.wav", 3)))
    torch.testing.assert_close(found, normalized(LogMel(8000)(signal)), rtol=0, atol=0.1)  # 16 bits
    assert len(loudness) == len(found)
    assert (
        notes == () and start == 0 and HEARD.width == 40 and HEARD.frame_seconds == 0.01 and ".flac" in HEARD.suffixes
    )


@pytest.mark.parametrize(("rate", "seconds"), [(8000, 0.01), (44100, 0.01), (22050, 220 / 22050), (12345, 123 / 12345)])
def test_frames_are_whole_samples_apart(rate, seconds):
    signals = Signals(rate, None, 20, 25, 10)
    assert signals.frame_seconds == pytest.approx(seconds, rel=1e-12) and GIVEN.frame_seconds == 0.01
    sound = torch.zeros(40 * rate)
    sound[30 * rate] = 1.0
    loudest = int(LogMel(rate, 20)(sound).sum(1).argmax())
    assert abs(loudest * signals.frame_seconds - 30) < 0.03


def test_a_feature_file_becomes_features_with_their_changes(tmp_path, monkeypatch):
    data = np.array([26], ">i4").tobytes() + np.arange(26, dtype=">f4").tobytes()
    (tmp_path / "a.mfc").write_bytes(data)
    (found, *_), _ = GIVEN.read(str(tmp_path / "a.mfc"))
    assert torch.equal(found, features(cepstra(data, "a"))) and found.shape == (2, GIVEN.width)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert torch.equal(GIVEN.read("-")[0].values, found) and GIVEN.suffixes == (".mfc",)


def test_what_is_of_another_kind_is_refused(tmp_path):
    for path in (record(tmp_path / "a.wav"), tmp_path / "gone.mfc", tmp_path / ("x" * 300 + ".mfc")):
        with pytest.raises(ArgumentError, match=r"expected (Sphinx features|a feature file)"):
            GIVEN.read(str(path))


def test_features_that_cannot_be_name_their_option():
    with pytest.raises(ArgumentError, match="^--mels: expected fewer"):
        Signals(8000, None, 900, 25, 10)


def test_a_signal_is_a_file_that_reads_back_as_the_same(tmp_path):
    signal = Tones().example("test", 3).signal
    suffix, data = HEARD.file(signal)
    (tmp_path / f"a{suffix}").write_bytes(data)
    (read, *_), _ = HEARD.read(str(tmp_path / f"a{suffix}"))
    assert suffix in HEARD.suffixes and torch.equal(read, HEARD.frames(signal)[0])
    frames = features(torch.randn(20, 13, generator=torch.Generator().manual_seed(1)))
    suffix, data = GIVEN.file(frames)
    (tmp_path / f"a{suffix}").write_bytes(data)
    assert GIVEN.frames(frames)[0] is frames and torch.equal(GIVEN.frames(frames)[1], frames[:, 0]) and suffix == ".mfc"
    torch.testing.assert_close(GIVEN.read(str(tmp_path / f"a{suffix}"))[0].values, frames, atol=1e-4, rtol=1e-4)


def test_a_tone_is_louder_than_noise_in_few_bands():
    noise = 0.02 * torch.randn(8000, generator=torch.Generator().manual_seed(0))
    tone = noise.clone()
    tone[3000:5000] += 0.1 * torch.sin(torch.arange(2000) * 0.7)
    frames, loudness, _ = HEARD.frames(tone)
    loud = loudness > loudness.mean()
    assert loudness.shape == (len(frames),) and bool(loud[38:60].all()) and not bool(loud[:34].any() | loud[64:].any())


def tone_in_silence(before, after):
    """A tone of 0.2 s between quiet noise, or zeros, of some samples."""
    tone = 0.5 * torch.sin(torch.arange(1600) * 0.7)
    return torch.cat([torch.zeros(before), tone, 1e-5 * torch.randn(after, generator=torch.Generator().manual_seed(1))])


def test_silence_is_cut_off_both_ends():
    trimmed = Signals(8000, None, 20, 25, 10, trim_db=40.0)
    values, loudness, start = trimmed.frames(tone_in_silence(4000, 8000))
    assert 45 <= start <= 50 and len(values) == len(loudness) <= 30  # 50 frames are before the tone, 20 are in it
    whole = Signals(8000, None, 20, 25, 10).frames(tone_in_silence(4000, 8000))
    assert whole.start == 0 and torch.equal(whole.loudness[start : start + len(loudness)], loudness)
    silence = trimmed.frames(torch.zeros(4000))
    assert (
        silence.start == 0 and len(silence.values) == trimmed.logmel.frames(4000) and bool((silence.values == 0).all())
    )


def test_a_recording_is_normalized_as_a_whole():
    """Bands keep their differences, no gain matters, and silence has one level however deep it is."""
    signals = Signals(8000, None, 20, 25, 10, "recording")
    sound = tone_in_silence(800, 0)
    values = signals.frames(sound).values
    assert float(values.mean()) == pytest.approx(0, abs=1e-5)
    assert float(values.square().mean()) == pytest.approx(1, abs=1e-5)
    assert float(values.mean(0).std()) > 0.1
    torch.testing.assert_close(signals.frames(0.1 * sound).values, values, atol=0.02, rtol=0)
    bands = signals.logmel(sound)
    assert float(bands.max() - bands.min()) > 20  # natural logarithms: zeros are 100 dB below
    deviation = bands.clamp(min=bands.max() - 7 * math.log(10)).std(correction=0)
    assert float((values.max() - values.min()) * deviation) == pytest.approx(7 * math.log(10), rel=1e-4)
