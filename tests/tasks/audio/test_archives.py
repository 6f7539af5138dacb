import gzip
import io
import tarfile

import pytest

from saccade.errors import ArgumentError
from saccade.tasks.audio import archives
from saccade.tasks.audio.archives import holds, read_files

FILES = {"a.wav": b"one", "sub/b.wav": b"two", "sub/c.txt": b"not a recording", "d.wav": b""}


def pack(folder, files=FILES, prefix="part/", **extra):
    with tarfile.open(folder / "part.tar.gz", "w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(prefix + name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        for name, kind in extra.items():
            member = tarfile.TarInfo(f"{prefix}{name}.wav")
            member.type, member.linkname = kind, "/etc/hostname"
            archive.addfile(member)
    return folder / "part.tar.gz"


def read(folder):
    return dict(read_files(folder, "part", ".wav"))


@pytest.mark.parametrize("prefix", ["part/", "./part/", ""])
def test_a_folder_and_its_archive_are_the_same(tmp_path, prefix):
    pack(tmp_path, prefix=prefix)
    assert read(tmp_path) == {"a.wav": b"one", "sub/b.wav": b"two", "d.wav": b""}
    assert holds(tmp_path, "part") and not holds(tmp_path, "other")
    for name, data in FILES.items():
        path = tmp_path / "plain/part" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert read(tmp_path / "plain") == read(tmp_path) and holds(tmp_path / "plain", "part")


def test_links_and_devices_are_skipped(tmp_path):
    pack(tmp_path, {"../../up.wav": b"up"}, link=tarfile.SYMTYPE, hard=tarfile.LNKTYPE, pipe=tarfile.FIFOTYPE)
    assert read(tmp_path) == {"../../up.wav": b"up"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["part.tar.gz"]


def damaged(folder):
    with pytest.raises(
        ArgumentError, match=r"part\.tar\.gz: expected a whole tar\.gz, got a damaged one \(.*\); "
    ) as error:
        read(folder)
    assert "\n" not in str(error.value)


def test_a_damaged_archive_is_named(tmp_path):
    archive = pack(tmp_path, {f"{n}.wav": bytes(range(256)) * 100 for n in range(9)})
    whole = archive.read_bytes()
    plain = gzip.decompress(whole)
    for data in (b"", b"not packed", whole[: len(whole) // 2], whole[:-4] + b"\0\0\0\0", gzip.compress(plain[:60_000])):
        archive.write_bytes(data)
        damaged(tmp_path)
    archive.write_bytes(whole[:200] + bytes(50) + whole[250:])
    damaged(tmp_path)


def test_a_file_that_is_no_recording_by_its_size_is_named(tmp_path, monkeypatch):
    pack(tmp_path)
    monkeypatch.setattr(archives, "_LARGEST", 2)
    with pytest.raises(ArgumentError, match=r"part\.tar\.gz: expected recordings, got 3 bytes in part/a\.wav"):
        read(tmp_path)


def test_a_folder_of_a_part_may_be_a_link(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/b.wav").write_bytes(b"two")
    (tmp_path / "plain/part").mkdir(parents=True)
    (tmp_path / "plain/part/linked").symlink_to(tmp_path / "sub")
    assert read(tmp_path / "plain") == {"linked/b.wav": b"two"}
