"""Documents for contributors stay short, and every path that they name exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DECISIONS = [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs/decisions").glob("*.md")]
DOCUMENTS = ["DESIGN.md", "CONTRIBUTING.md", "CHANGELOG.md", *DECISIONS]
PATH = re.compile(r"`([\w.-]+/[\w./-]*|[\w-]+\.(?:py|md|txt|toml))`|\]\((?!https?:)([^)#]+)")


def missing(document):
    """Paths in backticks and targets of links that stand neither in the tree nor in the package."""
    path = ROOT / document
    bases = ROOT, ROOT / "src/saccade", path.parent
    named = {name or target for name, target in PATH.findall(path.read_text(encoding="utf-8"))}
    return sorted(name for name in named if not any((base / name).exists() for base in bases))


@pytest.mark.parametrize("document", DECISIONS)
def test_decisions_are_short(document):
    assert len((ROOT / document).read_text(encoding="utf-8").split()) <= 500


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_path_of_a_document_exists(document):
    assert missing(document) == []


def test_a_wrong_path_is_noticed(monkeypatch, tmp_path):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "page.md").write_text("`page.md`, `(..., Lq)`, `no/file.py`, `no.py`, [a](page.md#b) and [b](gone.md)")
    assert missing("page.md") == ["gone.md", "no.py", "no/file.py"]


def test_no_file_is_longer_than_the_rule():
    longest = max(len(file.read_text(encoding="utf-8").splitlines()) for file in (ROOT / "src").rglob("*.py"))
    limit = re.search(r"files\s+(\d+)\.", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert longest <= int(limit[1])
