"""The page looks as its screenshots do, where browser and fonts are theirs.

`EXPLORER_WRITE=1 pytest tests/look/explorer/test_screenshots.py` writes them again after a change of the design.
"""

import io
import json
import os
from pathlib import Path

import numpy as np
import pytest

from look.explorer.books import hashed

pytestmark = pytest.mark.slow
FOLDER = Path(__file__).parent / "pictures"
MAKERS = FOLDER / "makers.json"
WIDTHS = """() => {
  const context = document.createElement("canvas").getContext("2d");
  return ["12px system-ui, sans-serif", "600 14px system-ui, sans-serif"].map((font) => {
    context.font = font;
    return context.measureText("Hamburgefonstiv 0123456789").width;
  });
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 900, 400])
def test_the_page_looks_as_its_screenshot(show, browser, model, theme, width):
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    opened = show(model, width=width, theme=theme, hash_=hashed(cursor=[3, 7], locked=True)).ready()
    opened.frame.locator("[aria-label=Keys] button[style*=background]").first.wait_for()
    makers = {"browser": browser.version, "text": opened.frame.evaluate(WIDTHS)}
    taken = image.open(io.BytesIO(opened.page.screenshot(full_page=True))).convert("RGB")
    taken = taken.resize((taken.width // 2, taken.height // 2), image.Resampling.BOX)
    path = FOLDER / f"{width}-{theme}.png"
    if os.environ.get("EXPLORER_WRITE"):
        FOLDER.mkdir(exist_ok=True)
        taken.quantize(64).save(path, optimize=True)
        MAKERS.write_text(json.dumps(makers, indent=1) + "\n", encoding="utf-8")
    if json.loads(MAKERS.read_text(encoding="utf-8")) != makers:
        pytest.skip("the screenshots are of another browser or of other fonts")
    kept = image.open(path).convert("RGB")
    assert taken.size == kept.size
    difference = np.abs(np.array(taken, int) - np.array(kept, int)).max(-1)
    assert (difference > 48).mean() < 0.005
