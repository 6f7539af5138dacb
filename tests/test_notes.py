"""Every name of docs/notes.md imports, and every command parses."""

import importlib
import re

import pytest

from commands import PAGES, accept, words

PAGE = PAGES["docs/notes.md"]
NOTES = dict(re.findall(r"^## (Solberg|Canal|Boddeti|Introduction|Ylipää).*\n\n((?:\|.*\n)+)", PAGE, flags=re.M))
ROWS = [
    (note, [cell.strip() for cell in row.strip("|").split("|")])
    for note, table in NOTES.items()
    for row in table.splitlines()[2:]
]
STATES = ("as ", "differs", "reproduced", "not decided", "contradicted", "in part", "missing")


def resolve(name):
    """The object that a dotted name below `saccade` has."""
    parts = ["saccade", *name.split(".")]
    for place in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:place]))
        except ModuleNotFoundError as error:
            if not ".".join(parts).startswith(error.name or "?"):
                raise
            continue
        for part in parts[place:]:
            found = getattr(found, part)
        return found
    raise AssertionError(name)


def test_there_is_a_table_for_each_note():
    assert list(NOTES) == ["Solberg", "Canal", "Boddeti", "Introduction", "Ylipää"]
    assert all(f"| [{note}](#" in PAGE for note in NOTES)


@pytest.mark.parametrize("note", NOTES)
def test_names_import_and_commands_parse(note):
    for name, row in ROWS:
        cells = re.findall(r"`([^`]+)`", row[1]) if name == note else []
        for cell in cells:
            if cell.startswith("saccade "):
                accept(words(cell))
            elif cell != "score":  # an argument of attend
                resolve(cell)


def test_every_row_has_a_state_and_a_way_or_is_missing():
    for note, row in ROWS:
        assert row[-1].startswith(STATES), (note, row)
        assert len(row) == 3 and ("`" in row[1]) is not row[-1].startswith("missing"), (note, row)


def test_a_wrong_name_is_noticed():
    for wrong in ("scores.Addditive", "lok.jacobian"):
        with pytest.raises(AttributeError):
            resolve(wrong)
