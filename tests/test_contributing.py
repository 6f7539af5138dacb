"""What CONTRIBUTING.md says of files is about so."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| .* \| ((?:`[^`]+\.py`(?:, )?)+) \| ([\d,]+) \|$", TEXT, flags=re.M)


def lines_of(pattern):
    files = sorted((ROOT / "src/saccade").glob(pattern))
    assert files, pattern
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)


@pytest.mark.parametrize(("names", "said"), ROWS[:-1], ids=lambda value: str(value)[:40])
def test_files_have_about_as_many_lines_as_the_table_says(names, said):
    counted = sum(map(lines_of, re.findall(r"`([^`]+)`", names)))
    assert counted == pytest.approx(int(said.replace(",", "")), rel=0.1)


def test_the_parts_of_the_table_add_up():
    assert len(ROWS) == 8
    together = int(re.search(r"\| \*\*together\*\* \| \| \*\*(\d+)\*\* \|", TEXT)[1])
    assert sum(int(said.replace(",", "")) for _, said in ROWS[:4]) == together


def test_no_file_is_longer_than_is_said():
    longest = max(len(file.read_text(encoding="utf-8").splitlines()) for file in (ROOT / "src").rglob("*.py"))
    assert longest <= int(re.search(r"never in more than (\d+)", TEXT)[1])
