"""The pages of tasks in the navigation, in the order of `saccade list`, and the reference of models."""

import json
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig

ROOT = Path(__file__).resolve().parents[1]
CATALOGUE = ROOT / "src/saccade/cli/catalogue.json"


def on_config(config: MkDocsConfig) -> None:
    """Add `docs/NAME.md` of every task after the first page of the part `Do`."""
    tasks = json.loads(CATALOGUE.read_text(encoding="utf-8"))["tasks"]
    pages = next(part["Do"] for part in config.nav or () if "Do" in part)
    pages[1:1] = [f"{task['name']}.md" for task in tasks]


def on_page_markdown(markdown: str, **_: object) -> str:
    """Write a directive for each module of a package in the place of `::: PACKAGE.*`."""
    return re.sub(r"^::: (\S+)\.\*$", lambda line: "\n".join(directives(line[1])), markdown, flags=re.M)


def directives(package: str) -> list[str]:
    """Directives for the public modules of a package, in alphabetical order."""
    files = sorted((ROOT / "src" / package.replace(".", "/")).glob("[a-z]*.py"))
    return [f"::: {package}.{file.stem}" for file in files]
