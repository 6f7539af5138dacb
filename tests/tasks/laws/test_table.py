"""The table is complete, and a missing entry is named."""

from saccade.tasks import TASKS
from tasks.laws import table


def test_an_entry_that_lacks_is_named(tmp_path):
    assert table.missing() == "" and list(table.TABLE) == list(TASKS)
    for name in ("made_up", *(name.replace("-", "_") for name in TASKS if name != "classify-text")):
        (tmp_path / f"{name}.py").touch()
    folder = "tests/tasks/laws/entries"
    assert table.missing(tmp_path) == f"add {folder}/classify_text.py, remove {folder}/made_up.py"
