import errno
import os
from pathlib import Path

import pytest

from saccade._system.files import (
    check_folder,
    left_over,
    read,
    read_json,
    system_error_line,
    unfinished,
    write,
    write_json,
)
from saccade.errors import ArgumentError


def test_json_comes_back_in_every_script(tmp_path):
    write_json(tmp_path / "a.json", {"text": "mercredi 18 juin, יום רביעי, 水曜日"})
    assert read_json(tmp_path / "a.json") == {"text": "mercredi 18 juin, יום רביעי, 水曜日"}
    assert "水曜日" in (tmp_path / "a.json").read_text(encoding="utf-8")


def test_json_nested_without_end_is_a_wrong_value(tmp_path):
    (tmp_path / "a.json").write_text("[" * 100_000)
    with pytest.raises(ValueError, match="nested too deeply"):
        read_json(tmp_path / "a.json")


def test_what_cannot_be_written_leaves_what_was_there(tmp_path):
    write(tmp_path / "a", b"before")
    with pytest.raises(TypeError):
        write(tmp_path / "a", "no bytes")
    assert (tmp_path / "a").read_bytes() == b"before"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("kind", ["a pipe", "a folder", "a device"])
def test_only_files_are_read(tmp_path, kind):
    path = tmp_path / "a"
    {"a pipe": os.mkfifo, "a folder": os.mkdir, "a device": lambda path: path.symlink_to("/dev/zero")}[kind](path)
    for reads in (read, read_json):
        with pytest.raises(OSError, match=rf"expected a file, got {kind}: '{path}'"):
            reads(path)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no file that cannot be read")
def test_what_cannot_be_read_is_named(tmp_path):
    (tmp_path / "a").symlink_to("/proc/self/mem")
    with pytest.raises(OSError, match=r"Input/output error: .*/a'"):
        read(tmp_path / "a")


def test_no_two_processes_write_under_one_name(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "getpid", lambda: 7)  # as in two containers
    names = {unfinished(tmp_path / "a").name for _ in range(20)}
    assert len(names) == 20


def test_what_is_left_over_is_told_by_its_name(tmp_path):
    left = [unfinished(tmp_path / "a"), unfinished(tmp_path / "a")]
    for path in (*left, unfinished(tmp_path / "b"), tmp_path / ".a.partial", tmp_path / ".a.mine.partial"):
        path.touch()
    assert sorted(left_over(tmp_path, "a")) == sorted(left)


def test_folder_that_is_not_there_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        write(tmp_path / "nowhere" / "a", b"")


def test_a_full_disk_is_named_by_the_file_and_half_a_file_is_removed(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device: '.*a.*'"):
        write(tmp_path / "a", b"content")
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_file_is_named_itself(tmp_path, monkeypatch):
    def refuse(*where, **how):
        raise OSError(30, "Read-only file system", ".hidden")

    for name in ("open", "unlink"):
        monkeypatch.setattr(Path, name, refuse)
    with pytest.raises(OSError, match=r"Read-only file system: '\S+/results.json'"):
        write(tmp_path / "results.json", b"1")


def test_name_in_another_encoding_is_written_and_read_back(tmp_path):
    name = os.fsdecode(b"caf\xe9 \xc3\xa9")
    write_json(tmp_path / "a.json", {"data": name})
    assert read_json(tmp_path / "a.json") == {"data": name}
    assert "é" in (tmp_path / "a.json").read_text(encoding="utf-8")


def test_a_folder_may_be_there_or_not_yet_and_is_no_file(tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    for name in ("", "link", "new", "new/below", "link/new"):
        check_folder("--output", tmp_path / name)
    for name in ("file", "file/below", "link/file"):
        with pytest.raises(ArgumentError, match=r"--output: expected a folder, got a file: .*file; name another"):
            check_folder("--output", tmp_path / name)


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    check_folder("--output", tmp_path.parent)
    for name in ("", "new", "new/below"):
        with pytest.raises(ArgumentError) as error:
            check_folder("--output", tmp_path / name)
        expected = f"--output: expected a folder that can be written to, got {tmp_path}; name another"
        assert str(error.value) == expected


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (errno.ENOENT, "expected a file or a folder, got nothing there; correct the name"),
        (errno.EACCES, "expected permission to read or write it, got none; "),
        (errno.EISDIR, "expected a file, got a folder; "),
        (errno.EROFS, "expected a place that can be written to, got a read-only file system; "),
        (errno.EDQUOT, "expected room on the disk, got none; make room, "),
        (errno.EIO, os.strerror(errno.EIO)),
    ],
)
def test_errors_of_the_system_have_a_reason_and_a_way_out(code, reason):
    assert system_error_line(OSError(code, os.strerror(code), "a.txt")).startswith(f"a.txt: {reason}")
    assert system_error_line(OSError(code, "expected another thing", "a.txt")) == "a.txt: expected another thing"
