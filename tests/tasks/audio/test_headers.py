import io

import numpy as np
import pytest
import soundfile

from saccade.errors import ArgumentError
from saccade.tasks.audio.headers import missing_bytes
from saccade.tasks.audio.recordings import read_audio, read_whole
from tiers import every


def packed(form="WAV", **more):
    file = io.BytesIO()
    soundfile.write(file, np.sin(np.arange(4000) / 9), 8000, format=form, **more)
    return file.getvalue()


@pytest.mark.parametrize("more", [{}, {"subtype": "FLOAT"}, {"subtype": "ULAW"}, {"subtype": "PCM_24"}])
def test_a_wav_lacks_what_its_header_promises_and_is_not_there(more):
    data = packed(**more)
    assert missing_bytes(data, len(data)) == 0
    assert missing_bytes(data[:4096], len(data)) == 0  # the header alone is looked at
    assert missing_bytes(data, len(data) - 301) == 301


@pytest.mark.parametrize("size", [0xFFFFFFFF, 0x7FFFFFFF, 0])
def test_a_stream_whose_writer_could_not_know_lacks_nothing(size):
    data = packed()
    place = data.index(b"data") + 4
    assert missing_bytes(data[:place] + size.to_bytes(4, "little") + data[place + 4 :], len(data)) == 0


@pytest.mark.parametrize("data", [b"", b"RIFF", b"RIFF0000AVI fmt ", b"OggS" * 20])
def test_other_files_lack_nothing(data):
    assert missing_bytes(data, 0) == 0


@pytest.mark.parametrize("kept", [12, 19, 36, 43])
def test_a_wav_without_sound_names_what_it_lacks(kept):
    data = packed()[:kept]
    assert missing_bytes(data, len(data)) > 0


def test_a_truncated_file_is_reported_and_not_learned():
    cut = packed()[:3000]
    audio = read_audio(io.BytesIO(cut), 8000, "a.wav")
    assert audio.notes == (audio.damage,) == ("a.wav: cut short, 5044 bytes of sound are missing at its end",)
    with pytest.raises(ArgumentError, match=r"a\.wav: cut short, 5044 bytes .*; copy it anew, or leave it out"):
        read_whole(io.BytesIO(cut), 8000, "a.wav")


@every("form", ["WAV", "FLAC", "OGG", "MP3", "AIFF"])
def test_whole_files_of_all_forms_are_whole(form):
    assert read_whole(io.BytesIO(packed(form)), 8000, "a").damage == ""
