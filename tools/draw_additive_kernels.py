"""Draws the pictures of docs/additive-kernels.md.

    python tools/draw_additive_kernels.py            # into docs/pictures; needs matplotlib

No picture has a measured time: two are diagrams, two follow from formulas, one has errors, measured with fixed seeds.
"""

import argparse
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from saccade import attend, explain, normalizers, scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FOLDER = Path(__file__).resolve().parents[1] / "docs/pictures"
STYLE = {
    "font.size": 9,
    "svg.fonttype": "path",  # text as outlines looks the same everywhere
    "svg.hashsalt": "saccade",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8d8da5",
}
INK, FAINT, PALE = "#22223a", "#8d8da5", "#eef0f6"
BLUE, ORANGE, GREEN, RED = "#27459a", "#c2571a", "#2e7d4f", "#a8203a"
LIGHT = {BLUE: "#c9d4f0", ORANGE: "#f6d9c3", GREEN: "#cbe6d4", RED: "#f2cdd4"}


def canvas(width: float, height: float, columns: int = 1, **more: Any) -> "tuple[Figure, list[Axes]]":
    """A figure with axes in a row, in inches, without pyplot."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    axes = figure.subplots(1, columns, squeeze=False, **more)[0]
    return figure, list(axes)


def box(axes: "Axes", x: float, y: float, width: float, height: float, fill: str = "white", **more: Any) -> None:
    """A rectangle by its lower left corner."""
    from matplotlib.patches import Rectangle

    style = {"facecolor": fill, "edgecolor": FAINT, "linewidth": 0.7, **more}
    axes.add_patch(Rectangle((x, y), width, height, **style))


def arrow(axes: "Axes", start: tuple[float, float], end: tuple[float, float], colour: str = INK) -> None:
    """An arrow between two points."""
    style = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.1, "mutation_scale": 9}
    axes.annotate("", end, start, arrowprops=style)


def number(axes: "Axes", x: float, y: float, text: str) -> None:
    """A white number on a dark disc."""
    disc = {"boxstyle": "circle,pad=0.2", "facecolor": INK, "edgecolor": "none"}
    axes.text(x, y, text, color="white", fontsize=7.5, ha="center", va="center", bbox=disc)


def plain_axes(axes: "Axes", width: float, height: float) -> None:
    """Axes as a sheet of paper: no ticks, one unit as long across as up."""
    axes.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    axes.axis("off")


def tiles() -> "Figure":
    """The forward pass: the order of tiles, and the lanes of a vector."""
    figure, (walk, lanes) = canvas(7.8, 3.9, 2, width_ratios=(1.28, 1))
    plain_axes(walk, 8.2, 8)
    plain_axes(lanes, 6.4, 8)
    walk.set_title("The walk over tiles", fontsize=10, color=INK)
    lanes.set_title("The lanes of one vector", fontsize=10, color=INK)
    x, y, size, side = 1.9, 0.4, 1.9, 1.3  # scores; a tile's width; a block's height
    for tile in range(3):
        busy = tile == 1
        box(walk, x + tile * size, 5.15, size, 1.6, LIGHT[BLUE] if busy else "white")
        for block in range(3):
            skipped = tile > block
            fill = PALE if skipped else (LIGHT[ORANGE] if busy and block == 1 else "white")
            box(walk, x + tile * size, y + (2 - block) * side, size, side, fill)
            if skipped:
                middle = x + (tile + 0.5) * size, y + (2.5 - block) * side
                walk.text(*middle, "forbidden:\nskipped", ha="center", va="center", fontsize=7.5, color=FAINT)
    for block in range(3):
        box(walk, 0.35, y + (2 - block) * side, 1.1, side, LIGHT[BLUE] if block == 1 else "white")
    box(walk, x + size, y + side + 0.78, size, 0.16, ORANGE, edgecolor=ORANGE)
    box(walk, 0.35, y + side + 0.78, 1.1, 0.16, BLUE, edgecolor=BLUE)
    box(walk, x + size, 6.2, size, 0.28, BLUE, edgecolor=BLUE)
    walk.text(x + 1.5 * size, 7.0, "keys, e$^{2k}$: features in rows", ha="center", color=INK)
    walk.text(0.9, 4.5, "queries,\ne$^{2q}$", ha="center", color=INK)
    walk.text(x + 1.5 * size, 4.6, "scores", ha="center", color=INK)
    walk.text(x + 1.5 * size, 0.02, "512 keys a tile", ha="center", fontsize=7.5, color=INK)
    walk.text(0.12, y + 1.5 * side, "16 queries", rotation=90, ha="center", va="center", fontsize=7.5, color=INK)
    arrow(walk, (x + 1.2 * size, 6.15), (x + 1.2 * size, 5.25), BLUE)
    number(walk, x + 1.42 * size, 5.65, "1")
    arrow(walk, (x + 1.2 * size, y + side + 0.75), (x + 1.2 * size, y + side + 0.08), ORANGE)
    number(walk, x + 1.42 * size, y + side + 0.42, "2")
    arrow(walk, (x + 0.3 * size, y + 1.5 * side), (x + 0.95 * size, y + 1.5 * side))
    number(walk, x + 0.6 * size, y + 1.78 * side, "3")
    _lanes(lanes)
    return figure


def _lanes(axes: "Axes") -> None:
    x, side = 1.5, 0.58
    axes.text(x + 4 * side, 7.0, "eight keys, one a lane", ha="center", color=INK)
    for feature in range(4):
        y = 6.0 - 0.72 * feature
        box(axes, 0.25, y, side, side, LIGHT[BLUE])
        axes.text(0.25 + side / 2, y + side / 2, f"a$_{feature}$", ha="center", va="center", fontsize=8, color=INK)
        axes.text(1.16, y + side / 2, "×", ha="center", va="center", color=INK)
        for lane in range(8):
            box(axes, x + lane * side, y, side, side, LIGHT[BLUE])
            label = f"b$_{{{feature}{lane}}}$"
            axes.text(x + (lane + 0.5) * side, y + side / 2, label, ha="center", va="center", fontsize=7, color=INK)
    axes.text(3.2, 3.05, "four features share a division", ha="center", color=INK)
    for lane in range(8):
        middle = x + (lane + 0.5) * side
        arrow(axes, (middle, 2.85), (middle, 2.0), ORANGE)
        box(axes, x + lane * side, 1.3, side, side, LIGHT[ORANGE])
        axes.text(middle, 1.3 + side / 2, f"s$_{lane}$", ha="center", va="center", fontsize=8, color=INK)
    axes.text(0.55, 1.3 + side / 2, "+=", ha="center", va="center", color=INK)
    axes.text(3.2, 0.55, "no arrow crosses from lane to lane", ha="center", fontsize=8, color=INK)


def backward() -> "Figure":
    """The backward pass: the tiles and results of each item of work."""
    figure, (axes,) = canvas(7.4, 3.9)
    plain_axes(axes, 15.2, 8)
    colours = (BLUE, ORANGE, GREEN, RED)
    for item, colour in enumerate(colours):
        for half in range(2):
            at = 2 * item + half
            box(axes, 4.6, 7.05 - 0.28 * at, 5.6, 0.28, LIGHT[colour])
            box(axes, 0.9 + 0.28 * at, 0.4, 0.28, 3.6, LIGHT[colour])
        label = f"item {item}: features {2 * item} and {2 * item + 1}"
        axes.text(10.4, 7.05 - 0.56 * item, label, va="center", color=colour)
    box(axes, 4.6, 0.4, 5.6, 3.6, PALE)
    for row in range(1, 9):
        axes.plot([4.6, 10.2], [0.4 + 0.4 * row] * 2, color="white", linewidth=0.8)
    box(axes, 6.47, 2.0, 1.87, 1.6, INK, edgecolor=INK, zorder=3)
    axes.text(7.4, 2.8, "4 queries ×\n512 keys of g", color="white", ha="center", va="center", fontsize=8, zorder=4)
    axes.text(7.4, 7.5, "gradient of the keys: features in rows", ha="center", color=INK)
    axes.text(2.02, 4.2, "gradient of the queries", ha="center", color=INK)
    axes.text(7.4, 0.05, "g, the scores' gradient: read by all, written by none", ha="center", fontsize=8, color=INK)
    for x, y, width, height in ((6.47, 6.21, 1.87, 0.56), (1.46, 2.0, 0.56, 1.6)):
        box(axes, x, y, width, height, ORANGE, edgecolor=ORANGE)
    arrow(axes, (7.4, 3.65), (7.4, 6.15), ORANGE)
    arrow(axes, (6.4, 2.8), (2.1, 2.8), ORANGE)
    axes.text(7.6, 4.75, "summed over 4 queries\nin registers, added once", va="center", fontsize=8, color=ORANGE)
    axes.text(3.87, 3.3, "summed\nover keys", ha="center", va="center", fontsize=8, color=ORANGE)
    text = "item 1 walks over all tiles of g.\nWhat it writes is its own:\nno lock, no second sum."
    axes.text(10.4, 2.3, text, va="center", fontsize=8.5, color=INK, linespacing=1.5)
    return figure


LENGTHS = [1 << power for power in range(6, 15)]  # of the picture of memory


def bytes_of(length: int, dim: int, backend: str) -> int:
    """Peak bytes of a call of one sequence, by `explain`."""
    x = torch.zeros(1, 1, dim).expand(1, length, dim)
    return explain(x, x, x, score=scores.Additive(torch.zeros(dim)), backend=backend).peak_bytes


def memory() -> "Figure":
    """Bytes beside inputs and output, over the length."""
    figure, (axes,) = canvas(7.0, 3.7)
    dim, mebi = 256, 2.0**20
    counts = [
        ("the textbook's terms: 4 L² D", [bytes_of(n, dim, "reference") for n in LENGTHS], RED, "s"),
        ("all weights: 4 L²", [4 * n * n for n in LENGTHS], FAINT, "^"),
        ("blocks of queries", [bytes_of(n, dim, "cpu") for n in LENGTHS], BLUE, "o"),
    ]
    for label, sizes, colour, marker in counts:
        axes.loglog(LENGTHS, [size / mebi for size in sizes], f"{marker}-", color=colour, markersize=4, label=label)
        last = sizes[-1] / mebi
        text = f"{last / 1024:,.0f} GiB" if last >= 1024 else f"{last:,.0f} MiB"
        axes.annotate(text, (LENGTHS[-1], last), (6, 0), textcoords="offset points", va="center", color=colour)
    axes.set_xscale("log", base=2)
    axes.set_xticks(LENGTHS, [f"{n:,}" for n in LENGTHS])
    axes.minorticks_off()
    axes.set_yticks([10.0**power for power in range(-2, 6)], ["0.01", "0.1", *(f"{10**p:,}" for p in range(6))])
    axes.set(xlabel="L: queries, and as many keys, of 256 features", ylabel="memory of the call, MiB")
    axes.set_xlim(55, 40_000)
    axes.grid(axis="y", color=PALE)
    axes.legend(frameon=False, loc="upper left")
    return figure


def naive(query: Tensor, key: Tensor, v: Tensor) -> Tensor:
    """The identity, a division each, with nothing against overflow and cancellation."""
    x = 1 + torch.exp(2 * query)[:, None] * torch.exp(2 * key)
    return v.sum() - 2 * (1 / x) @ v


def shared(query: Tensor, key: Tensor, v: Tensor) -> Tensor:
    """The same with four terms a division."""
    x = 1 + torch.exp(2 * query)[:, None] * torch.exp(2 * key)
    x0, x1, x2, x3 = x.unflatten(-1, (-1, 4)).unbind(-1)
    v0, v1, v2, v3 = v.unflatten(-1, (-1, 4)).unbind(-1)
    first, second = x0 * x1, x2 * x3
    terms = ((v0 * x1 + v1 * x0) * second + (v2 * x3 + v3 * x2) * first) / (first * second)
    return v.sum() - 2 * terms.sum(-1)


def formula(query: Tensor, key: Tensor, v: Tensor) -> Tensor:
    """The textbook's code."""
    return torch.tanh(query[:, None] + key) @ v


