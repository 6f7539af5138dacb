"""What is answered: an argument, a file, a folder, a list, standard input."""

import gzip
import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from saccade.cli import inputs as cli
from saccade.cli.arguments import UsageError
from saccade.cli.inputs import Pending, inputs, texts

UNREADABLE = "/proc/self/mem"
READER = SimpleNamespace(inputs="lines", suffixes=())
VIEWER = SimpleNamespace(inputs="files", suffixes=(".png", ".jpg"))


class Stream(io.TextIOWrapper):
    """Standard input of some bytes, typed or not."""

    def __init__(self, content, typed=False):
        super().__init__(io.BufferedReader(io.BytesIO(content)), encoding="utf-8")
        self.typed = typed

    def isatty(self):
        return self.typed


@pytest.fixture
def standard_input(monkeypatch):
    return lambda content, typed=False: monkeypatch.setattr(sys, "stdin", Stream(content, typed))


def given(task, argument=None, file=None):
    with inputs(task, argument, None if file is None else str(file)) as lines:
        return list(lines)


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"\n\n", ["", ""]),
        (b"a", ["a"]),
        (b"a\nb\n", ["a", "b"]),
        (b"a\r\nb", ["a\r", "b"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb", ["a", "\ufeffb"]),  # a mark of the bytes' order stands at the beginning alone
        (b"\xff\xfe\n", ["\ufffd\ufffd"]),
        ("a\u2028b\x0bc\x85d".encode(), ["a\u2028b\x0bc\x85d"]),
        (b"\x00", ["\x00"]),
        (b" a \t\n", [" a \t"]),
    ],
)
def test_lines_of_a_file_of_standard_input_and_packed_are_the_same(content, lines, tmp_path, standard_input):
    (tmp_path / "in").write_bytes(content)
    (tmp_path / "packed").write_bytes(gzip.compress(content))
    assert given(READER, file=tmp_path / "in") == given(READER, file=tmp_path / "packed") == lines
    for named in (None, "-"):
        standard_input(content)
        assert given(READER, file=named) == lines


def test_an_argument_is_a_line_or_several_and_a_blank_one_is_one_too():
    assert given(READER, "a\nb") == ["a", "b"] and given(READER, "") == [""] and given(READER, "a\n") == ["a", ""]
    assert given(READER, "caf\udce9") == ["caf\ufffd"]  # a byte of the command line that is no UTF-8


def test_bytes_that_are_no_utf_8_are_said_once(tmp_path, standard_input, capsys):
    content = b"plain\r\nimages/1.png\tcaf\xe9\n\xff\n"
    (tmp_path / "in").write_bytes(content)
    (tmp_path / "packed").write_bytes(gzip.compress(content))
    standard_input(content)
    said = (
        "expected UTF-8, got byte 0xe9, read as a strange letter (U+FFFD), as all such bytes are; --encoding names "
        "another encoding"
    )
    for name in (tmp_path / "in", tmp_path / "packed", None):
        assert given(READER, file=name) == ["plain\r", "images/1.png\tcaf\ufffd", "\ufffd"]
        assert capsys.readouterr().err == f"{name or 'standard input'}, line 2: {said}\n"
    assert given(READER, "caf\udce9\n\udcff") == ["caf\ufffd", "\ufffd"]
    assert capsys.readouterr().err == f"INPUT: {said}\n"
    assert given(READER, "caf\u00e9 \ufffd") == ["caf\u00e9 \ufffd"] and not capsys.readouterr().err


def test_packed_lines_that_are_cut_short_or_spoiled_are_damaged(tmp_path):
    packed = gzip.compress(b"a line\n" * 1000)
    for content in (packed[:-9], packed[:20], packed[:30] + b"?" + packed[31:], packed[:-1] + b"?"):
        (tmp_path / "in.gz").write_bytes(content)
        with pytest.raises(UsageError, match=r"--input: expected a whole gzip file, got a damaged one: .*in\.gz"):
            given(READER, file=tmp_path / "in.gz")


def test_lines_come_as_they_are_written(standard_input):
    class Slow(io.RawIOBase):
        """Fails where more is read than was asked for."""

        pieces = iter([b"one\n", b"two\n"])

        def readable(self):
            return True

        def readinto(self, buffer):
            piece = next(self.pieces)
            buffer[: len(piece)] = piece
            return len(piece)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BufferedReader(Slow())))
        with texts(None, None) as lines:
            assert next(lines) == "one" and next(lines) == "two"


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "folder"
    (place / "inner").mkdir(parents=True)
    (place / "sub.png").mkdir()
    for name in ("b.png", "a.JPG", "inner/c.png", "notes.txt", "d.png.bak"):
        (place / name).write_bytes(b"\x89PNG")
    return place


def test_a_folder_gives_its_files_in_order_of_names(folder):
    assert given(VIEWER, str(folder)) == [str(folder / name) for name in ("a.JPG", "b.png", "inner/c.png")]


def test_a_file_is_itself_whatever_its_suffix(folder):
    for name in ("notes.txt", "b.png", "no.png"):
        assert given(VIEWER, str(folder / name)) == [str(folder / name)]


def test_a_folder_without_such_files_and_an_empty_name_are_refused(tmp_path):
    with pytest.raises(UsageError, match=r"expected files that end in \.png, \.jpg, found none in this folder"):
        given(VIEWER, str(tmp_path))
    with pytest.raises(UsageError, match="INPUT: expected a file or a folder of files, got an empty name"):
        given(VIEWER, "")


