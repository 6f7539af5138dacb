"""Every example in the documentation runs, every page is reachable, and no page fetches anything from elsewhere."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
TEXTS = [path for path in (ROOT / "README.md", *PAGES) if path.exists()]
EXAMPLES = [path for path in TEXTS if ">>> " in path.read_text(encoding="utf-8")]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.REPORT_NDIFF


@pytest.mark.parametrize("page", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(page):
    failed, tried = doctest.testfile(str(page), module_relative=False, optionflags=FLAGS, encoding="utf-8")
    assert tried and not failed


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_python_is_written_as_examples_that_run(page):
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    assert all(block.startswith(">>> ") and block.endswith("\n\n") for block in blocks)


def test_every_page_is_in_the_navigation():
    listed = set(re.findall(r"[\w-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    assert listed == {path.name for path in PAGES}


@pytest.mark.parametrize("page", TEXTS, ids=lambda path: path.stem)
def test_links_between_pages_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    assert all((page.parent / target).exists() for target in targets if "://" not in target)
