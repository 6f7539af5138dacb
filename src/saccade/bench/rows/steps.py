"""Steps of decoders and streams: what one costs must not grow with what has been seen."""

from collections.abc import Callable

import torch
from torch import Tensor

from saccade import remember
from saccade.bench.row import Place, Prepare, Row, Run, Work
from saccade.bench.rows.additive import FORWARD_COST
from saccade.bench.targets import at_most
from saccade.masks import Around, Window
from saccade.memory import Memory
from saccade.scores import Additive, ScaledDot, Score

__all__ = ["rows"]

_LONG, _SHORT, _RADIUS, _DIM = 100_000, 1_000, 64, 256
_KEPT, _PIECE = 256, 100
_KEYS = 2 * _RADIUS + 1


def rows(place: Place) -> list[Row]:
    """Return the rows of steps: many keys beside few, of which the same number may be attended to."""
    found: list[Row] = []
    for kind in ("dot", "additive"):
        found.append(_row(place, f"{kind}, decoder step, {_KEYS} keys around", kind, _around, _LONG))
        found.append(_row(place, f"{kind}, streamed step, {_KEPT} keys kept", kind, _streamed, _LONG))
    return found


def _row(place: Place, family: str, kind: str, prepare: Callable[[str, int, str], Prepare], length: int) -> Row:
    keys = _KEYS if prepare is _around else _KEPT
    terms, read = Work(float(keys * _DIM), "terms", "multiply", FORWARD_COST), Work(8.0 * keys * _DIM, "B", "copy")
    return Row(
        subject="masks",
        family=family,
        shape=f"1x{length}x{_DIM}",
        size=length,
        peer=f"of {_SHORT} keys",
        inputs=lambda place: tuple(place.normal(1, length if prepare is _around else _SHORT, _DIM) for _ in range(2)),
        ours=prepare(kind, length, place.backend),
        theirs=prepare(kind, _SHORT, place.backend),
        work=terms if kind == "additive" else read,
        targets=(at_most(1.5),),
        same=False,
    )


def _score(kind: str, like: Tensor) -> Score:
    v = torch.linspace(-1, 1, _DIM, device=like.device) / _DIM**0.5
    return Additive(v) if kind == "additive" else ScaledDot()


def _around(kind: str, length: int, backend: str) -> Prepare:
    """A read of the keys near the middle of a memory."""

    def prepare(key: Tensor, value: Tensor) -> Run:
        memory = remember(*(part[:, :length].contiguous() for part in (key, value)), score=_score(kind, key))
        query, mask = key[:, :1], Around(torch.full((1, 1), length / 2, device=key.device), _RADIUS)
        return lambda: memory.read(query, mask=mask, backend=backend)

    return prepare


def _streamed(kind: str, length: int, backend: str) -> Prepare:
    """A write and a read, when `length` keys have been written; each call is the next step."""

    def prepare(key: Tensor, value: Tensor) -> Run:
        none = torch.arange(0, device=key.device)
        start = remember(key[:, :0], value[:, :0], score=_score(kind, key), positions=none, capacity=_KEPT)
        seen, query, mask = [0], key[:, :1], Window(_KEPT - 1, 0, align="end")
        held: list[Memory] = [start]

        def write(count: int) -> None:
            part, at = slice(0, count), torch.arange(seen[0], seen[0] + count, device=key.device)
            with torch.no_grad():
                held[0] = held[0].write(at, key[:, part], value[:, part])
            seen[0] += count

        while seen[0] < length:
            write(_PIECE)

        def run() -> Tensor:
            write(1)
            found: Tensor = held[0].read(query, mask=mask, backend=backend)
            return found

        return run

    return prepare
