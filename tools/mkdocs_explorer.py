"""The example of the explorer in the site: the numbers of a run in the page of this version."""

import json
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from saccade.look._explorer.pages import file_page

NUMBERS = Path(__file__).resolve().parents[1] / "docs/assets/explorer.json"
TITLE = "A Transformer writes a date"


def example() -> str:
    """Return the page of the example."""
    return file_page(json.loads(NUMBERS.read_text(encoding="utf-8")), TITLE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page."""
    files.append(File.generated(config, "assets/explorer.html", content=example()))
    return files