def compiled(query: Tensor, key: Tensor, v: Tensor) -> Tensor:
    """The kernel: scores themselves as weights, read from the unit matrix."""
    unit, score = torch.eye(len(key), dtype=key.dtype), scores.Additive(v)
    result: Tensor = attend(query, key, unit, score=score, normalizer=normalizers.Identity(), backend="cpu")
    return result


WAYS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "the identity alone": naive,
    "four terms a division, nothing else": shared,
    "the plain formula": formula,
    "the kernel": compiled,
}


def errors(scales: Iterable[float]) -> dict[str, list[float]]:
    """Largest error over largest float32 score by way and scale, median of five draws."""
    medians: dict[str, list[float]] = {name: [] for name in WAYS}
    for scale in scales:
        draws: dict[str, list[float]] = {name: [] for name in WAYS}
        for seed in range(5):
            generator = torch.Generator().manual_seed(seed)
            query, key = ((2 * torch.rand(64, 64, generator=generator) - 1) * scale for _ in range(2))
            v = torch.randn(64, generator=generator)
            exact = formula(query.double(), key.double(), v.double())
            for name, way in WAYS.items():
                draws[name].append(float((way(query, key, v) - exact).abs().max() / exact.abs().max()))
        for name, values in draws.items():
            medians[name].append(float(torch.tensor(values).median()))  # NaN if a draw is
    return medians


