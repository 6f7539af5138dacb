"""The table of docs/reports.md is that of the studies and their published pages."""

from scripts import script
from studies.frame.study import names

tool = script("tools/write_reports.py")


def test_the_table_is_up_to_date():
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(), "run PYTHONPATH=. python tools/write_reports.py"


def test_every_study_has_a_row_with_its_paper():
    rows = [row for row in tool.rows(tool.PAGE.read_text(encoding="utf-8")) if row[0]]
    assert [row[0].split("`")[1] for row in rows] == names()
    assert all(claim and paper for _, claim, paper, *_ in rows)


def test_minutes_are_those_of_all_trainings():
    two = {"a-1": {"seconds": 30.0}, "a-2": {"seconds": 60.0}}
    assert tool.minutes({"runs": two, "rows": []}) == "1.5"
    assert tool.minutes({"rows": [{"seconds": 600.0}, {"n": 128}]}) == "10"
    assert tool.minutes({"rows": [{"n": 128}]}) == ""


def test_a_command_is_shown_without_its_folder_and_its_threads():
    typed = "saccade report pointing --output reports/p --threads 1 --data scenes"
    assert tool.command({"command": typed}) == "saccade report pointing --data scenes"
