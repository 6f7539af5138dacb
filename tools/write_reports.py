"""Write the table of docs/reports.md from the studies and their published pages.

    PYTHONPATH=. python tools/write_reports.py

A published page is a folder of results/ with a report.json. Minutes are those of its trainings, one after another.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pages import filled, table

from studies.frame.study import load, names

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/reports.md"
BEGIN = "<!-- tools/write_reports.py writes this table -->\n"
COLUMNS = ("report", "claim", "paper", "command", "minutes", "page and verdict")


def published() -> dict[str, list[Path]]:
    """The folders of published pages by study."""
    folders: dict[str, list[Path]] = {name: [] for name in names()}
    for path in sorted((ROOT / "results").glob("*/report.json")):
        folders[read(path.parent)["report"]].append(path.parent)
    return folders


def read(folder: Path) -> Mapping[str, Any]:
    """The stored rows of a published page."""
    content: Mapping[str, Any] = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return content


def minutes(content: Mapping[str, Any]) -> str:
    """Minutes of all trainings, or "" if nothing was trained."""
    trainings = content.get("runs", {}).values() or content["rows"]
    total = sum(training.get("seconds", 0) for training in trainings) / 60
    return f"{total:.{0 if total >= 10 else 1}f}" if total else ""


def command(content: Mapping[str, Any]) -> str:
    """The command of a page, without its folder and its threads."""
    return re.sub(r" --(?:output|threads) \S+", "", content["command"])


def verdict(folder: Path) -> str:
    """The verdict of a page."""
    words = re.search(r"^\*\*(.+?)\*\*:", (folder / "index.md").read_text(encoding="utf-8"), flags=re.M)
    assert words is not None, folder
    return words[1]


def anchors(text: str) -> dict[str, str]:
    """Anchors of the sections by study. A heading begins with the name of its study."""
    headings = re.findall(r"^### (.+)$", text, flags=re.M)
    slugs = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
    named = [heading.partition(":")[0].strip("`").lower().replace(" ", "-") for heading in headings]
    return dict(zip(named, slugs, strict=True))


def rows(text: str) -> Iterator[list[str]]:
    """A row for each published page, with the study in the first one."""
    anchor = anchors(text)
    for name, folders in published().items():
        claim, _, paper = load(name).sentence.removesuffix(")").rpartition(" (")
        study = [f"[`{name}`](#{anchor[name]})", claim, paper]
        for folder in folders:
            content = read(folder)
            page = f"[{folder.name}](../results/{folder.name}/index.md): {verdict(folder)}"
            yield [*study, f"`{command(content)}`", minutes(content), page]
            study = ["", "", ""]


def page() -> str:
    """docs/reports.md with its table written again."""
    text = PAGE.read_text(encoding="utf-8")
    return filled(text, BEGIN, table([COLUMNS, *rows(text)], "llllrl"))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
