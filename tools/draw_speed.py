"""Draw docs/pictures/speed.png: our speed on a CPU and a GPU beside the plain formula, from files of results.

python tools/draw_speed.py
"""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from write_benchmarks import Rows, stored

from saccade.look._charts import STYLES, name_axes
from saccade.look._figure import FAINT, Page, draw_picture, plain_ticks

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs/pictures/speed.png"
EAGER, MATH = "eager", "torch's math kernel"
ROWS = (
    ("additive, 8 x 256 x 256", "additive forward 8x256x256", EAGER),
    ("with gradients", "additive forward+backward 8x256x256", EAGER),
    ("additive, 1 x 1,024 x 256", "additive forward 1x1024x256", EAGER),
    ("with gradients", "additive forward+backward 1x1024x256", EAGER),
    ("sparsemax, 64 x 4,096", "sparsemax forward 64x4096", "entmax.sparsemax"),
    ("with gradients", "sparsemax forward+backward 64x4096", "entmax.sparsemax"),
    ("entmax 1.5, 64 x 4,096", "entmax 1.5 forward 64x4096", "entmax.entmax15"),
    ("with gradients", "entmax 1.5 forward+backward 64x4096", "entmax.entmax15"),
    ("dot, 4 x 8 x 512 x 64", "dot forward 4x8x512x64", MATH),
    ("with gradients", "dot forward+backward 4x8x512x64", MATH),
)
"""Labels, rows and peers. Peers are plain formulas: of additive scores torch's operations, of sparsemax and entmax
the package `entmax`, of dot products torch's math kernel."""
_WIDE, _LINE, _BAR = 5.0, 0.36, 0.38  # inches of the axes and of a case; height of a bar in cases


class Case(NamedTuple):
    """A case, with the ratios of the peer's time to ours and the GPU of its file."""

    label: str
    cpu: float
    gpu: float
    card: str


def cases() -> list[Case]:
    """The cases of the picture. A row of the H200 stands before one of the H100."""
    cpu, cards = stored("cpu"), {"H200": stored("h200"), "H100": stored("gpu")}
    return [Case(label, _ratio(cpu, (row, peer)), *_of_gpu(cards, (row, peer))) for label, row, peer in ROWS]


def _of_gpu(cards: Mapping[str, Rows], row: tuple[str, str]) -> tuple[float, str]:
    card = next(name for name, rows in cards.items() if row in rows)
    return _ratio(cards[card], row), card


def _ratio(rows: Rows, row: tuple[str, str]) -> float:
    stored_row: Mapping[str, Any] = rows[row]
    if stored_row.get("replaced"):
        raise ValueError(f"{row}: expected a row of today's kernels, got one of replaced kernels")
    return float(stored_row["ratio"])


def draw(path: Path) -> None:
    """Write the picture, over an older one."""
    bars = cases()

    def fill(page: Page) -> None:
        axes = page.axes(0, 0, _WIDE, _LINE * len(bars))
        for name, ratios, colour, shift in (
            ("CPU: Xeon, two threads", [case.cpu for case in bars], STYLES[0][0], -_BAR / 2),
            ("GPU: H200, dot products on an H100", [case.gpu for case in bars], STYLES[1][0], _BAR / 2),
        ):
            heights = [place + shift for place in range(len(bars))]
            axes.barh(heights, [ratio - 1 for ratio in ratios], _BAR, left=1, color=colour, label=name)
            for height, ratio in zip(heights, ratios, strict=True):
                side = "left" if ratio >= 1 else "right"
                edge = ratio * (1.04 if ratio >= 1 else 0.96)
                axes.text(edge, height, f"{ratio:.2f}", fontsize=7, va="center", ha=side)
        axes.axvline(1, color=FAINT, linewidth=0.8)
        axes.set_yticks(range(len(bars)), [case.label for case in bars])
        axes.set(xscale="log", xlim=(0.3, 130), ylim=(len(bars) - 0.4, -0.6))
        plain_ticks(axes.xaxis)
        name_axes(axes, "times as fast as the plain formula (1)", "", grid="x")
        axes.legend(loc="upper center", bbox_to_anchor=(0.4, -0.12), ncols=2)

    story = [f"{case.label}: CPU {case.cpu:.2f}, {case.card} {case.gpu:.2f}" for case in bars]
    with TemporaryDirectory() as folder:
        made = draw_picture(Path(folder) / "speed", fill, "", "Speed beside the plain formula", story)
        path.write_bytes(made[0].read_bytes())


if __name__ == "__main__":
    draw(PICTURE)
