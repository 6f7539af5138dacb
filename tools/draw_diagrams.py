"""Draw the diagrams of models in docs/pictures, from the modules themselves.

`python tools/draw_diagrams.py` writes them as SVG. Names and sizes in the boxes are those of the modules, and a
parameter without a box is an error. It needs matplotlib.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from saccade.look._figure import FAINT, INK, Page, draw_picture
from saccade.models import ntm, ram, rnnsearch
from saccade.models.memorizer import Sizes
from saccade.nn import Retina

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOLDER = Path(__file__).resolve().parents[1] / "docs/pictures"
_COLUMN, _ROW = 1.62, 0.62  # inches from box to box
_WIDTH = 1.28  # inches of a box
_FILLED = "#e6eaf7"  # boxes of modules; values are white
Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """A module or a value.

    Args:
        at: column and row of its centre.
        text: its symbol or formula.
        parts: names of the submodules or parameters that it stands for, none of a value.
    """

    at: Point
    text: str
    parts: tuple[str, ...] = ()

    def lines(self, model: nn.Module) -> list[str]:
        """The symbol, and below it the name and the sizes of each part."""
        return [self.text, *(f"{name}\n{size_of(attrgetter(name)(model))}".strip() for name in self.parts)]


@dataclass(frozen=True)
class Arrow:
    """An arrow from box to box, on a straight line or over corners (column, row).

    Dashed ones reach the next step. `width` is in points, `label_at` a share of the last line.
    """

    start: str
    end: str
    corners: tuple[Point, ...] = ()
    label: str = ""
    dashed: bool = False
    width: float = 1.0
    label_at: float = 0.5


@dataclass(frozen=True)
class Diagram:
    """Boxes of a model by name, and arrows between them."""

    model: nn.Module
    title: str
    boxes: dict[str, Box]
    arrows: Sequence[Arrow]

    def missing(self) -> list[str]:
        """Parameters that no box stands for."""
        parts = {part for box in self.boxes.values() for part in box.parts}
        names = [name for name, _ in self.model.named_parameters()]
        return [name for name in names if not any(name == part or name.startswith(f"{part}.") for part in parts)]

    def story(self) -> Iterator[str]:
        """Sentences for screen readers: each box with its sizes, and where it leads."""
        texts = {name: ", ".join(box.lines(self.model)).replace("\n", " ") for name, box in self.boxes.items()}
        for name, text in texts.items():
            ends = [self.boxes[arrow.end].text for arrow in self.arrows if arrow.start == name]
            yield f"{text} → {', '.join(ends)}".replace("\n", " ") if ends else text

    def draw(self, page: Page) -> None:
        points = [box.at for box in self.boxes.values()]
        points += [corner for arrow in self.arrows for corner in arrow.corners]
        (left, right), (top, low) = ((min(numbers), max(numbers)) for numbers in zip(*points, strict=True))
        axes = page.axes(0, 0, (right - left + 1) * _COLUMN, (low - top + 2) * _ROW, ticks=False)
        axes.set(xlim=(left - 0.5, right + 0.5), ylim=(low + 1, top - 1))
        axes.axis("off")
        for arrow in self.arrows:
            self._arrow(axes, arrow)
        for box in self.boxes.values():
            _draw_box(axes, box, box.lines(self.model))

    def _arrow(self, axes: "Axes", arrow: Arrow) -> None:
        points = [self.boxes[arrow.start].at, *arrow.corners, self.boxes[arrow.end].at]
        points[0] = self._edge(arrow.start, points[1])
        points[-1] = self._edge(arrow.end, points[-2])
        style: dict[str, Any] = {"color": FAINT, "linewidth": arrow.width, "linestyle": "--" if arrow.dashed else "-"}
        axes.plot(*zip(*points[:-1], strict=True), **style) if len(points) > 2 else None
        head = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "mutation_scale": 8, **style}
        axes.annotate("", points[-1], points[-2], arrowprops=head)
        if arrow.label:
            (x, y), (column, row) = points[-2], points[-1]
            white = {"boxstyle": "square,pad=0.1", "facecolor": "white", "linewidth": 0}
            at = x + arrow.label_at * (column - x), y + arrow.label_at * (row - y)
            axes.text(*at, arrow.label, ha="center", va="center", fontsize=7, bbox=white)

    def _edge(self, name: str, toward: Point) -> Point:
        """The point of a box's edge on the line to another point."""
        (column, row), (x, y) = self.boxes[name].at, toward
        across, down = (x - column) * _COLUMN, (y - row) * _ROW
        high = _height(self.boxes[name].lines(self.model))
        share = 1 / max(2 * abs(across) / _WIDTH, 2 * abs(down) / high)
        return column + share * across / _COLUMN, row + share * down / _ROW


