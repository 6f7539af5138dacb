"""Draw the pictures of docs/masks-as-work.md again, as the page's own code does.

`python tools/draw_mask_blocks.py` writes them into docs/pictures. It needs matplotlib.
"""

import doctest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from saccade import look

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/masks-as-work.md"
LENGTH = 2048


def pictures() -> dict[str, Any]:
    """Title and mask of each picture, as the page's examples make them."""
    test = doctest.DocTestParser().get_doctest(PAGE.read_text(encoding="utf-8"), {}, PAGE.name, str(PAGE), 0)
    failed, tried = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, clear_globs=False)
    if failed or not tried:
        raise SystemExit(f"{PAGE}: {failed} of {tried} examples are otherwise than they say")
    result: dict[str, Any] = test.globs["pictures"]
    return result


def draw(folder: Path) -> list[Path]:
    """Write all pictures as PNG, over older ones."""
    paths = []
    with TemporaryDirectory() as made:
        for name, (title, mask) in pictures().items():
            png, _ = look.blocks(mask, LENGTH, LENGTH, Path(made) / f"masks-{name}", title=title)
            paths.append(folder / png.name)
            paths[-1].write_bytes(png.read_bytes())
    return paths


if __name__ == "__main__":
    for path in draw(ROOT / "docs/pictures"):
        print(path)
