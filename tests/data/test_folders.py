import os
from pathlib import Path

import pytest

from saccade.data.folders import files_below

NAMES = ("a/b/c.txt", "a.txt", "a-b.txt", "a/z", "b/B.txt", "b/a.txt", "B/x")


def put(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def below(folder):
    return [path.relative_to(folder).as_posix() for path in files_below(folder)]


def test_files_come_in_the_order_of_their_paths(tmp_path):
    put(tmp_path, *NAMES, ".hidden/x", "a/.hidden", "__MACOSX/a/x", "lost+found/x")
    known = [path.relative_to(tmp_path).as_posix() for path in sorted(map(tmp_path.joinpath, NAMES))]
    assert below(tmp_path) == known


def test_links_lead_to_folders_and_files_and_nowhere(tmp_path):
    put(tmp_path / "elsewhere", "x.txt", "deep/y.txt")
    put(tmp_path / "data", "cat/1.txt")
    (tmp_path / "data/dog").symlink_to("../elsewhere")
    (tmp_path / "data/wolf").symlink_to(tmp_path / "elsewhere/deep")  # which is read as a part of dog
    (tmp_path / "data/latest").symlink_to("cat")  # and this as cat
    put(tmp_path / "data/.store", "fox/4.txt")
    (tmp_path / "data/fox").symlink_to(".store/fox")  # where nothing else reads it
    (tmp_path / "data/cat/2.txt").symlink_to("../../elsewhere/x.txt")
    (tmp_path / "data/cat/3.txt").symlink_to("gone.txt")
    known = ["cat/1.txt", "cat/2.txt", "cat/3.txt", "dog/deep/y.txt", "dog/x.txt", "fox/4.txt"]
    assert below(tmp_path / "data") == known
    (tmp_path / "link").symlink_to("data")
    assert below(tmp_path / "link") == known


def test_links_in_a_circle_end(tmp_path):
    put(tmp_path, "a/1", "b/2")
    (tmp_path / "a/up").symlink_to("..")
    (tmp_path / "a/b").symlink_to("../b")
    (tmp_path / "b/a").symlink_to("../a")
    (tmp_path / "self").symlink_to("self")
    assert below(tmp_path) == ["a/1", "b/2", "self"]


def test_many_folders_that_link_to_each_other_are_read_once(tmp_path):
    names = [f"{number:02}" for number in range(12)]
    for name in names:
        put(tmp_path / "elsewhere", f"{name}/file")
        for other in names:
            if other != name:
                (tmp_path / "elsewhere" / name / f"to {other}").symlink_to(f"../{other}")
    (tmp_path / "data").mkdir()
    (tmp_path / "data/all").symlink_to("../elsewhere")
    assert len(below(tmp_path / "data")) == len(names) == len(below(tmp_path / "elsewhere"))


def test_a_folder_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    put(tmp_path, "a/1", "b/2")
    scan = os.scandir

    def denied(path):
        if Path(path).name == "b":
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", denied)
    with pytest.raises(PermissionError, match="b'"):
        below(tmp_path)
