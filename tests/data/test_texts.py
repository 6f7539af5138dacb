import gzip
import os

import pytest

from saccade.data.texts import read_lines, read_text
from saccade.errors import ArgumentError


def test_other_separators_are_text_and_ends_of_windows_are_ends(tmp_path):
    (tmp_path / "text").write_bytes("\ufeffa\u2028b\x85c\rd\r\n\ne".encode())
    assert read_lines(tmp_path / "text") == ["a\u2028b\x85c\rd", "", "e"]


def test_a_packed_file_is_its_content(tmp_path):
    (tmp_path / "a").write_bytes(gzip.compress(b"one\ntwo\n"))
    assert read_lines(tmp_path / "a") == ["one", "two"]


def test_an_empty_file_is_an_error(tmp_path):
    (tmp_path / "train.de").write_text("")
    with pytest.raises(ArgumentError, match=r"train\.de: expected a sentence a line, got an empty file"):
        read_lines(tmp_path / "train.de")


@pytest.mark.parametrize("content", [b"a\nb\xff\nc", b"a\nb\xc3", b"a\nb\xc3\nc"])
def test_a_byte_that_is_no_utf8_is_named_with_its_line(tmp_path, content):
    (tmp_path / "text").write_bytes(content)
    with pytest.raises(ArgumentError, match=rf"text: line 2: expected UTF-8, got byte 0x{content[3]:02x}; .* iconv"):
        read_lines(tmp_path / "text")


@pytest.mark.parametrize("damage", [lambda b: b[:-9], lambda b: b[:20] + b"xxxx" + b[24:], lambda b: b[:3]])
def test_a_damaged_gzip_is_named(tmp_path, damage):
    (tmp_path / "text.gz").write_bytes(damage(gzip.compress(b"".join(b"line %d\n" % n for n in range(99)))))
    with pytest.raises(ArgumentError, match=r"text\.gz: expected a whole gzip file"):
        read_text(tmp_path / "text.gz")


def test_latin_1_and_utf_16_are_read_on_request(tmp_path):
    for encoding, said in (("latin-1", "no UTF-8, and was read as Latin-1"), ("utf-16", "read as UTF-16")):
        (tmp_path / "text").write_bytes("caf\xe9\n\xa0\x85".encode(encoding))
        with pytest.raises(ArgumentError, match="text: line 1: expected UTF-8, got byte 0x"):
            read_text(tmp_path / "text")
        text, note = read_text(tmp_path / "text", latin1=True)
        assert text == "caf\xe9\n\xa0\x85" and said in note


def test_a_binary_file_is_no_latin_1(tmp_path):
    (tmp_path / "text").write_bytes(b"a\n\xff\xfe\x00\n")
    with pytest.raises(ArgumentError, match="line 2: expected text in UTF-8 or Latin-1, got byte 0xff; it is no text"):
        read_text(tmp_path / "text", latin1=True)


def test_a_pipe_and_a_folder_are_named(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name, kind in (("pipe", "a pipe"), (".", "a folder")):
        with pytest.raises(ArgumentError, match=f"expected a file of text, got {kind}"):
            read_text(tmp_path / name)
