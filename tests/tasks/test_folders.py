import os
from pathlib import Path

import pytest

from saccade.tasks.folders import files_below

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
    (tmp_path / "data/wolf").symlink_to(tmp_path / "elsewhere/deep")  # a folder may be there twice
    (tmp_path / "data/cat/2.txt").symlink_to("../../elsewhere/x.txt")
    (tmp_path / "data/cat/3.txt").symlink_to("gone.txt")
    known = ["cat/1.txt", "cat/2.txt", "cat/3.txt", "dog/deep/y.txt", "dog/x.txt", "wolf/y.txt"]
    assert below(tmp_path / "data") == known
    (tmp_path / "link").symlink_to("data")
    assert below(tmp_path / "link") == known


def test_links_in_a_circle_end(tmp_path):
    put(tmp_path, "a/1", "b/2")
    (tmp_path / "a/up").symlink_to("..")
    (tmp_path / "a/b").symlink_to("../b")
    (tmp_path / "b/a").symlink_to("../a")
    (tmp_path / "self").symlink_to("self")
    assert below(tmp_path) == ["a/1", "a/b/2", "b/2", "b/a/1", "self"]


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
