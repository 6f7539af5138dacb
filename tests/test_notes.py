"""Each row of docs/notes.md has a name that imports or a command that parses, evidence that exists, and a state."""

import importlib
import re
from collections import Counter

import pytest

from commands import PAGES, ROOT, accept, words
from tiers import every

PAGE = PAGES["docs/notes.md"]
TESTS = {
    "Solberg": "solberg",
    "Canal": "canal",
    "Boddeti": "boddeti",
    "Introduction": "introduction",
    "Ylipää": "ylipaa",
}
VERDICTS = {"reproduced": "reproduced", "undecided": "not decided", "contradicted": "contradicted"}
STATES = ("exact", "variant", *VERDICTS, "partly", "missing", "slip", "context")


def table_below(line):
    """Rows of the first table below a line of the page, without its header."""
    _, _, below = PAGE.partition(f"\n{line}")
    [table] = re.findall(r"^((?:\|.*\n)+)", below, flags=re.M)[:1]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()[2:]]


ROWS = [(note, row) for note in TESTS for row in table_below(f"## {note}")]


def state_of(row):
    return row[5].partition(":")[0]


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


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def check_evidence(note, evidence):
    """A file or folder that exists, and the test or case of it, by default one of the note's own file."""
    path, _, name = evidence.rpartition("::") if "/" not in evidence or "::" in evidence else (evidence, "", "")
    path = path or f"tests/notes/test_{TESTS[note]}.py"
    assert (ROOT / path).exists(), evidence
    assert not name or f"def {name}(" in read(path) or f'"{name}": (' in read(path), evidence


def test_rows_are_numbered_and_lead_to_their_section_of_a_notebook():
    counts = Counter(note for note, _ in ROWS)
    assert all(f"| [{note}](#" in PAGE for note in TESTS)
    names = [(note, f"{note[0]}{n + 1}") for note in TESTS for n in range(counts[note])]
    assert [row[0] for _, row in ROWS] == [f"[{name}](notes/{TESTS[note]}.md#{name.lower()})" for note, name in names]
    for note, name in names:
        assert f'<a id="{name.lower()}"></a>' in read(f"docs/notes/{TESTS[note]}.md"), name


def test_states_at_the_top_are_counted():
    for note in TESTS:
        counts = Counter(state_of(row) for name, row in ROWS if name == note)
        assert set(counts) <= set(STATES)
        [line] = [row for row in table_below("| note | exact ") if row[0] == note]
        assert [int(cell) for cell in line[1:]] == [*(counts[state] for state in STATES), counts.total()], note
    [line] = [row for row in table_below("| note | exact ") if row[0] == "all"]
    counts = Counter(state_of(row) for _, row in ROWS)
    assert [int(cell) for cell in line[1:]] == [*(counts[state] for state in STATES), len(ROWS)]


@pytest.mark.parametrize("note", TESTS)
def test_names_import_and_commands_parse(note):
    for name, row in ROWS:
        for cell in re.findall(r"`([^`]+)`", row[3]) if name == note else []:
            if cell.startswith("saccade "):
                accept(words(cell))
            else:
                resolve(cell)


@every("note, row", ROWS)
def test_a_row_has_names_and_evidence(note, row):
    assert len(row) == 6 and row[2], row
    for evidence in re.findall(r"`([^`]+)`", row[4]):
        check_evidence(note, evidence)
    state = state_of(row)
    assert state not in ("exact", "variant", *VERDICTS) or ("`" in row[3] and "`" in row[4]), row
    assert state not in ("variant", "partly", "slip") or ": " in row[5], row
    assert state != "missing" or not row[3], row


def claims(path):
    """The line of verdicts below the title of a published page."""
    either = "|".join(VERDICTS.values())
    return re.search(rf"^\*\*({either})\*\*: .*", read(f"{path}/index.md"), flags=re.M)[0]


@every("note, row", [(note, row) for note, row in ROWS if state_of(row) in VERDICTS])
def test_a_verdict_is_published(note, row):
    path = row[4].strip("`")
    report = re.search(r"^saccade report ([\w-]+)", read(f"{path}/index.md"), flags=re.M)[1]
    assert f"`saccade report {report}" in row[3], row
    assert VERDICTS[state_of(row)] in claims(path), row


def test_a_wrong_name_or_test_is_noticed():
    for wrong in ("scores.Addditive", "lok.jacobian"):
        with pytest.raises(AttributeError):
            resolve(wrong)
    for wrong in ("eq-4-sofft", "tests/nn/test_rettina.py", "tests/notes/test_canal.py::eq-4-soft", "results/none"):
        with pytest.raises(AssertionError):
            check_evidence("Solberg", wrong)