def _height(lines: Sequence[str]) -> float:
    """Inches of a box: a symbol, and smaller lines of its parts."""
    symbol, *parts = (1 + line.count("\n") for line in lines)
    return 0.2 + 0.16 * symbol + 0.12 * sum(parts)


def _draw_box(axes: "Axes", box: Box, lines: Sequence[str]) -> None:
    from matplotlib.patches import FancyBboxPatch

    (column, row), high, wide = box.at, _height(lines) / _ROW, _WIDTH / _COLUMN
    fill, corner = _FILLED if box.parts else "white", (column - wide / 2, row - high / 2)
    shape = "round,pad=0,rounding_size=0.06"
    axes.add_patch(FancyBboxPatch(corner, wide, high, shape, facecolor=fill, edgecolor=FAINT, linewidth=0.7))
    top = row - high / 2 + 0.09 / _ROW
    for number, line in enumerate("\n".join(lines).split("\n")):
        of_symbol = number <= box.text.count("\n")
        step = 0.16 if of_symbol else 0.12
        middle, size = top + step / 2 / _ROW, 8 if of_symbol else 6
        axes.text(column, middle, line, ha="center", va="center", fontsize=size, color=INK)
        top += step / _ROW


def size_of(part: Any) -> str:
    """Sizes of a module or parameter, as it has them."""
    if isinstance(part, Tensor):
        return " × ".join(map(str, part.shape))
    if isinstance(part, nn.Linear):
        return f"{part.in_features} → {part.out_features}"
    if isinstance(part, nn.Embedding):
        return f"{part.num_embeddings} × {part.embedding_dim}"
    if isinstance(part, nn.RNNBase | nn.RNNCellBase):
        return f"{part.input_size} → {part.hidden_size}"
    if isinstance(part, nn.Sequential):
        linear = [layer for layer in part if isinstance(layer, nn.Linear)]
        return " → ".join(str(size) for size in (linear[0].in_features, *(layer.out_features for layer in linear)))
    if isinstance(part, Retina):
        return f"{part.scales} of {part.sides[0]} × {part.sides[1]} pixels"
    held = list(part.parameters())
    return size_of(held[0]) if len(held) == 1 else f"{sum(prod(parameter.shape) for parameter in held):,} parameters"


def additive(model: rnnsearch.RNNSearch | None = None) -> Diagram:
    """One step of RNNsearch: Bahdanau et al. 2015, section 3 and appendix A."""
    model = model or _translator()
    boxes = {
        "source": Box((0, 0), "E xⱼ", ("source_embedding",)),
        "ahead": Box((1, -0.6), "→hⱼ", ("encoder.forwards",)),
        "back": Box((1, 0.6), "←hⱼ", ("encoder.backwards",)),
        "h": Box((2, 0), "hⱼ = [→hⱼ; ←hⱼ]"),
        "U_a": Box((2, 2), "Uₐ", ("attention.key_projection",)),
        "sum": Box((3, 2), "tanh(Wₐ s′ᵢ + Uₐ hⱼ)"),
        "v_a": Box((4, 2), "eᵢⱼ = vₐ · tanh", ("attention.score",)),
        "alpha": Box((5, 2), "αᵢⱼ = softmaxⱼ eᵢⱼ"),
        "W_a": Box((3, 3.6), "Wₐ", ("attention.query_projection",)),
        "c": Box((5, 3.6), "cᵢ = Σⱼ αᵢⱼ hⱼ"),
        "W_s": Box((0, 2), "W\u209b, of the mean hⱼ", ("bridge",)),
        "target": Box((1, 5.2), "E yᵢ₋₁", ("decoder.embedding",)),
        "W": Box((2, 5.2), "W, W\u1d63, W_z", ("decoder.input_proj",)),
        "s'": Box((3, 5.2), "s′ᵢ = GRU₁"),
        "U_2": Box((4, 5.2), "gates of GRU₂", ("decoder.intermediate_proj",)),
        "C": Box((5, 5.2), "C, C\u1d63, C_z", ("decoder.context_proj",)),
        "before": Box((0, 6.8), "sᵢ₋₁"),
        "U": Box((2, 6.8), "U, U\u1d63, U_z", ("decoder.hidden_proj",)),
        "s": Box((5, 6.8), "sᵢ = GRU₂"),
        "readout": Box((5, 8.6), "tᵢ = tanh W\u209c [sᵢ; cᵢ; E yᵢ₋₁]", ("decoder.readout",)),
        "logits": Box((3, 8.6), "p(yᵢ) = softmax E tᵢ + b", ("decoder.bias",)),
    }
    arrows = [
        Arrow("source", "ahead"), Arrow("source", "back"), Arrow("ahead", "h"), Arrow("back", "h"),
        Arrow("h", "U_a"), Arrow("U_a", "sum"), Arrow("W_a", "sum"), Arrow("sum", "v_a"), Arrow("v_a", "alpha"),
        Arrow("alpha", "c"), Arrow("h", "c", ((5.6, 0), (5.6, 3.6))), Arrow("h", "W_s", ((1.65, 1.25), (0, 1.25))),
        Arrow("W_s", "before", label="s₀"), Arrow("target", "W"), Arrow("W", "s'"), Arrow("before", "U"),
        Arrow("U", "s'"), Arrow("s'", "W_a"), Arrow("s'", "U_2"), Arrow("c", "C"), Arrow("C", "s"),
        Arrow("U_2", "s"), Arrow("s", "readout"), Arrow("readout", "logits"),
        Arrow("s", "before", ((4.3, 7.6), (0, 7.6)), "next step", dashed=True),
    ]  # fmt: skip
    return Diagram(model, "RNNsearch: one step of additive attention (Bahdanau et al. 2015)", boxes, arrows)


