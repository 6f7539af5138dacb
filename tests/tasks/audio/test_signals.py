import io
import sys

import numpy as np
import pytest
import torch

from saccade.errors import ArgumentError
from saccade.tasks.audio.features import LogMel, normalized
from saccade.tasks.audio.signals import Signals, suffixes
from saccade.tasks.transcribe.data.an4 import cepstra, features
from saccade.tasks.transcribe.data.tones import Tones
from speech import record

HEARD, GIVEN = Signals(8000, None, 40, 25, 10), Signals(None, 39)


def test_a_recording_becomes_normalized_log_mels(tmp_path):
    signal = Tones().example("test", 3).signal
    found, notes = HEARD.read(str(record(tmp_path / "a.wav", 3)))
    torch.testing.assert_close(found, normalized(LogMel(8000)(signal)), rtol=0, atol=0.1)  # 16 bits
    assert notes == () and HEARD.width == 40 and HEARD.frame_seconds == 0.01 and ".flac" in suffixes(HEARD)


def test_a_feature_file_becomes_features_with_their_changes(tmp_path, monkeypatch):
    data = np.array([26], ">i4").tobytes() + np.arange(26, dtype=">f4").tobytes()
    (tmp_path / "a.mfc").write_bytes(data)
    found, _ = GIVEN.read(str(tmp_path / "a.mfc"))
    assert torch.equal(found, features(cepstra(data, "a"))) and found.shape == (2, GIVEN.width)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert torch.equal(GIVEN.read("-")[0], found) and suffixes(GIVEN) == (".mfc",)


def test_what_is_of_another_kind_is_refused(tmp_path):
    for path in (record(tmp_path / "a.wav"), tmp_path / "gone.mfc", tmp_path / ("x" * 300 + ".mfc")):
        with pytest.raises(ArgumentError, match=r"expected (Sphinx features|a feature file)"):
            GIVEN.read(str(path))


def test_features_that_cannot_be_name_their_option():
    with pytest.raises(ArgumentError, match="^--mels: expected fewer"):
        Signals(8000, None, 900, 25, 10).check()
    GIVEN.check()
