import gzip
import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from saccade.errors import ArgumentError
from saccade.tasks.text import lines as module
from saccade.tasks.text.lines import gather, read_lines


def texts(path):
    lines = read_lines(path)
    return [lines[number] for number in range(len(lines))]


@pytest.mark.parametrize("part", [1, 3, 1 << 22])
@given(st.lists(st.text(), max_size=6), st.booleans(), st.booleans())
@example(["hello"], False, True)
def test_lines_end_at_newlines_alone(tmp_path_factory, part, written, packed, cut):
    path = tmp_path_factory.mktemp("lines") / "text"
    content = "".join(f"{text}\n" for text in written).encode()
    content = content.removesuffix(b"\n") if cut else content
    path.write_bytes(gzip.compress(content) if packed else content)
    before, module._PART = module._PART, part
    try:
        found = texts(path)
    finally:
        module._PART = before
    wanted = [line.removesuffix("\r") for line in content.decode().removesuffix("\n").split("\n")] if content else []
    assert found == [line if number else line.removeprefix("\ufeff") for number, line in enumerate(wanted)]


def test_other_separators_are_text_and_ends_of_windows_are_ends(tmp_path):
    (tmp_path / "text").write_bytes("a\u2028b\x85c\rd\r\n\ne".encode())
    assert texts(tmp_path / "text") == ["a\u2028b\x85c\rd", "", "e"]


def test_an_order_mark_is_no_letter(tmp_path):
    (tmp_path / "text").write_bytes(b"\xef\xbb\xbfa\nb")
    assert texts(tmp_path / "text") == ["a", "b"]


def test_blank_lines_are_those_of_white_space_alone(tmp_path):
    written = ["\ufeff", "a", "", "  ", " a", "\u3000", "\u3042", "\xa0\t", "\u2028", "\u1680", "ä", "\r", "e"]
    (tmp_path / "text").write_bytes("\n".join(written).encode())
    assert read_lines(tmp_path / "text").blank().tolist() == [
        not line.strip(" \t\r\ufeff\u3000\xa0\u2028\u1680") for line in written
    ]


def test_no_lines_at_all(tmp_path):
    (tmp_path / "text").write_bytes(b"")
    lines = read_lines(tmp_path / "text")
    assert len(lines) == 0
    assert lines.blank().tolist() == []


@pytest.mark.parametrize("after", [b"", b"one\n", b"\xff" * 8, b"new\nold\n", b"one\ntwo\nmore\n"])
def test_a_file_that_changes_in_the_meantime_is_named(tmp_path, after):
    path = tmp_path / "text"
    path.write_bytes(b"one\ntwo\n")
    os.utime(path, (1, 1))
    lines = read_lines(path)
    path.write_bytes(after)
    for read in (lambda: lines[1], lines.blank):
        with pytest.raises(ArgumentError, match="text: .*changed"):
            read()


def test_a_file_of_no_known_size_is_read():
    path = Path("/proc/self/status")
    if not path.exists():
        pytest.skip("no /proc")
    lines = read_lines(path)
    assert lines[0].startswith("Name:") and len(lines.blank()) == len(lines)


@pytest.mark.parametrize("content", [b"a\nb\xff\nc", b"a\nb\xc3", b"a\nb\xc3\nc"])
@pytest.mark.parametrize("part", [1, 4, 1 << 22])
def test_what_is_no_utf8_is_named_with_its_line(tmp_path, monkeypatch, content, part):
    monkeypatch.setattr(module, "_PART", part)
    (tmp_path / "text").write_bytes(content)
    with pytest.raises(ArgumentError, match=rf"text: line 2: expected UTF-8, got byte 0x{content[3]:02x}"):
        read_lines(tmp_path / "text")


@pytest.mark.parametrize("damage", [lambda b: b[:-9], lambda b: b[:20] + b"xxxx" + b[24:], lambda b: b[:3]])
def test_a_damaged_gzip_is_named(tmp_path, damage):
    (tmp_path / "text.gz").write_bytes(damage(gzip.compress(b"".join(b"line %d\n" % n for n in range(99)))))
    with pytest.raises(ArgumentError, match=r"text\.gz: expected a whole gzip file"):
        read_lines(tmp_path / "text.gz")


def test_the_hash_is_of_the_contents(tmp_path):
    (tmp_path / "a").write_bytes(b"one\ntwo\n")
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"one\ntwo\n"))
    (tmp_path / "c").write_bytes(b"one\ntwo")
    digests = [read_lines(tmp_path / name).digest for name in ("a", "b.gz", "c")]
    assert digests[0] == digests[1] != digests[2]


def test_a_full_disk_is_named_by_its_folder(tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    (tmp_path / "text.gz").write_bytes(gzip.compress(b"a\n"))
    monkeypatch.setattr(module.shutil, "copyfileobj", full)
    with pytest.raises(OSError) as caught:
        read_lines(tmp_path / "text.gz")
    assert caught.value.filename == module.tempfile.gettempdir()


def test_latin_1_is_read_where_it_may_be(tmp_path):
    (tmp_path / "text").write_bytes("caf\xe9\n\xa0\x85\nna\xefve \x97 x".encode("latin-1"))
    with pytest.raises(ArgumentError, match="text: line 1: expected UTF-8, got byte 0xe9"):
        read_lines(tmp_path / "text")
    lines = read_lines(tmp_path / "text", latin1=True)
    assert [lines[number] for number in range(3)] == ["caf\xe9", "\xa0\x85", "na\xefve \x97 x"]
    assert lines.encoding == "latin-1" and lines.blank().tolist() == [False, True, False]
    (tmp_path / "utf").write_text("caf\xe9\n", encoding="utf-8")
    assert read_lines(tmp_path / "utf", latin1=True)[0] == "caf\xe9"


def test_a_binary_file_is_no_latin_1(tmp_path):
    (tmp_path / "text").write_bytes(b"a\n\xff\xfe\x00\n")
    with pytest.raises(ArgumentError, match="line 2: expected text in UTF-8 or Latin-1, got byte 0x00"):
        read_lines(tmp_path / "text", latin1=True)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no file that cannot be read")
def test_a_file_that_cannot_be_read_is_named():
    with pytest.raises(OSError, match="Input/output error: '/proc/self/mem'"):
        read_lines(Path("/proc/self/mem"))


def test_a_line_that_would_fill_the_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_LONGEST", 1000)
    path = tmp_path / "a.txt"
    path.write_bytes(b"short\n" + b"x" * 1001 + b"\nshort\n")
    with pytest.raises(ArgumentError, match=r"a\.txt: line 2: expected a text of at most 0 MiB, got"):
        read_lines(path)


def test_texts_from_elsewhere_are_lines_with_breaks_in_them(tmp_path):
    found = gather(tmp_path, ["one\ntwo", "", "caf\xe9"])
    assert [found[number] for number in range(len(found))] == ["one\ntwo", "", "caf\xe9"]
    assert found.blank().tolist() == [False, True, False]
    assert found.digest != gather(tmp_path, ["one", "two", "caf\xe9"]).digest