def accuracy() -> "Figure":
    """The error over the inputs' scale."""
    figure, (axes,) = canvas(7.2, 4.1)
    scales = [10 ** (power / 8) for power in range(-32, 21)]
    looks = (ORANGE, "--", 1.6), (RED, ":", 2.0), (FAINT, "-", 1.6), (BLUE, "-", 2.2)
    for (name, values), (colour, line, width) in zip(errors(scales).items(), looks, strict=True):
        axes.loglog(scales, values, line, color=colour, linewidth=width, label=name)
        wrong = [scale for scale, value in zip(scales, values, strict=True) if value != value]
        if wrong:
            axes.plot([min(wrong)], [3e-3], "x", color=colour, markersize=7, markeredgewidth=2)
            axes.text(1.2 * min(wrong), 3e-3, "NaN from\nhere on", color=colour, va="center", fontsize=7.5)
    for scale in (0.25, 43):
        axes.axvline(scale, color=FAINT, linewidth=0.7)
    for scale, text in ((5e-3, "kernel: polynomial"), (3.3, "kernel: identity"), (125, "tangent")):
        axes.text(scale, 4.2e-8, text, ha="center", va="center", fontsize=8, color=BLUE)
    axes.set_xlabel("scale of the inputs: q and k lie between −scale and scale")
    axes.set_ylabel("largest error over largest score")
    axes.set(xlim=(1e-4, 320), ylim=(2.5e-8, 4e-2))
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.33, 1.02), fontsize=8)
    return figure


