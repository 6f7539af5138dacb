"""What a user made stays; what is the same is not written twice."""

from io import FileIO
from pathlib import Path

import pytest

from saccade.errors import ArgumentError
from saccade.look import Recording, load
from saccade.look._files import write_beside, write_new


def test_a_name_that_is_taken_is_left_alone(tmp_path):
    (tmp_path / "a.svg").write_text("mine")
    first = write_beside(tmp_path / "a", {".png": b"1", ".svg": b"2"})
    again = write_beside(tmp_path / "a", {".png": b"1", ".svg": b"2"})
    assert [path.name for path in first] == ["a-2.png", "a-2.svg"] == [path.name for path in again]
    assert (tmp_path / "a.svg").read_text() == "mine" and not (tmp_path / "a.png").exists()


def test_a_name_that_is_taken_meanwhile_is_left_alone(tmp_path, monkeypatch):
    def slower(contents):
        (tmp_path / "a.svg").write_text("mine")
        return write_new(contents)

    monkeypatch.setattr("saccade.look._files.write_new", slower)
    paths = write_beside(tmp_path / "a", {".png": b"1", ".svg": b"2"})
    assert [path.name for path in paths] == ["a-2.png", "a-2.svg"] and paths[1].read_bytes() == b"2"
    assert (tmp_path / "a.svg").read_text() == "mine" and not (tmp_path / "a.png").exists()
    with pytest.raises(FileExistsError):
        write_beside(tmp_path / "a.svg" / "b", {".png": b"1"})


def test_folders_are_made_and_dots_in_names_kept(tmp_path):
    (path,) = write_beside(tmp_path / "new" / "15. März 1999", {".png": b"1"})
    assert path.name == "15. März 1999.png" and path.read_bytes() == b"1"


def test_a_link_that_leads_nowhere_takes_its_name(tmp_path):
    (tmp_path / "a.png").symlink_to(tmp_path / "gone")
    assert [path.name for path in write_beside(tmp_path / "a", {".png": b"1"})] == ["a-2.png"]
    assert not (tmp_path / "gone").exists()


def test_a_folder_of_that_name_is_no_obstacle(tmp_path):
    (tmp_path / "a.png").mkdir()
    assert [path.name for path in write_beside(tmp_path / "a", {".png": b"1"})] == ["a-2.png"]


class Full(FileIO):
    """A file that takes a byte and no more."""

    def __init__(self, path, mode, error):
        super().__init__(path, mode)
        self.error = error

    def write(self, content):
        super().write(content[:1])
        raise self.error


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt("No space to think")])
def test_nothing_half_written_stays(tmp_path, monkeypatch, error):
    monkeypatch.setattr(Path, "open", lambda path, mode: Full(path, mode, error))
    with pytest.raises(type(error), match="No space"):
        write_beside(tmp_path / "a", {".png": b"1"})
    assert not list(tmp_path.iterdir())


def test_an_error_stands_where_the_file_is_gone_too(tmp_path, monkeypatch):
    class Gone(Full):
        def write(self, content):
            (tmp_path / "a.png").unlink()
            super().write(content)

    interrupt = KeyboardInterrupt("while the folder is tidied")
    monkeypatch.setattr(Path, "open", lambda path, mode: Gone(path, mode, interrupt))
    with pytest.raises(KeyboardInterrupt, match="tidied"):
        write_beside(tmp_path / "a", {".png": b"1"})


@pytest.mark.parametrize("path", ["", ".", "/"])
def test_a_path_without_a_name_is_an_error(path):
    for write in (Recording().save, load, lambda path: write_beside(Path(path), {".png": b"1"})):
        with pytest.raises(ArgumentError, match=r"^path: expected a folder and a name without a suffix, got"):
            write(path)
