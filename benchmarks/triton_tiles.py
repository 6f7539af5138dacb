"""Sizes of the Triton kernels' tiles, each beside the others, on a GPU.

    python benchmarks/triton_tiles.py [--output FILE] [--compile]

Additive scores and their gradients, kernels of rows, and an additive decoder step are timed with other tiles and other
numbers of warps than the package's, by the device's own clock; the fastest says what the package should take. With
`--compile` each is called once and nothing is timed, so that several processes at once (`--part I/N`) fill Triton's
cache.
"""

import argparse
import json
import math
import statistics
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import torch

from saccade.backends.triton import additive, launch, rows
from saccade.scores import by_key, exponentials
from saccade.train.environment import hardware, versions

Run = Callable[[], object]
SIZE = 256
KINDS = "softmax", "sparsemax", "entmax 1.5", "entropy", "top 4", "draw"

SCORES = (16, 64, 4), (16, 128, 4), (32, 32, 4), (32, 64, 4), (8, 256, 4), (16, 256, 4), (16, 256, 8), (32, 256, 8)
STEPS = (32, 1), (64, 2), (128, 4), (256, 4), (256, 8)
GRADIENTS = (
    *((16, 64, 32, 4), (16, 64, 16, 8), (8, 64, 32, 4), (8, 64, 16, 4), (16, 128, 32, 4), (16, 128, 16, 4)),
    *((8, 128, 32, 4), (16, 256, 16, 8), (8, 256, 32, 4), (32, 128, 16, 8), (4, 256, 16, 4)),
)
SHAPES = (4, 256, 4), (4, 1024, 4), (1, 256, 1), (1, 512, 1), (1, 1024, 1), (1, 1024, 4), (1, 2048, 4)
"""The tiles that are tried, each with its number of warps last."""


class Variant(NamedTuple):
    """What is timed under which constants.

    Args:
        subject: what is computed, and of which shape.
        settings: constants of the modules, by name, and `num_warps`.
        work: terms, or numbers of rows, of one call.
    """

    subject: str
    settings: dict[str, int]
    work: int
    prepare: Callable[[], Run]


def scores_of(batch: int, length: int, width: int, size: int) -> Callable[[], Run]:
    """Additive scores alone."""

    def prepare() -> Run:
        query, key = (torch.randn(batch, many, size, device="cuda") for many in (length, width))
        v = torch.randn(size, device="cuda") / size**0.5
        powers = by_key(exponentials(key))
        return lambda: additive.additive_scores(query, key, v, powers, None)

    return prepare


def gradients_of(batch: int, length: int, size: int) -> Callable[[], Run]:
    """The gradients of additive scores alone."""

    def prepare() -> Run:
        query, key = (torch.randn(batch, length, size, device="cuda", requires_grad=True) for _ in range(2))
        v = (torch.randn(size, device="cuda") / size**0.5).requires_grad_()
        found = additive.additive_scores(query, key, v, by_key(exponentials(key.detach())), None)
        upstream = torch.randn_like(found)
        return lambda: torch.autograd.grad(found, (query, key, v), upstream, retain_graph=True)

    return prepare


def rows_of(kind: str, many: int, width: int) -> Callable[[], Run]:
    """A kernel of rows alone."""

    def prepare() -> Run:
        scores = torch.randn(1, many, width, device="cuda")
        weights, uniform = torch.softmax(scores, -1), torch.rand(1, many, device="cuda")
        return {
            "softmax": lambda: rows.softmax(scores, None),
            "sparsemax": lambda: rows.entmax(scores, None, 2.0),
            "entmax 1.5": lambda: rows.entmax(scores, None, 1.5),
            "entropy": lambda: rows.entropy(weights),
            "top 4": lambda: rows.largest(weights, 4, None),
            "draw": lambda: rows.draw(weights, uniform),
        }[kind]

    return prepare


def variants() -> Iterator[Variant]:
    """All that is timed; the package's own constants are among them."""
    for shape, tile in product(((8, 256, 256), (1, 4096, 4096)), SCORES):
        settings = dict(zip(("WIDE_ROWS", "WIDE_KEYS", "num_warps"), tile, strict=True))
        yield Variant(f"additive scores {shape}", settings, math.prod(shape) * SIZE, scores_of(*shape, SIZE))
    for tile in STEPS:
        settings = dict(zip(("ITS_KEYS", "num_warps"), tile, strict=True))
        yield Variant("additive step (64, 1, 4096)", settings, 64 * 4096 * 512, scores_of(64, 1, 4096, 512))
    for (many, length), tile in product(((8, 256), (1, 2048)), GRADIENTS):
        settings = dict(zip(("GRADIENT_ROWS", "FEATURES", "CHUNK", "num_warps"), tile, strict=True))
        work = many * length**2 * SIZE
        yield Variant(f"additive gradients {many, length}", settings, work, gradients_of(many, length, SIZE))
    for kind, (many, width), shape in product(KINDS, ((65536, 256), (8192, 4096)), SHAPES):
        settings = dict(zip(("rows", "block", "warps"), shape, strict=True))
        yield Variant(f"{kind} {many, width}", settings, many * width, rows_of(kind, many, width))


def under(settings: dict[str, int]) -> ExitStack:
    """A context in which the modules have these constants."""
    stack = ExitStack()
    for name, value in settings.items():
        if name == "num_warps":
            stack.enter_context(patch.object(additive, "launch", _with_warps(additive.launch, value)))
        elif name.isupper():
            stack.enter_context(patch.object(additive, name, value))
    if "block" in settings:
        for name in ("SHORT", "LONG"):
            stack.enter_context(patch.object(launch, name, launch.Shape(**settings)))
    return stack


def _with_warps(begin: Callable[..., None], warps: int) -> Callable[..., None]:
    def started(*arguments: Any, **constants: Any) -> None:
        begin(*arguments, **constants, num_warps=warps)

    return started


def seconds(run: Run, stream: torch.cuda.Stream, rounds: int = 15) -> float:
    """The median time of a call by the device's clock, of a graph that is recorded once and then repeated."""
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        run()
    taken = []
    for _ in range(rounds):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        taken.append(begin.elapsed_time(end) * 1e-3)
    return statistics.median(taken)


def main() -> None:
    """Times all variants, or compiles a part of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", help="write what was measured as JSON to this new file")
    parser.add_argument("--compile", action="store_true", help="call each once, and time nothing")
    parser.add_argument("--part", default="0/1", help="of N processes, what the I-th is to do")
    given = parser.parse_args()
    place, parts = map(int, given.part.split("/"))
    stream, found = torch.cuda.Stream(), []
    for variant in list(variants())[place::parts]:
        row: dict[str, Any] = {"subject": variant.subject, **variant.settings}
        try:
            with under(variant.settings), torch.cuda.stream(stream):
                run = variant.prepare()
                run()
                if not given.compile:
                    row["seconds"] = seconds(run, stream)
                    row["a second"] = variant.work / row["seconds"]
        except Exception as error:  # noqa: BLE001 - a tile that no device holds is told, and the next one is tried
            row["failed"] = f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"
        if not given.compile or "failed" in row:
            print(row, flush=True)
        found.append(row)
    if given.output:
        place_of = hardware(torch.device("cuda"))
        record = {"command": "python benchmarks/triton_tiles.py", "hardware": place_of, "versions": versions()}
        Path(given.output).write_text(json.dumps({**record, "rows": found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
