"""The notebooks run from their first cell to their last, and have pages."""

import json
import re
from pathlib import Path

import pytest

from scripts import script
from tiers import every

ROOT = Path(__file__).resolve().parents[1]
NOTES = sorted((ROOT / "examples/notes").glob("*.ipynb"))
EXAMPLES = [*sorted((ROOT / "examples").glob("*.ipynb")), *NOTES]
QUICK = {"attend_for_sdpa_users"}
NEEDED = {"look_inside_llama": ("transformers", "captum")}
RUNS = [pytest.param(path, id=path.stem, marks=[] if path.stem in QUICK else [pytest.mark.slow]) for path in EXAMPLES]


def cells(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]


@pytest.mark.parametrize("path", RUNS)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    for library in NEEDED.get(path.stem, ()):
        pytest.importorskip(library, reason=f"{library} is not installed")
    monkeypatch.chdir(tmp_path)
    names = {}
    for kind, source in cells(path):
        if kind == "code":
            exec(compile(source.replace("STEPS = 400", "STEPS = 20"), str(path), "exec"), names)
    if path.stem == "first_ten_minutes":
        assert len(names["answers"]) == 3 and all(len(answer.lines()) == 2 for answer in names["answers"])
        assert list((tmp_path / "pictures").glob("*.png"))


@every("path", EXAMPLES)
def test_a_page_is_that_of_its_notebook(path):
    notebooks = script("tools/notebooks.py")
    for name, content in notebooks.files(path).items():
        assert (notebooks.FOLDERS[path.parent] / name).read_bytes() == content, "run python tools/notebooks.py"


@every("path", EXAMPLES)
def test_a_notebook_is_stored_with_its_outputs(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert all(cell["execution_count"] for cell in cells if cell["cell_type"] == "code")
    assert any(cell["outputs"] for cell in cells if cell["cell_type"] == "code")


@every("path", NOTES)
def test_a_notebook_has_each_row_of_its_note_once(path):
    text = "\n".join(source for kind, source in cells(path) if kind == "markdown")
    rows = [name for line in re.findall(r"^Rows: (.*)$", text, flags=re.M) for name in re.findall(r"\w+", line)]
    section = re.split(r"^## ", (ROOT / "docs/notes.md").read_text(encoding="utf-8"), flags=re.M)
    [table] = [part for part in section if part.lower().startswith(path.stem.replace("ylipaa", "ylipää"))]
    assert sorted(rows) == sorted(re.findall(r"^\| \[?([SCBIY]\d+)\b", table, flags=re.M))
