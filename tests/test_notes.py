"""Every name of docs/notes.md imports, every command parses, and every verdict is published."""

import importlib
import re

import pytest

from commands import PAGES, ROOT, accept, words

PAGE = PAGES["docs/notes.md"]
NOTES = dict(re.findall(r"^## (Solberg|Canal|Boddeti|Introduction|Ylipää).*\n\n((?:\|.*\n)+)", PAGE, flags=re.M))
ROWS = [
    (note, [cell.strip() for cell in row.strip("|").split("|")])
    for note, table in NOTES.items()
    for row in table.splitlines()[2:]
]
VERDICTS = ("reproduced", "not decided", "contradicted")
STATES = ("as ", "differs", *VERDICTS, "in part", "missing")


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


def published(report):
    """The verdicts on a report's pages, and on the claims of each."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "results").glob("*/index.md")]
    pages = [text for text in texts if f"\nsaccade report {report} " in text]
    lines = [re.search(rf"^\*\*({'|'.join(VERDICTS)})\*\*: .*", page, flags=re.M)[0] for page in pages]
    return {verdict for line in lines for verdict in VERDICTS if verdict in line}


def test_every_verdict_is_one_that_a_report_published():
    for note, row in ROWS:
        verdict = next((verdict for verdict in VERDICTS if row[-1].startswith(verdict)), None)
        reports = re.findall(r"`saccade report ([\w-]+)", row[1])
        assert verdict is None or any(verdict in published(report) for report in reports), (note, row)


def test_a_wrong_name_is_noticed():
    for wrong in ("scores.Addditive", "lok.jacobian"):
        with pytest.raises(AttributeError):
            resolve(wrong)