def test_list_of_files_has_path_line_wherever_it_comes_from(tmp_path, standard_input):
    content = b"\n  a.png\t\r\n\nb c.png\n"
    (tmp_path / "list.txt").write_bytes(content)
    assert given(VIEWER, file=tmp_path / "list.txt") == ["a.png", "b c.png"]
    for named in (None, "-"):
        standard_input(content)
        assert given(VIEWER, file=named) == ["a.png", "b c.png"]


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n", b"RIFF\x00\x01", b"\x00", b"\xff\xd8\xff\xe0\x00\x10JFIF"])
def test_standard_input_may_be_a_file_itself(content, standard_input):
    for named in (None, "-"):
        standard_input(content)
        assert given(VIEWER, file=named) == ["-"] and sys.stdin.buffer.read() == content  # nothing of it is lost


def test_a_file_itself_is_no_list(tmp_path):
    (tmp_path / "a.png").write_bytes(b"\x89PNG\x00\x00")
    with pytest.raises(UsageError, match=r"a\.png: expected a list of files, one a line, got a file itself"):
        given(VIEWER, file=tmp_path / "a.png")


@pytest.mark.parametrize(("content", "typed"), [(b"", False), (b"", True), (b"\n \n\t\n", False)])
def test_no_path_at_all_is_refused(content, typed, standard_input):
    standard_input(content, typed)
    with pytest.raises(
        UsageError, match="standard input: expected a file, or a list of files, one a line, got nothing"
    ):
        given(VIEWER)


def test_paths_that_are_typed_are_a_list(standard_input):
    standard_input(b"a.png\n", typed=True)
    assert given(VIEWER) == ["a.png"]


def test_a_file_of_inputs_that_is_not_there_is_an_error_of_the_system(tmp_path):
    for task in (READER, VIEWER):
        with pytest.raises(FileNotFoundError):
            given(task, file=tmp_path / "nowhere")
        with pytest.raises(IsADirectoryError):
            given(task, file=tmp_path)


@pytest.mark.skipif(not Path(UNREADABLE).exists(), reason="no file that cannot be read")
def test_a_file_that_cannot_be_read_is_named():
    with pytest.raises(OSError, match=r"Input/output error: '/proc/self/mem'"):
        given(READER, file=UNREADABLE)


def test_an_error_of_who_reads_is_not_the_files(tmp_path):
    (tmp_path / "a").write_text("a\nb\n")
    with (
        pytest.raises(OSError, match="No space left on device$"),
        inputs(READER, None, str(tmp_path / "a")) as lines,
    ):
        for _ in lines:
            raise OSError(28, "No space left on device")


def test_no_more_of_a_line_is_read_than_a_model_takes(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cli, "_LONGEST", 10)
    content = b"0123456789abc\nshort\n0123456789\n" + b"x" * 35
    (tmp_path / "in").write_bytes(content)
    (tmp_path / "packed").write_bytes(gzip.compress(content))
    for name in ("in", "packed"):
        found = given(READER, file=tmp_path / name)
        assert found == ["0123456789", "short", "0123456789", "x" * 10]
        notes = capsys.readouterr().err.splitlines()
        assert [note.partition(",")[2] for note in notes] == [
            f" line {number}: longer than 0 MiB; what follows them is not read" for number in (1, 4)
        ]


def test_a_letter_that_is_cut_with_its_line_is_no_strange_byte(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cli, "_LONGEST", 10)
    (tmp_path / "in").write_bytes(("a" + "é" * 9).encode())
    assert given(READER, file=tmp_path / "in") == ["aéééé\ufffd"]
    (note,) = capsys.readouterr().err.splitlines()
    assert "line 1: longer than" in note


def test_names_are_those_of_what_was_not_answered_yet():
    asked = Pending(iter(["a", "b\tc", "d"]))
    assert next(asked) == "a" and asked.latest() == "a"
    assert next(asked) == "b\tc" and asked.latest() == "b c"
    assert list(asked) == ["d"] and (asked.answered(), asked.answered()) == ("b c", "d")


def test_folders_that_links_lead_to_are_part_of_a_folder(folder, tmp_path):
    (folder / "inner").rename(tmp_path / "elsewhere")
    (folder / "inner").symlink_to(tmp_path / "elsewhere")
    assert given(VIEWER, str(folder)) == [str(folder / name) for name in ("a.JPG", "b.png", "inner/c.png")]


def test_a_list_of_paths_keeps_bytes_that_are_no_utf_8(tmp_path, standard_input, capsys):
    (tmp_path / "list").write_bytes(b"a\xff.png\ncaf\xc3\xa9.png\n")
    assert given(VIEWER, file=tmp_path / "list") == ["a\udcff.png", "café.png"]
    standard_input(b"a\xff.png\n")
    assert given(VIEWER) == ["a\udcff.png"]
    assert capsys.readouterr().err == ""


def test_an_empty_file_of_inputs_is_said_so(tmp_path, caplog):
    (tmp_path / "empty.txt").touch()
    with texts(None, str(tmp_path / "empty.txt")) as lines:
        assert list(lines) == []
    assert caplog.messages == [f"{tmp_path / 'empty.txt'}: nothing to answer, it is empty"]


def test_a_file_of_another_program_is_refused_with_a_way_to_convert_it(tmp_path):
    book = tmp_path / "book.xlsx"
    book.write_bytes(b"PK\x03\x04\x14\x00words")
    refused = pytest.raises(UsageError, match=r"--input: expected a file of text, got .*book.xlsx; .*libreoffice")
    with refused, texts(None, str(book)):
        pass
    book.write_text("plain words under a strange name\n")
    with texts(None, str(book)) as lines:
        assert list(lines) == ["plain words under a strange name"]
