import os
import tarfile
import zipfile

import pytest

from image_files import archive_of, plain
from saccade.errors import ArgumentError
from saccade.tasks.image.places import Images, Place


def photos(folder, names=("a.png", "deep/b.png"), colour=(1, 2, 3)):
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(plain((*colour[:2], number)))
    return folder


def zip_of(folder, path, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for file in sorted(folder.rglob("*.png")):
            archive.write(file, f"photos/{file.relative_to(folder).as_posix()}")
    return path


PACKS = {
    "tar": lambda folder, path: archive_of(folder, path / "x.tar", "w:"),
    "tar with a root": lambda folder, path: archive_of(folder, path / "x.tar", "w:", root="./photos/"),
    "zip": lambda folder, path: zip_of(folder, path / "x.zip"),
    "stored zip": lambda folder, path: zip_of(folder, path / "x.zip", zipfile.ZIP_STORED),
}


@pytest.mark.parametrize("pack", PACKS)
def test_an_archive_gives_the_bytes_of_the_files(tmp_path, pack):
    folder = photos(tmp_path / "own")
    (tmp_path / "packed").mkdir()
    PACKS[pack](folder, tmp_path / "packed")
    images = Images(tmp_path / "packed")
    for name in ("a.png", "deep/b.png", "b.png", "photos/deep/b.png"):
        place = images.find(name)
        assert place.member
        assert place.read() == (folder / ("a.png" if name == "a.png" else "deep/b.png")).read_bytes()
    assert images.find("c.png") is None
    assert images.find("other/b.png") is None


def test_files_beat_archives_and_whole_paths_beat_ends(tmp_path):
    photos(tmp_path, ("a.png", "deep/a.png"))
    archive_of(photos(tmp_path / ".own", ("a.png", "c.png")), tmp_path / "x.tar", "w:")
    images = Images(tmp_path)
    assert images.find("a.png") == Place(tmp_path / "a.png", "", (tmp_path / "a.png").stat().st_size)
    assert images.find("deep/a.png").path == tmp_path / "deep/a.png"
    assert images.find("c.png").path == tmp_path / "x.tar"


def test_a_name_that_fits_several_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match=r"expected one image called a.png, got .*one/a.png, .*two/a.png"):
        Images(photos(tmp_path, ("one/a.png", "two/a.png"))).find("a.png")


def test_links_are_followed_and_circles_end(tmp_path):
    photos(tmp_path / "far")
    (tmp_path / "near").mkdir()
    (tmp_path / "near" / "images").symlink_to(tmp_path / "far")
    (tmp_path / "far" / "back").symlink_to(tmp_path / "far")
    assert Images(tmp_path / "near").find("b.png").path == tmp_path / "near/images/deep/b.png"


@pytest.mark.parametrize("name", ["x.tar", "x.zip"])
@pytest.mark.parametrize("kept", [0, 100, 200])
def test_a_damaged_archive_is_one_line(tmp_path, name, kept):
    folder = photos(tmp_path / ".own")
    path = archive_of(folder, tmp_path / name, "w:") if name == "x.tar" else zip_of(folder, tmp_path / name)
    data = path.read_bytes()
    path.write_bytes(data[:kept])
    with pytest.raises(ArgumentError, match=rf"{name}: expected a whole (tar|zip) archive, got a damaged one"):
        Images(tmp_path).find("a.png")


def test_a_zip_with_a_password_is_one_line(tmp_path):
    path = zip_of(photos(tmp_path / ".own"), tmp_path / "x.zip")
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(ArgumentError, match="without a password, got photos/a.png; unpack it"):
        Images(tmp_path).find("a.png")


def test_an_archive_that_has_no_parts_is_named(tmp_path):
    archive_of(photos(tmp_path / ".own"), tmp_path / "x.tar.gz")
    images = Images(tmp_path)
    assert images.find("a.png") is None
    assert images.packed() == tmp_path / "x.tar.gz"


def test_a_folder_that_is_missing_has_no_images(tmp_path):
    assert Images(tmp_path / "missing").find("1.png") is None


@pytest.mark.parametrize("name", ["a.tar", "a.zip"])
def test_an_archive_that_somebody_writes_to_is_named(tmp_path, name):
    path = tmp_path / name
    if name.endswith("zip"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.png", b"1234")
    else:
        (tmp_path / "a.png").write_bytes(b"1234")
        with tarfile.open(path, "w") as archive:
            archive.add(tmp_path / "a.png", "a.png")
        (tmp_path / "a.png").unlink()
    os.utime(path, (1, 1))
    place = Images(tmp_path).find("a.png")
    assert place.read() == b"1234"
    path.write_bytes(path.read_bytes().replace(b"1234", b"4321"))
    with pytest.raises(ArgumentError, match=f"{name}: expected what it held at first, got a changed file"):
        place.read()


def test_a_file_that_is_gone_later_is_one_line(tmp_path):
    place = Images(photos(tmp_path)).find("a.png")
    place.path.unlink()
    with pytest.raises(ArgumentError, match=r"a\.png: expected an image that can be read, got No such file"):
        place.read()
