import io
import os

import pytest

from saccade.data.arrow import read_arrow
from saccade.data.layouts.babi import babi as open_babi
from saccade.data.media import attached, attachment, is_file, read_bytes
from saccade.data.splits import SplitNames
from saccade.data.texts import read_lines
from saccade.errors import ArgumentError
from saccade.tasks.audio.signals import Signals
from saccade.tasks.image.places import Images
from saccade.tasks.text.vectors import read_vectors


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


READERS = {
    "a.png": read,
    "a.txt": read_lines,
    "a.vec": lambda path: read_vectors(path, ["a"]),
    "a.arrow": lambda path: read_arrow(path.parent, SplitNames()),
    "a.parquet": lambda path: read_arrow(path.parent, SplitNames()),
    "a.mfc": lambda path: Signals(None, 13).read(str(path)),
    "qa1_a_train.txt": lambda path: open_babi(path.parent, SplitNames()),
}


@pytest.mark.parametrize("name", READERS)
def test_no_reader_opens_a_pipe(name, tmp_path, monkeypatch):
    """A pipe without a writer is waited for; so are sockets and some devices."""
    os.mkfifo(tmp_path / name)
    monkeypatch.setattr("pathlib.Path.open", lambda path, *mode, **more: pytest.fail(f"opened {path}"))
    with pytest.raises((ArgumentError, OSError), match="got a pipe"):
        READERS[name](tmp_path / name)


def test_a_pipe_is_no_archive_of_images(tmp_path):
    os.mkfifo(tmp_path / "a.tar")
    assert Images(tmp_path).find("b.png") is None


def test_a_request_reads_its_own_files_alone(tmp_path):
    path = str(tmp_path / "a.png")
    (tmp_path / "a.png").write_bytes(b"of this machine")
    assert attachment(path) is None and is_file(path)
    with attached({"b.png": b"of the request"}):
        assert attachment("b.png").read() == b"of the request" and is_file("b.png") and not is_file(path)
        with pytest.raises(ArgumentError, match="expected a file of the request, got another name"):
            attachment(path)
        with attached({path: b"of another"}):
            assert attachment(path).read() == b"of another"
    assert attachment("b.png") is None and not is_file("b.png")
