import gzip
import os

import pytest

from saccade.data.texts import check_encoding, read_lines, read_text, reading_as
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
        (b"a\nb\xff\nc", False, "line 2: expected UTF-8, got byte 0xff; --encoding cp1252 reads"),
        (b"a\nb\xc3", False, "line 2: expected UTF-8, got byte 0xc3; --encoding cp1252 reads"),
        (b"a\nb\xc3\nc", False, "line 2: expected UTF-8, got byte 0xc3; --encoding cp1252 reads"),
        (CAFE.encode("latin-1"), False, "line 1: expected UTF-8, got byte 0x"),
        (b"a\n\xff\xfe\x00\n", True, "line 2: expected UTF-8, got byte 0xff; it is no text"),
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


@every(
    ("content", "encoding", "text", "note"),
    [
        ("\u20ac 5".encode("cp1252"), "cp1252", "\u20ac 5", ""),
        ("\u20ac 5".encode(), "cp1252", "\u00e2\u201a\u00ac 5", "was read as cp1252, but is UTF-8 too"),
        ("\u20ac 5".encode("utf-8-sig"), "utf-8", "\u20ac 5", ""),
        (gzip.compress("\u20ac 5".encode("utf-16-le")), "utf-16-le", "\u20ac 5", ""),
    ],
)
def test_an_encoding_is_read_by_its_name(tmp_path, content, encoding, text, note):
    (tmp_path / "text").write_bytes(content)
    with reading_as(encoding):
        read, said = read_text(tmp_path / "text")
    assert read == text and note in said and bool(note) == bool(said)


@every("encoding", ["cp12520", "", "rot13", "hex", "a\0b"])
def test_a_name_that_is_no_encoding_is_refused(encoding):
    with pytest.raises(ArgumentError, match=r"^--encoding: expected an encoding .*, such as cp1252, got "):
        check_encoding(encoding)


def test_a_byte_outside_the_named_encoding_is_refused_by_its_line(tmp_path):
    (tmp_path / "text").write_bytes(b"a\n\x81")
    with (
        reading_as("cp1252"),
        pytest.raises(ArgumentError, match="text: line 2: expected cp1252, got byte 0x81; name its"),
    ):
        read_text(tmp_path / "text")


def test_a_pipe_and_a_folder_are_named(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name, kind in (("pipe", "a pipe"), (".", "a folder")):
        with pytest.raises(ArgumentError, match=f"expected a file of text, got {kind}"):
            read_text(tmp_path / name)
