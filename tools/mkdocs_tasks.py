"""The pages of tasks in the navigation, in the order of `saccade list`."""

import json
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig

CATALOGUE = Path(__file__).resolve().parents[1] / "src/saccade/cli/catalogue.json"


def on_config(config: MkDocsConfig) -> None:
    """Add `docs/NAME.md` of every task after the first page of the part `Jobs`."""
    tasks = json.loads(CATALOGUE.read_text(encoding="utf-8"))["tasks"]
    pages = next(part["Jobs"] for part in config.nav or () if "Jobs" in part)
    pages[1:1] = [f"{task['name']}.md" for task in tasks]
