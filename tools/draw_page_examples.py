"""Draw pictures of docs/ from the values that the examples of their pages make.

`python tools/draw_page_examples.py` writes them into docs/pictures. It needs matplotlib.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from run_blocks import run

from saccade import look
from saccade.look._figure import FAINT, Page, draw_cells, draw_picture, ramp

ROOT = Path(__file__).resolve().parents[1]
LENGTH = 2048  # of the masks in blocks
_PANEL, _APART, _ROW = 1.5, 0.45, 4  # inches of a mask's side and between masks; masks in a row


def values(page: str) -> dict[str, Any]:
    """Variables of a page's examples, after they have run."""
    path = ROOT / f"docs/{page}.md"
    results, variables = run(path.read_text(encoding="utf-8"), str(path))
    if results.failed or not results.attempted:
        raise SystemExit(f"{path}: {results.failed} of {results.attempted} examples fail")
    return variables


def draw(folder: Path) -> list[Path]:
    """Write all pictures as PNG, over older ones."""
    paths = []
    with TemporaryDirectory() as made:
        for png in (*blocks(Path(made)), pairs(Path(made)), kernels(Path(made))):
            paths.append(folder / png.name)
            paths[-1].write_bytes(png.read_bytes())
    return paths


def blocks(folder: Path) -> Iterator[Path]:
    """Draw the blocks of masks in docs/masks-as-work.md."""
    for name, (title, mask) in values("masks-as-work")["pictures"].items():
        yield look.blocks(mask, LENGTH, LENGTH, folder / f"masks-{name}", title=title)[0]


def pairs(folder: Path) -> Path:
    """Draw the pairs that masks of docs/masks-and-biases.md allow."""
    page_values = values("masks-and-biases")
    allowed = {
        name: torch.tensor(page_values["allowed"](mask, *page_values["twelve"]))
        for name, mask in page_values["shapes"].items()
    }

    def fill(page: Page) -> None:
        for number, (name, matrix) in enumerate(allowed.items()):
            line, column = divmod(number, _ROW)
            corner = column * (_PANEL + _APART), line * (_PANEL + _APART)
            axes = page.axes(*corner, _PANEL, _PANEL, ticks=False)
            draw_cells(axes, matrix, lines=True, cmap=ramp(), vmin=0, vmax=1.4)
            axes.set(ylim=(len(matrix), 0))
            axes.set_title(name, fontsize=8)
            if not number:
                axes.set_xlabel("keys →", fontsize=7, color=FAINT)
                axes.set_ylabel("← queries", fontsize=7, color=FAINT)

    story = [f"{name}: {int(matrix.sum())} of {matrix.numel()} pairs" for name, matrix in allowed.items()]
    return draw_picture(folder / "pairs-of-masks", fill, "", "Pairs that masks allow", story)[0]


def kernels(folder: Path) -> Path:
    """Draw the kernels of docs/scores.md before they are normalized."""
    page_values = values("scores")
    distances = page_values["distances"][:, 0].tolist()
    lines = [look.Curve(name, distances, weights.tolist()) for name, weights in page_values["kernels"].items()]
    labels = ("distance of query and key, in bandwidths", "weight before normalizing")
    return look.curves(lines, folder / "kernels", labels=labels, title="Kernels before they are normalized")[0]


if __name__ == "__main__":
    for path in draw(ROOT / "docs/pictures"):
        print(path)
