import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from image_files import archive_of, plain
from saccade.errors import ArgumentError
from saccade.tasks.image import places
from saccade.tasks.image.places import Images, Place, fits, read_place


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
        assert read_place(place) == (folder / ("a.png" if name == "a.png" else "deep/b.png")).read_bytes()
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


def test_a_hard_link_in_a_tar_is_the_file_that_it_leads_to(tmp_path):
    own = photos(tmp_path / ".own", ("a.png", "deep/b.png"))
    (own / "kept.bin").hardlink_to(own / "a.png")
    (own / "z.png").hardlink_to(own / "deep/b.png")
    archive_of(own, tmp_path / "x.tar", "w:")
    with tarfile.open(tmp_path / "x.tar") as members:
        assert [each.name for each in members if each.islnk()] == ["kept.bin", "z.png"]
    images = Images(tmp_path)
    assert [name for name, _ in images.all()] == ["a.png", "deep/b.png", "z.png"]
    assert images.find("z.png").member == "z.png"
    assert read_place(images.find("z.png")) == (own / "deep/b.png").read_bytes()


def test_a_file_that_is_put_into_a_tar_twice_is_one(tmp_path):
    archive_of(photos(tmp_path / ".own"), tmp_path / "x.tar", "w:")
    with tarfile.open(tmp_path / "x.tar", "a") as archive:
        for _ in range(2):  # as GNU tar stores it the second and third time
            link = tarfile.TarInfo("a.png")
            link.type, link.linkname = tarfile.LNKTYPE, "a.png"
            archive.addfile(link)
    images = Images(tmp_path)
    assert images.find("a.png").member == "a.png" and len(images.all()) == 2


def test_a_hard_link_in_a_tar_to_nothing_is_damage(tmp_path):
    archive_of(photos(tmp_path / ".own"), tmp_path / "x.tar", "w:")
    with tarfile.open(tmp_path / "x.tar", "a") as archive:
        link = tarfile.TarInfo("link.png")
        link.type, link.linkname = tarfile.LNKTYPE, "gone.png"
        archive.addfile(link)
    with pytest.raises(ArgumentError, match=r"damaged one \(.*gone.png"):
        Images(tmp_path).find("a.png")


def test_whole_paths_are_found_despite_equal_ends(tmp_path, monkeypatch):
    names = [f"{number}/image.png" for number in range(30)]
    images = Images(photos(tmp_path, names))
    looked = []
    monkeypatch.setattr(places, "fits", lambda path, name: looked.append(path) or fits(path, name))
    for name in names:
        assert images.find(name).path == tmp_path / name
    assert looked == [] and images.find("0/image.jpg") is None


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


def test_an_archive_that_is_changed_later_is_one_line(tmp_path):
    folder = photos(tmp_path / ".own")
    zipped, tarred = zip_of(folder, tmp_path / "x.zip"), archive_of(folder, tmp_path / "y.tar", "w:")
    found = [Images(tmp_path).find("photos/a.png"), Images(tmp_path / ".own").find("a.png")]
    with tarfile.open(tarred) as members:
        found.append(Place(tarred, "a.png", 10**6, members.getmember("a.png").offset_data))
    zipped.write_bytes(b"PK\3\4" + b"\0" * 10)
    (folder / "a.png").unlink()
    for place, what in zip(found, ("a changed file", "can be read", "cut short"), strict=True):
        with pytest.raises(ArgumentError, match=what):
            read_place(place)


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


def test_a_folder_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    scan = os.scandir

    def denied(path):
        if Path(path).name == "a":
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", denied)
    with pytest.raises(PermissionError, match="a'"):
        Images(tmp_path).find("1.png")
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
    assert read_place(place) == b"1234"
    path.write_bytes(path.read_bytes().replace(b"1234", b"4321"))
    with pytest.raises(ArgumentError, match=f"{name}: expected what it held at first, got a changed file"):
        read_place(place)