def unfolded(model: rnnsearch.RNNSearch | None = None, sources: int = 4, steps: int = 3) -> Diagram:
    """Steps of RNNsearch side by side: each context reads all states of the encoder."""
    model = model or _translator()
    left = (sources - steps) / 2
    boxes, arrows = dict[str, Box](), list[Arrow]()
    for j in range(sources):
        names = ("source_embedding",) if j == 0 else ()
        boxes[f"x{j}"] = Box((j, 6), f"E x{_low(j + 1)}", names)
        boxes[f"h{j}"] = Box((j, 4.2), f"h{_low(j + 1)}", ("encoder",) if j == 0 else ())
        arrows.append(Arrow(f"x{j}", f"h{j}"))
        if j:
            arrows += [Arrow(f"h{j - 1}", f"h{j}"), Arrow(f"h{j}", f"h{j - 1}")]
    boxes["s0"] = Box((left - 1, 0), "s₀", ("bridge",))
    for i in range(steps):
        boxes[f"c{i}"] = Box((left + i, 1.8), f"c{_low(i + 1)}", ("attention",) if i == 0 else ())
        boxes[f"s{i + 1}"] = Box((left + i, 0), f"s{_low(i + 1)} → y{_low(i + 1)}", ("decoder",) if i == 0 else ())
        arrows += [Arrow(f"s{i}", f"s{i + 1}"), Arrow(f"c{i}", f"s{i + 1}")]
        for j in range(sources):
            label = f"α{_low(i + 1)}{_low(j + 1)}" if i == steps - 1 else ""
            arrows.append(Arrow(f"h{j}", f"c{i}", label=label, width=1.3 if label else 0.5, label_at=0.35))
    return Diagram(model, "RNNsearch unfolded: each step reads all states of the encoder", boxes, arrows)


def glimpses(model: ram.Ram | None = None) -> Diagram:
    """A step of RAM: Mnih et al. 2014, section 3.1."""
    model = model or ram.Ram(1, 10, ram.Options(patch=12, scales=3, baseline="learned", samples=1))
    boxes = {
        "image": Box((0, 0), "image x"),
        "sensor": Box((1, 0), "sensor ρ(x, ℓₜ)", ("glimpse.retina",)),
        "what": Box((2, 0), "what", ("glimpse.what",)),
        "where": Box((2, 1.8), "where", ("glimpse.where",)),
        "location": Box((1, 1.8), "location ℓₜ"),
        "g": Box((3, 0.9), f"glimpse gₜ\nrelu(what {'+' if model.glimpse.combine == 'add' else '·'} where)"),
        "core": Box((4, 0.9), "core\nhₜ = f(hₜ₋₁, gₜ)", ("core",)),
        "action": Box((5, 0), "action p(y | x)", ("output",)),
        "policy": Box((5, 1.4), "location network μ", ("policy.mean",)),
        "draw": Box((5, 3), "ℓₜ₊₁ ~ N(tanh μ, σ²)"),
    }
    arrows = [
        Arrow("image", "sensor"), Arrow("location", "sensor"), Arrow("location", "where"), Arrow("sensor", "what"),
        Arrow("what", "g"), Arrow("where", "g"), Arrow("g", "core"), Arrow("core", "action"), Arrow("core", "policy"),
        Arrow("core", "core", ((4, -0.3), (3.4, -0.3), (3.4, 0.3)), "hₜ", dashed=True),
        Arrow("policy", "draw"), Arrow("draw", "location", ((1, 3),), "next glimpse", dashed=True),
    ]  # fmt: skip
    if getattr(model.reinforce, "baseline", None) is not None:
        boxes["baseline"] = Box((4, 2.4), "baseline bₜ", ("reinforce.baseline",))
        arrows.append(Arrow("core", "baseline"))
    return Diagram(model, "RAM: one glimpse (Mnih et al. 2014)", boxes, arrows)


