"""Generated parts of the pages of docs/reference.

Below each object stand links to pages and models that use it. `::: backends MODULE` becomes a table of the backends
that serve the classes of a module.
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from mkdocs.structure.pages import Page
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from saccade import biases, explain, masks, normalizers, reads, scores
from saccade.errors import ArgumentError
from saccade.tasks import TASKS, load_task

ROOT = Path(__file__).resolve().parents[1]
HEADS, LENGTH, FEATURES = 8, 2048, 64
WHOLE = ("saccade.scores", "saccade.normalizers", "saccade.biases", "saccade.reads", "saccade.errors")
"""Modules whose directive becomes one for each member."""
GENERAL = {"index.md", "glossary.md", "notes.md", "quickstart.md", "results.md"}  # pages that name nearly everything
PAGES = [path for path in sorted((ROOT / "docs").glob("*.md")) if path.name not in GENERAL]
MODELS = sorted((ROOT / "src/saccade/models").glob("[a-z]*.py"))
LINKS = 3  # links to pages, and to models
CAPTION = f"""`explain` names the backend that `auto` takes for {HEADS} heads of {LENGTH:,} queries and keys with
{FEATURES} features, float32 on a CPU and bfloat16 on CUDA. All other arguments are defaults. A backend in bold has
kernels for the call. `chunked` and `reference` are operations of torch. "–" means that only a GPU can answer.
[Backends](../backends-and-explain.md) has the reasons."""


class Example(NamedTuple):
    """Arguments of `attend` with a member of a table, made of tensors on one device."""

    argument: str
    make: Callable[[Callable[..., Tensor]], Any]
    more: Mapping[str, Any] = MappingProxyType({})


EXAMPLES: dict[str, Example] = {
    **{
        name: Example("score", lambda new, name=name: getattr(scores, name)())
        for name in ("Dot", "ScaledDot", "Cosine")
    },
    "General": Example("score", lambda new: scores.General(new(FEATURES, FEATURES))),
    "Additive": Example("score", lambda new: scores.Additive(new(FEATURES))),
    "Location": Example("score", lambda new: scores.Location(new(LENGTH, FEATURES))),
    "Gaussian": Example("score", lambda new: scores.Gaussian(1.0)),
    "Kernel": Example("score", lambda new: scores.Kernel("triangular", 1.0), {"normalizer": normalizers.Sum()}),
    **{
        name: Example("normalizer", lambda new, name=name: getattr(normalizers, name)())
        for name in ("Softmax", "Sparsemax", "Entmax", "Sigmoid", "Sum", "Identity")
    },
    "Causal": Example("mask", lambda new: masks.Causal()),
    "Window": Example("mask", lambda new: masks.Window(128, 0)),
    "Around": Example("mask", lambda new: masks.Around(new(LENGTH), 8.0)),
    "Intervals": Example("mask", lambda new: masks.Intervals(*(new(LENGTH, dtype=torch.int64) for _ in range(2)))),
    "Lengths": Example("mask", lambda new: masks.Lengths(new(1, 1, dtype=torch.int64))),
    "Documents": Example("mask", lambda new: masks.Documents(*(new(LENGTH, dtype=torch.int64) for _ in range(2)))),
    "Packed": Example("mask", lambda new: masks.Packed(torch.tensor([0, LENGTH // 2, LENGTH]))),
    "Prefix": Example("mask", lambda new: masks.Prefix(128)),
    "Where": Example("mask", lambda new: masks.Where(lambda i, j: (j - i) % 3 != 1)),
    "Alibi": Example("bias", lambda new: biases.Alibi(new(HEADS))),
    "RelativePosition": Example("bias", lambda new: biases.RelativePosition(new(HEADS, 65))),
    "GaussianWindow": Example("bias", lambda new: biases.GaussianWindow(new(LENGTH), 8.0)),
    "Position": Example("bias", lambda new: biases.Position(lambda i, j: -(i - j).abs() / 8.0)),
    **{name: Example("read", lambda new, name=name: getattr(reads, name)()) for name in ("Soft", "Sample", "Argmax")},
    "TopK": Example("read", lambda new: reads.TopK(4)),
}


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Write tables of backends, and links below each object."""
    if not page.file.src_uri.startswith("reference/"):
        return markdown
    return written(markdown)


