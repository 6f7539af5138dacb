import json

import pytest

from studies.frame.folder import Folder, ReportError

ARGUMENTS = {"data": "d", "max_steps": 3}


def opened(path, name="length", **changed):
    return Folder.open(path, name, {**ARGUMENTS, **changed}, "saccade report length")


def made(path, name="length", **changed):
    with (folder := opened(path, name, **changed)).locked():
        return folder


def test_committed_rows_are_read_again(tmp_path):
    folder = made(tmp_path / "a")
    folder.content["rows"].append({"model": "m", "seed": 1, "score": 0.5})
    folder.commit()
    assert made(tmp_path / "a").rows(model="m", seed=1) == [{"model": "m", "seed": 1, "score": 0.5}]
    assert made(tmp_path / "a").rows(model="m", seed=2) == []


def test_nothing_is_written_before_the_lock_is_held(tmp_path):
    first, second, third = opened(tmp_path / "a"), opened(tmp_path / "a"), opened(tmp_path / "a", max_steps=4)
    assert list(tmp_path.iterdir()) == []
    with first.locked():
        first.content["rows"].append({"model": "m", "seed": 1})
        first.commit()
    with second.locked():
        assert second.rows(model="m", seed=1)
    with pytest.raises(ReportError, match="made with --max-steps 3, not 4"), third.locked():
        pass


def test_files_of_a_killed_process_do_not_hinder(tmp_path):
    (tmp_path / "a").mkdir()
    for name in (".lock", ".report.json.7.partial"):
        (tmp_path / "a" / name).touch()
    made(tmp_path / "a")
    assert (tmp_path / "a/report.json").exists()


def test_more_seeds_go_on_and_fewer_are_refused(tmp_path):
    made(tmp_path / "a", seeds=2)
    assert made(tmp_path / "a", seeds=3).content["arguments"]["seeds"] == 3
    with pytest.raises(ReportError, match="made with --seeds 2, not 1"):
        made(tmp_path / "a", seeds=1)


def test_another_report_or_other_arguments_are_refused(tmp_path):
    made(tmp_path / "a")
    before = (tmp_path / "a/report.json").read_bytes()
    with pytest.raises(ReportError, match="made with --max-steps 3, not 4; give another --output, or --no-resume"):
        opened(tmp_path / "a", max_steps=4)
    with pytest.raises(ReportError, match="this is the report length, not other"):
        opened(tmp_path / "a", "other")
    assert (tmp_path / "a/report.json").read_bytes() == before


def test_no_resume_starts_beside(tmp_path):
    made(tmp_path / "a")
    folder = Folder.open(tmp_path / "a", "length", {"max_steps": 9}, "c", resume=False)
    assert folder.path == tmp_path / "a-2" and folder.content["arguments"] == {"max_steps": 9}


def test_other_files_and_folders_are_left_alone(tmp_path):
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(ReportError, match="it is there already and not a report"):
        opened(tmp_path)
    with pytest.raises(ReportError, match="it is there already and not a report"):
        opened(tmp_path / "mine")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    "text", ["{", "[]", json.dumps({"report": "length", "command": "", "arguments": {}, "runs": []})]
)
def test_a_damaged_report_is_one_line(tmp_path, text):
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(ReportError, match="report.json: expected"):
        opened(tmp_path)


def test_one_process_at_a_time_and_the_next_reads_its_rows(tmp_path):
    first, second = opened(tmp_path / "a"), opened(tmp_path / "a")
    with first.locked():
        with pytest.raises(ReportError, match="another process is making this report"), second.locked():
            pass
        first.content["rows"].append({"model": "m", "seed": 1})
        first.commit()
    with second.locked():
        assert second.rows(model="m", seed=1)
