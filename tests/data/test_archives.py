import tarfile

import pytest

from image_files import archive_of, folder_of
from saccade.data import archives
from saccade.data.archives import read_files
from saccade.errors import ArgumentError


def every(name):
    return True


@pytest.mark.parametrize(("name", "mode"), [("a.tar", "w"), ("a.tar.gz", "w:gz"), ("A.TGZ", "w:gz")])
def test_an_archive_has_what_its_folder_has(tmp_path, name, mode):
    folder = folder_of(tmp_path / "data", count=1)
    packed = archive_of(folder, tmp_path / name, mode, root="./")
    assert sorted(read_files(packed, every)) == sorted(read_files(folder, every))
    assert [found for found, _ in read_files(packed, lambda name: "blue" in name)] == [
        f"{split}/blue/0.png" for split in ("test", "train", "validation")
    ]


def test_hidden_files_and_links_are_passed_over(tmp_path):
    folder = folder_of(tmp_path / "data", count=1)
    (folder / "train" / "red" / "._0.png").write_bytes(b"")
    (folder / ".cache").mkdir()
    (folder / ".cache" / "x.png").write_bytes(b"")
    packed = archive_of(folder, tmp_path / "a.tar", "w")
    with tarfile.open(packed, "a") as archive:
        link = tarfile.TarInfo("train/red/link.png")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    for source in (folder, packed):
        assert len(list(read_files(source, every))) == 9


@pytest.mark.parametrize(("name", "mode"), [("a.tar", "w"), ("a.tar.gz", "w:gz")])
def test_a_hard_link_is_the_file_that_it_leads_to(tmp_path, name, mode):
    folder = folder_of(tmp_path / "data", count=1)
    (folder / "kept.bin").write_bytes(b"not wanted, but linked to")
    for link, target in (("train/red/1.png", "train/red/0.png"), ("train/red/2.png", "kept.bin")):
        (folder / link).hardlink_to(folder / target)
    with tarfile.open(tmp_path / name, mode) as archive:
        archive.add(folder, "./")
        chained = tarfile.TarInfo("./train/red/3.png")
        chained.type, chained.linkname = tarfile.LNKTYPE, "./train/red/2.png"
        archive.addfile(chained)
        kinds = [member.name for member in archive.getmembers() if member.islnk()]
    assert len(kinds) == 3
    found = dict(read_files(tmp_path / name, lambda name: name.endswith(".png")))
    assert found.pop("train/red/3.png") == found["train/red/2.png"]
    assert found == dict(read_files(folder, lambda name: name.endswith(".png"))) and len(found) == 11


@pytest.mark.parametrize("times", [2, 3])
def test_a_file_that_is_put_in_more_than_once_is_read_once(tmp_path, times):
    folder = folder_of(tmp_path / "data", splits=("train",), count=1)
    for name in ("red", "blue"):
        (folder / f"train/{name}/1.png").hardlink_to(folder / f"train/{name}/0.png")
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(folder, ".")
        for name in (times - 1) * ["0.png", "1.png"]:  # of which GNU tar makes hard links, one to the file itself
            link = tarfile.TarInfo(f"./train/red/{name}")
            link.type, link.linkname = tarfile.LNKTYPE, "./train/red/0.png"
            archive.addfile(link)
    found = list(read_files(tmp_path / "a.tar", every))
    assert sorted(found) == sorted(read_files(folder, every)) and len(found) == 5


def test_a_hard_link_to_nothing_is_damage(tmp_path):
    packed = archive_of(folder_of(tmp_path / "data", count=1), tmp_path / "a.tar", "w")
    with tarfile.open(packed, "a") as archive:
        link = tarfile.TarInfo("train/red/link.png")
        link.type, link.linkname = tarfile.LNKTYPE, "gone.png"
        archive.addfile(link)
    with pytest.raises(ArgumentError, match=r"damaged one \(.*gone.png"):
        list(read_files(packed, every))


def test_hard_links_count_as_the_files_that_they_are(tmp_path, monkeypatch):
    folder = folder_of(tmp_path / "data", splits=("train",), count=1)
    for number in range(1, 9):
        (folder / f"train/red/{number}.png").hardlink_to(folder / "train/red/0.png")
    size = (folder / "train/red/0.png").stat().st_size
    for name, mode, most in (("a.tar", "w", 5 * size), ("a.tar.gz", "w:gz", size // 2)):
        packed = archive_of(folder, tmp_path / name, mode)
        monkeypatch.setattr(archives, "_LARGEST", most)
        with pytest.raises(ArgumentError, match="expected at most 2 GiB of files, got more; unpack it"):
            list(read_files(packed, every))


def test_a_link_to_what_is_gone_is_named(tmp_path):
    folder = folder_of(tmp_path / "data", count=1)
    (folder / "train" / "red" / "9.png").symlink_to("../../annex/9.png")
    with pytest.raises(FileNotFoundError, match=r"red/9.png"):
        list(read_files(folder, every))


def test_a_damaged_archive_is_rejected(tmp_path):
    whole = archive_of(folder_of(tmp_path / "data"), tmp_path / "whole.tar.gz").read_bytes()
    cut = [("cut.tar.gz", whole[: int(share * len(whole))]) for share in (0.3, 0.9, 0.99)]
    for name, content in (*cut, ("noise.tar", b"no archive at all" * 100), ("noise.tar.gz", b"no archive" * 100)):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ArgumentError, match=rf"{name}: expected a whole tar archive, got a damaged one \("):
            list(read_files(tmp_path / name, every))


def test_a_class_may_be_a_link_to_a_folder(tmp_path):
    folder = folder_of(tmp_path / "data", count=1)
    plain = sorted(read_files(folder, every))
    (folder / "train" / "red").rename(tmp_path / "red")
    (folder / "train" / "red").symlink_to("../../red")
    assert sorted(read_files(folder, every)) == plain