def written(markdown: str) -> str:
    """A page of the reference with its generated parts."""
    markdown = re.sub(r"^::: backends (\S+)$", lambda line: backends(line[1]), markdown, flags=re.M)
    whole = "|".join(map(re.escape, WHOLE))
    markdown = re.sub(rf"^::: ({whole})$", lambda line: "\n".join(members(line[1])), markdown, flags=re.M)
    directive = re.compile(r"^::: (saccade\.\S+)\n(?: +\S.*\n)*", flags=re.M)
    return directive.sub(lambda lines: f"{lines[0]}\n{see_also(lines[1])}\n\n", markdown + "\n")


def members(module: str) -> Iterator[str]:
    """Directives of a module and of its classes and functions."""
    yield f"::: {module}\n    options:\n      members: false\n      show_root_heading: false"
    names = import_module(module).__all__
    yield from (f"\n::: {module}.{name}" for name in names if callable(getattr(import_module(module), name)))


def backends(module: str) -> str:
    """A table of the backends that "auto" takes for the classes of a module, on a CPU and on CUDA."""
    names = [name for name in import_module(module).__all__ if name in EXAMPLES]
    rows = [f"| `{name}` | {chosen(name, 'cpu')} | {chosen(name, 'cuda')} |" for name in names]
    return "\n".join([CAPTION, "", "| | CPU | CUDA |", "|---|---|---|", *rows])


def chosen(name: str, device: str) -> str:
    """The backend that "auto" takes for an example, bold if it has kernels for the call."""
    dtype = torch.float32 if device == "cpu" else torch.bfloat16

    def new(*shape: int, dtype: torch.dtype = dtype) -> Tensor:
        return torch.ones(shape, dtype=dtype, device=device)

    with contextlib.nullcontext() if device == "cpu" else FakeTensorMode():
        x, example = new(1, HEADS, LENGTH, FEATURES), EXAMPLES[name]
        try:
            backend = explain(x, x, x, **{example.argument: example.make(new)}, **example.more).backend
        except (ArgumentError, RuntimeError):  # its tensors or its function cannot be fake
            return "–"
    return f"`{backend}`" if backend in ("reference", "chunked") else f"**`{backend}`**"


def see_also(name: str) -> str:
    """Links to the pages and models that use an object most often, or the command that trains a model."""
    if name in WHOLE:
        return ""
    package, _, last = name.rpartition(".")
    if package == "saccade.models":
        links = jobs(name)
    else:
        in_pages = rf"\b{last}\(" if package == "saccade" else rf"(?<!torch\.)\b{package.split('.')[-1]}\.{last}\b"
        links = [f"[{title(path)}](../{path.name})" for path in most(in_pages, PAGES)]
        models = most(rf"\b{package.split('.')[-1]}\.{last}\b|^from {package} import .*\b{last}\b", MODELS)
        links += [f"[`models.{path.stem}`](models.md#saccade.models.{path.stem})" for path in models]
    return f"See also: {' · '.join(links)}." if links else ""


def most(pattern: str, files: list[Path]) -> list[Path]:
    """The files in which a pattern occurs most often."""
    counts = {path: len(re.findall(pattern, path.read_text(encoding="utf-8"), re.M)) for path in files}
    return sorted((path for path in files if counts[path]), key=lambda path: -counts[path])[:LINKS]


def jobs(name: str) -> list[str]:
    """The commands that train the models of a module."""
    return [
        f"[`saccade train {task} --model {model}`](cli/{task}.md)"
        for task in TASKS
        for model, where in load_task(task).models.items()
        if where.partition(":")[0] == name
    ]


def title(path: Path) -> str:
    """The title of a page."""
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ").partition(":")[0]
