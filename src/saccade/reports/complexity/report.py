"""The report `complexity`: how time and memory of a recurrent, a convolution and a self-attention layer grow."""

import os
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import torch

from saccade.bench.measure import medians, turns, waiting
from saccade.bench.row import Absent
from saccade.errors import ArgumentError
from saccade.reports import Made
from saccade.reports.commands import command
from saccade.reports.complexity.findings import summary
from saccade.reports.complexity.layers import LAYERS, PASSES, Point, bytes_of, prepared
from saccade.reports.complexity.page import write_page
from saccade.reports.folder import Folder
from saccade.reports.growth import median_error
from saccade.reports.making import Design, Step, finish
from saccade.reports.options import Shared, arguments
from saccade.train.environment import choose_device, hardware, versions
from saccade.train.options import flag, not_positive

__all__ = ["Complexity", "Options"]


@dataclass(frozen=True)
class Sizes:
    """What is measured, and for how long.

    Args:
        lengths: positions, in order.
        width: features.
        batch: sequences.
        heads: of self-attention.
        seconds: of the turns at one length.
    """

    lengths: tuple[int, ...] = (64, 128, 256, 512, 1024, 1448, 2048, 2896, 4096)
    width: int = 256
    batch: int = 4
    heads: int = 4
    seconds: float = 10.0


_QUICK = Sizes((128, 256, 512, 724, 1024, 1448, 2048), width=64, seconds=5.0)
_NAMES = tuple(field.name for field in fields(Sizes))
_FEWEST = 3  # lengths, of which an exponent and its error can be said; and rounds, for a median and its error
_LONGEST = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Options(Shared):
    """What can be said about the report.

    >>> Options(width=64).width
    64
    """

    lengths: tuple[int, ...] | None = None
    """Positions, three lengths or more: 64 128 ... 4096 if not given, twice as dense from
    1024 on; 128 ... 2048 with --quick."""

    width: int | None = None
    """Features of every layer's input and output: 256 if not given, 64 with --quick."""

    batch: int | None = None
    """Sequences that are read at once: 4 if not given."""

    heads: int | None = None
    """Heads of self-attention, a divisor of the width: 4 if not given."""

    seconds: float | None = None
    """How long the layers take turns at each length: 10 if not given, 5 with --quick; slow ones take three rounds."""

    threads: int | None = None
    """Threads of a CPU; as torch has it if not given."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        super().__post_init__()
        for name in ("width", "batch", "heads", "seconds"):
            if wrong := not_positive(getattr(self, name)):
                raise ArgumentError(f"{flag(name)}: {wrong}")
        if self.lengths is not None and (
            len({*self.lengths}) < _FEWEST or not all(0 < n <= _LONGEST for n in self.lengths)
        ):
            got = " ".join(map(str, self.lengths))
            raise ArgumentError(f"--lengths: expected {_FEWEST} or more, from 1 to {_LONGEST}, got {got}")
        most = os.cpu_count() or 1
        if self.threads is not None and not 0 < self.threads <= most:
            raise ArgumentError(f"--threads: expected a number from 1 to {most}, got {self.threads}")
        if self.quick and any(getattr(self, name) is not None for name in _NAMES):
            raise ArgumentError(f"--quick: expected none of {', '.join(map(flag, _NAMES))} beside it, got some")


class Complexity:
    """A self-attention layer takes time in n² d, where a recurrent one takes n d² and a convolution k n d².

    At each length the layers take turns in one process, and the median of each one's times counts. Memory is measured
    in a fresh process each.

    Source:
        Vaswani et al. 2017, section 4 and table 1 (https://arxiv.org/abs/1706.03762).
    """

    sentence: ClassVar[str] = "time and memory of a layer against length (Vaswani et al. 2017, table 1)"
    Options: TypeAlias = Options

    @classmethod
    def make(cls, options: Options) -> Made:
        """Measure every layer at every length, forward and with the backward pass, and write the page."""
        typed = command("saccade report complexity", options, Options())
        sizes, device = _sizes(options), choose_device(options.device)
        torch.set_num_threads(options.threads or torch.get_num_threads())
        threads = torch.get_num_threads()
        path = Path(options.output or f"reports/complexity{'-quick' if options.quick else ''}")
        decided = {**arguments(options), **asdict(sizes), "lengths": list(sizes.lengths)}
        decided |= {"device": str(device), "threads": threads}
        folder = Folder.open(path, "complexity", decided, typed, resume=options.resume)
        with folder.locked():
            for name, found in (("hardware", hardware(device)), ("versions", versions())):
                folder.content.setdefault(name, found)
            steps = [
                _step(Point(way, length, sizes.width, sizes.batch, sizes.heads, str(device), threads), sizes.seconds)
                for length in sizes.lengths
                for way in PASSES
            ]
            return finish(folder, Design("complexity", write_page, summary), steps)


def _sizes(options: Options) -> Sizes:
    """What the options say, and the rest as it usually is."""
    given = {name: value for name in _NAMES if (value := getattr(options, name)) is not None}
    sizes = replace(_QUICK if options.quick else Sizes(), **given)
    if sizes.width % sizes.heads:
        raise ArgumentError(f"--heads: expected a divisor of --width = {sizes.width}, got {sizes.heads}")
    return replace(sizes, lengths=tuple(sorted({*sizes.lengths})))


def _step(point: Point, seconds: float) -> Step:
    row = {"pass": point.way, "length": point.length}
    return Step(f"{point.way}, length {point.length}", [row], partial(_measure, point, seconds))


def _measure(point: Point, seconds: float, folder: Folder) -> bool:
    """Measure all layers at one point, in turns, and each one's memory; a row of the report."""
    runs = [prepared(name, point) for name in LAYERS]
    for run in runs:
        run()  # the first call makes what later ones have
    rounds = turns(runs, seconds=seconds, least=_FEWEST, wait=waiting(torch.device(point.device)))
    found = {
        name: {"seconds": middle, "error": median_error(taken), **_memory(name, point)}
        for name, middle, taken in zip(LAYERS, medians(rounds), zip(*rounds, strict=True), strict=True)
    }
    row = {"pass": point.way, "length": point.length, "rounds": len(rounds), "layers": found}
    folder.content["rows"].append(row)
    folder.commit()
    return True


def _memory(name: str, point: Point) -> dict[str, Any]:
    try:
        return {"bytes": bytes_of(name, point)}
    except Absent as error:
        return {"bytes": None, "absent": str(error)}