SCORES = (1.6, 1.2, 1.1, 0.7, 0.3, -0.2, -1.0)


def weights_at(t: float, a: float) -> list[float]:
    """The weights of the example's scores for a threshold."""
    return [max(0.0, 1 + a * (score - max(SCORES) - t)) ** (1 / a) for score in SCORES]


def newton(a: float) -> list[float]:
    """Newton's thresholds from 0, until they no longer rise."""
    steps = [0.0]
    while True:
        weights = weights_at(steps[-1], a)
        slope = sum(p ** (1 - a) for p in weights if p > 0)
        following = steps[-1] + (sum(weights) - 1) / slope
        if following <= steps[-1] + 1e-12:
            return steps
        steps.append(following)


def thresholds() -> "Figure":
    """The sum of the weights over the threshold, with Newton's steps."""
    figure, axes = canvas(7.4, 3.5, 2, sharey=True)
    for panel, a, name in zip(axes, (1.0, 0.5), ("sparsemax (a = 1)", "1.5-entmax (a = 1/2)"), strict=True):
        steps = newton(a)
        grid = [1.1 * steps[-1] * position / 300 for position in range(301)]
        panel.plot(grid, [sum(weights_at(t, a)) for t in grid], color=BLUE, linewidth=2)
        panel.axhline(1, color=FAINT, linewidth=0.8)
        for before, after in pairwise(steps):
            height = sum(weights_at(before, a))
            panel.plot([before, after], [height, 1], "--", color=ORANGE, linewidth=1.2)
            panel.plot([after, after], [1, sum(weights_at(after, a))], ":", color=ORANGE, linewidth=1.2)
            panel.plot([before], [height], "o", color=ORANGE, markersize=5)
        panel.plot([steps[-1]], [1], "*", color=RED, markersize=12)
        panel.set_title(f"{name}: {len(steps) - 1} steps", fontsize=10, color=INK)
        panel.set_xlabel("threshold t")
    axes[0].set_ylabel("sum of the weights")
    axes[0].annotate("the wanted 1", (0.01, 1), (0, -11), textcoords="offset points", color=FAINT, fontsize=8)
    return figure


PICTURES: dict[str, Callable[[], "Figure"]] = {
    "additive-tiles": tiles,
    "additive-backward": backward,
    "additive-memory": memory,
    "additive-errors": accuracy,
    "additive-thresholds": thresholds,
}
MEASURED = ("additive-errors",)
"""Pictures with last digits that depend on the processor."""


def draw(folder: Path, names: Iterable[str] = tuple(PICTURES)) -> list[Path]:
    """Write the pictures as SVG into a folder, over older ones."""
    from matplotlib import rc_context

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name in names:
        with rc_context(STYLE):
            paths.append(folder / f"{name}.svg")
            PICTURES[name]().savefig(paths[-1], metadata={"Date": None})
    return paths


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    for path in draw(parser.parse_args().folder):
        print(path)
