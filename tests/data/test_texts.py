import gzip
import os

import pytest

from saccade.data.texts import read_lines, read_text
from saccade.errors import ArgumentError
from tiers import every

CAFE = "caf\xe9\n\xa0\x85"


@every(
    ("content", "lines"),
    [
        ("\ufeffa\u2028b\x85c\rd\r\n\ne".encode(), ["a\u2028b\x85c\rd", "", "e"]),
        (gzip.compress(b"one\ntwo\n"), ["one", "two"]),
        (b"one\rtwo\r", ["one", "two"]),
    ],
)
def test_lines_of_a_file(tmp_path, content, lines):
    (tmp_path / "text").write_bytes(content)
    assert read_lines(tmp_path / "text") == lines


PACKED = gzip.compress(b"".join(b"line %d\n" % n for n in range(99)))


@every(
    ("content", "latin1", "message"),
    [
        (b"", False, "expected a sentence a line, got an empty file"),
        (b"a\nb\xff\nc", False, "line 2: expected UTF-8, got byte 0xff; .* iconv"),
        (b"a\nb\xc3", False, "line 2: expected UTF-8, got byte 0xc3; .* iconv"),
        (b"a\nb\xc3\nc", False, "line 2: expected UTF-8, got byte 0xc3; .* iconv"),
        (CAFE.encode("latin-1"), False, "line 1: expected UTF-8, got byte 0x"),
        (CAFE.encode("utf-16"), False, "line 1: expected UTF-8, got byte 0x"),
        (b"a\n\xff\xfe\x00\n", True, "line 2: expected text in UTF-8 or Latin-1, got byte 0xff; it is no text"),
        (PACKED[:-9], False, "expected a whole gzip file"),
        (PACKED[:20] + b"xxxx" + PACKED[24:], False, "expected a whole gzip file"),
        (PACKED[:3], False, "expected a whole gzip file"),
    ],
)
def test_an_error_in_a_file_is_named(tmp_path, content, latin1, message):
    (tmp_path / "text.gz").write_bytes(content)
    with pytest.raises(ArgumentError, match=rf"text\.gz: {message}"):
        read_text(tmp_path / "text.gz", latin1=True) if latin1 else read_lines(tmp_path / "text.gz")


@every(("encoding", "note"), [("latin-1", "no UTF-8, and was read as Latin-1"), ("utf-16", "read as UTF-16")])
def test_other_encodings_are_read_on_request(tmp_path, encoding, note):
    (tmp_path / "text").write_bytes(CAFE.encode(encoding))
    text, said = read_text(tmp_path / "text", latin1=True)
    assert text == CAFE and note in said


def test_a_pipe_and_a_folder_are_named(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name, kind in (("pipe", "a pipe"), (".", "a folder")):
        with pytest.raises(ArgumentError, match=f"expected a file of text, got {kind}"):
            read_text(tmp_path / name)
