import os

import pytest

from saccade.train.files import read_json, write, write_json


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


def test_a_folder_that_is_not_there_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        write(tmp_path / "nowhere" / "a", b"")


def test_a_full_disk_is_named_by_the_file_and_half_a_file_is_removed(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device: '.*a.*'"):
        write(tmp_path / "a", b"content")
    assert list(tmp_path.iterdir()) == []


def test_a_name_in_another_encoding_is_written_and_read_back(tmp_path):
    name = os.fsdecode(b"caf\xe9 \xc3\xa9")
    write_json(tmp_path / "a.json", {"data": name})
    assert read_json(tmp_path / "a.json") == {"data": name}
    assert "é" in (tmp_path / "a.json").read_text(encoding="utf-8")
