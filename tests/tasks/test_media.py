import io

import pytest

from saccade.errors import ArgumentError
from saccade.tasks.media import read_bytes


def read(source, most=1 << 20):
    return read_bytes(source, "a.png", "an image", most, "scale it down")


def test_all_bytes_of_a_file_and_of_a_stream(tmp_path):
    (tmp_path / "a.png").write_bytes(b"pixels")
    assert read(tmp_path / "a.png") == read(io.BytesIO(b"pixels")) == read(io.BytesIO(b"pixels"), 6) == b"pixels"


def test_of_a_stream_without_end_one_byte_too_many_is_read():
    stream = io.BytesIO(bytes(1 << 20) + b"and more")
    with pytest.raises(ArgumentError, match=r"^a.png: expected an image of at most 1 MiB, got more; scale it down$"):
        read(stream)
    assert stream.tell() == (1 << 20) + 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (".", "expected an image, got a folder"),
        ("none", "expected an image, found none"),
        ("a\0b", "expected an image that can be read, got embedded null byte"),
        ("n" * 300, "expected an image that can be read, got File name too long"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, name, message):
    with pytest.raises(ArgumentError, match=f"^a.png: {message}$"):
        read(tmp_path / name)
