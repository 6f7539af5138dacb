"""Draw docs/pictures/explorer.png in a browser: `python tools/draw_explorer.py [RUN TEXT]`.

With a run and an input, docs/assets/explorer.json gets their numbers before. Chromium has to be installed.
"""

import json
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from mkdocs_explorer import NUMBERS, TITLE, example
from playwright.sync_api import sync_playwright

from saccade import runs
from saccade.look._explorer.pages import blocks
from saccade.look._explorer.sheets import Book

PICTURE = NUMBERS.parents[1] / "pictures/explorer.png"
STATE = {"sheet": 3, "layer": 1, "head": 1, "cursor": [3, 20], "locked": True, "theme": "light"}


def write_numbers(run: str, text: str) -> None:
    """Write the numbers of a run's answer."""
    content = blocks(Book(TITLE, runs.load(run).sheets(text)))
    NUMBERS.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def draw() -> None:
    """Draw the page as a person sees it."""
    browser = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium"))))
    with sync_playwright() as playwright, TemporaryDirectory() as folder:
        path = Path(folder) / "explorer.html"
        path.write_text(example(), encoding="utf-8")
        page = playwright.chromium.launch(executable_path=browser).new_page(viewport={"width": 1100, "height": 720})
        page.goto(f"{path.as_uri()}#{json.dumps(STATE)}")
        page.wait_for_selector(".matrix canvas[data-missing='0']")
        page.wait_for_selector(".readout output")
        page.screenshot(path=PICTURE)


if __name__ == "__main__":
    if arguments := sys.argv[1:]:
        write_numbers(*arguments)
    draw()