def memory(model: ntm.NTM | None = None) -> Diagram:
    """A step of a Neural Turing Machine: Graves et al. 2014, sections 3 and 4."""
    model = model or ntm.NTM(Sizes(9, 8), ntm.Options())
    held = model.memory
    read, write = f"{held.num_reads} read", f"{held.num_writes} write"
    boxes = {
        "x": Box((0, 0), "input xₜ"),
        "input": Box((1, 0), "controller: W xₜ", ("input",)),
        "recurrent": Box((2, 0), "LSTM hₜ", ("recurrent", "first_hidden", "first_cell")),
        "heads": Box((3, 0), f"heads\n{read}, {write}", ("memory.heads",)),
        "content": Box((0.5, 3.4), "content (5, 6)\nsoftmax β cos(k, M)"),
        "gate": Box((1.75, 3.4), "interpolation (7)\ng wᶜ + (1 − g) wₜ₋₁"),
        "shift": Box((3, 3.4), f"shift (8)\ns: {2 * held.max_shift + 1} places"),
        "sharpen": Box((4.25, 3.4), "sharpening (9)\nw ∝ w̃ to the γ"),
        "erase": Box((4.25, 5), "erase, add (3, 4)\nM (1 − w e) + w a"),
        "M": Box((2, 5), f"memory M\n{model.cells} × {held.cell_dim}", ("memory.first_cell",)),
        "r": Box((4.25, 1.75), "read (2)\nrₜ = wₜ Mₜ", ("memory.first_read",)),
        "output": Box((4.25, 0), "output of [hₜ; rₜ]", ("output",)),
    }
    arrows = [
        Arrow("x", "input"), Arrow("input", "recurrent"), Arrow("recurrent", "heads"),
        Arrow("r", "recurrent", ((2, 1.75),), "rₜ₋₁", dashed=True),
        Arrow("recurrent", "output", ((2, -1.1), (4.25, -1.1))), Arrow("r", "output"),
        Arrow("heads", "content", ((3, 1.9), (0.5, 1.9)), "k, β"), Arrow("heads", "gate", ((3, 1.9), (1.75, 1.9)), "g"),
        Arrow("heads", "shift", label="s", label_at=0.75), Arrow("heads", "sharpen", ((3, 1.9), (3.6, 2.5)), "γ"),
        Arrow("heads", "erase", ((3.5, 0.8), (4.95, 0.8), (4.95, 5)), "e, a"),
        Arrow("content", "gate"), Arrow("gate", "shift"), Arrow("shift", "sharpen"), Arrow("sharpen", "erase"),
        Arrow("sharpen", "r"), Arrow("erase", "M", label="Mₜ"), Arrow("M", "content", ((0.5, 5),), "Mₜ₋₁"),
    ]  # fmt: skip
    return Diagram(model, "NTM: one step, with equations of Graves et al. 2014", boxes, arrows)


DIAGRAMS: dict[str, Callable[[], Diagram]] = {
    "rnnsearch": additive, "rnnsearch-unfolded": unfolded, "ram": glimpses, "ntm": memory
}  # fmt: skip


def draw(folder: Path, names: Sequence[str] = tuple(DIAGRAMS)) -> list[Path]:
    """Write diagrams as SVG, over older ones."""
    paths = []
    with TemporaryDirectory() as made:
        for name in names:
            diagram = DIAGRAMS[name]()
            if missing := diagram.missing():
                raise SystemExit(f"{name}: no box stands for {', '.join(missing)}")
            drawn = draw_picture(
                Path(made) / f"diagram-{name}", diagram.draw, diagram.title, "Diagram", diagram.story()
            )
            paths.append(folder / drawn[1].name)
            paths[-1].write_bytes(drawn[1].read_bytes())
    return paths


def _translator() -> rnnsearch.RNNSearch:
    return rnnsearch.RNNSearch(60, 40, rnnsearch.Options(hidden_dim=128, embedding_dim=64))


def _low(number: int) -> str:
    """A number as a subscript."""
    return "".join(chr(0x2080 + int(digit)) for digit in str(number))


if __name__ == "__main__":
    for path in draw(FOLDER):
        print(path)
