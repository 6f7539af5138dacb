"""Masks that leave most pairs out, and steps of decoders with a constant cost."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as sdpa

from saccade import attend, remember
from saccade._definitions.structure import Grid
from saccade.bench.formulas import PASSES, WAYS, Function, attention, attention_row, flex, joined, normal, work_of
from saccade.bench.row import Prepare, Row, Run, Setup, Target, Work, at_most, close_behind, times, within
from saccade.masks import Around, Causal, Documents, Lengths, Mask, Prefix, Window
from saccade.memory import Memory

_HEADS, _DIM, _DOCUMENT = 8, 64, 512
_SHORT, _LENGTH, _LONG, _MILLION = 4096, 8192, 1 << 17, 1 << 20
_DENSE = "torch, the mask laid out"
_WAYS = ("dot", "additive", "cosine", "sparsemax", "entmax 1.5", "draws", "entropy", "top 4")


class _Case(NamedTuple):
    """A call under a mask, its allowed pairs, and targets forward and in training."""

    way: str
    name: str
    mask: Mask | None  # None: documents of 512 keys
    pairs: int
    length: int
    targets: tuple[Target, ...] = ()


def _window(way: str, name: str, left: int, right: int, length: int, *targets: Target) -> _Case:
    return _Case(way, name, Window(left, right), length * (left + right + 1), length, targets)


def rows(setup: Setup) -> list[Row]:
    """Return the rows of masks: pairs that they forbid ought to cost nothing."""
    triangle, part = _LENGTH * (_LENGTH + 1) // 2, _LONG // 8
    narrow = _window("dot", "window 128", 128, 0, _LENGTH, times(15), times(10))
    wide = _window("dot", "window 512 + 512", 512, 512, _LENGTH, times(4), times(3))
    causal = _Case("dot", "causal", Causal(), triangle, _LENGTH, (close_behind(),) * 2)
    card = setup.device.type == "cuda"
    apart = _Case("dot", "16 documents", None, _LENGTH * _DOCUMENT, _LENGTH, (at_most(1.3 if card else 1.2),) * 2)
    alone = _window("additive", "window 128", 128, 0, _LENGTH, *map(times, (15, 10) if card else (25, 20)))
    masked = (
        alone,
        _Case("additive", "causal", Causal(), triangle, _LENGTH, (times(1.7), times(1.7))),
        *(case for way in _WAYS if way != "dot" for case in _ideal(way)),
    )
    growth = _window("dot", "window 128, growth", 128, 0, _LONG, at_most(1.1), at_most(1.1))
    blocks = Setup(setup.device, "chunked")
    short = [_window(way, "window 128, one pass", 128, 0, _SHORT) for way in _WAYS]
    table: list[tuple[_Case, str, Function, bool]] = [
        (narrow, _DENSE, _dense(narrow), True),
        (wide, _DENSE, _dense(wide), True),
        (causal, "torch", lambda query, key, value, v: sdpa(query, key, value, is_causal=True), True),
        (apart, "torch, a batch of 16", _batch, True),
        *((case, "without a mask", attention(setup, WAYS[case.way]), False) for case in masked),
        (growth, f"8 calls of {part}", _parts(setup, growth, part), False),
        *((case, "backend chunked", attention(blocks, partial(_options, case)), case.way != "draws") for case in short),
    ]
    made = [
        _row(
            *(setup, case, peer, theirs, step),
            same=same,
            quick=case is narrow and step == "forward",
            half=case in (narrow, apart, alone),
        )
        for step in PASSES
        for case, peer, theirs, same in table
    ]
    return [*made, _memory(setup), *_ragged(setup), *(_gpu(setup) if card else []), *_steps(setup)]


def _ideal(way: str) -> list[_Case]:
    """A call under three masks, at up to twice the price of its allowed pairs alone."""
    kinds: tuple[tuple[str, Mask | None, int], ...] = (
        ("window 128", Window(128, 0), _SHORT * 129),
        ("causal", Causal(), _SHORT * (_SHORT + 1) // 2),
        ("8 documents", None, _SHORT * _DOCUMENT),
    )
    return [
        _Case(way, f"{name}, ideal", mask, pairs, _SHORT, (times(round(_SHORT**2 / (2 * pairs), 1)),) * 2)
        for name, mask, pairs in kinds
    ]


def _gpu(setup: Setup) -> list[Row]:
    """Kernels that skip blocks, each beside torch's with a dense mask."""
    made = list[Row]()
    for backend in ("flex", "triton", "chunked"):
        for length in (512, 2048, 8192):
            for name, mask, pairs in (
                ("window 128", Window(128, 0), length * 129),
                ("half a window", Window(length // 2, 0), length * length // 2),
                ("three quarters of prefix", Prefix(3 * length // 4), length * length * 7 // 8),
            ):
                case = _Case("dot", f"{name}, by {backend}", mask, pairs, length)
                made += [_row(Setup(setup.device, backend), case, _DENSE, _dense(case), step) for step in PASSES]
    narrow = _window("dot", "window 128", 128, 0, _LENGTH, times(0.9), times(0.9))
    blocks = [_row(setup, narrow, "flex_attention", _dense(narrow), step, half=True) for step in PASSES]
    return made + [
        replace(row, theirs=partial(flex, PASSES[step], _near)) for row, step in zip(blocks, PASSES, strict=True)
    ]


def _near(b: Tensor, h: Tensor, query: Tensor, key: Tensor) -> Tensor:
    """Pairs of the window of 128, as flex_attention takes them."""
    return (query >= key) & (query - key <= 128)


def _memory(setup: Setup) -> Row:
    """Memory of training with a million keys beyond the inputs."""
    case = _window("dot", "window 256, memory of training", 256, 0, _MILLION, within(3 * 1024))
    return attention_row(
        *(setup, f"dot, {case.name}", (1, 1, _MILLION, _MILLION, _DIM), "forward+backward", partial(_options, case)),
        peer=_DENSE,
        theirs=PASSES["forward+backward"](_dense(case)),
        targets=case.targets,
        memory=True,
        warm=normal((1, 1, 4096, 4096, _DIM), True),
        peer_bytes=_MILLION**2,
        same=False,
    )


def _ragged(setup: Setup) -> list[Row]:
    """Nested tensors of 16 lengths, beside a padded batch and torch's kernel."""
    lengths = [_DOCUMENT * count // 16 for count in range(1, 17)]
    total, terms = sum(lengths), _HEADS * _DIM * sum(length**2 for length in lengths)
    ours, padded = _nested(lengths, partial(attend, backend=setup.backend)), "a padded batch and its lengths"
    peers = [(padded, step, _padded(lengths, setup.backend, step), times(1.5)) for step in PASSES]
    peers.append(("torch, nested tensors", "forward", PASSES["forward"](_nested(lengths, sdpa)), times(2)))
    return [
        attention_row(
            *(setup, f"dot, 16 ragged sequences {step}", (total, _HEADS, _HEADS, _DIM), step, lambda v: {}),
            ours=PASSES[step](ours),
            peer=peer,
            theirs=theirs,
            work=work_of("dot", terms, step),
            targets=(target,),
        )
        for peer, step, theirs, target in peers
    ]


def _nested(lengths: list[int], function: Function) -> Function:
    def run(query: Tensor, key: Tensor, value: Tensor, v: Tensor) -> Tensor:
        offsets = torch.tensor([0, *lengths], device=query.device).cumsum(0)
        made = (torch.nested.nested_tensor_from_jagged(row, offsets).transpose(1, 2) for row in (query, key, value))
        output: Any = function(*made).transpose(1, 2)
        rows: Tensor = output.values()
        return rows

    return run


def _padded(lengths: list[int], backend: str, step: str) -> Prepare:
    """A batch of sequences up to the longest, padded before the measurement."""

    def prepare(query: Tensor, key: Tensor, value: Tensor, v: Tensor) -> Run:
        of_keys = torch.tensor(lengths, device=query.device)[:, None]
        filled = torch.arange(max(lengths), device=query.device) < of_keys

        def padded(row: Tensor) -> Tensor:
            batch = row.new_zeros(*filled.shape, *row.shape[1:])
            batch[filled] = row.detach()
            return batch.transpose(1, 2).contiguous().requires_grad_(row.requires_grad)

        def unpadded(batch: Tensor) -> Tensor:
            return batch.transpose(1, 2)[filled]

        def function(*batch: Tensor) -> Tensor:
            return unpadded(attend(*batch, mask=Lengths(of_keys), backend=backend))

        run = PASSES[step](function)(*map(padded, (query, key, value)))
        return run if step == "forward" else lambda: tuple(map(unpadded, run()))

    return prepare


def _row(setup: Setup, case: _Case, peer: str, theirs: Function, step: str, **more: Any) -> Row:
    terms = _HEADS * case.pairs * _DIM
    # of draws one value is read of a row, and no gradient of it reaches the scores
    work = Work(2.0 * terms, "FLOP", "multiply") if case.way == "draws" else work_of(case.way, terms, step)
    sizes = (1, _HEADS, case.length, case.length, _DIM)
    return attention_row(
        *(setup, f"{case.way}, {case.name} {step}", sizes, step, partial(_options, case)),
        peer=peer,
        theirs=PASSES[step](theirs),
        work=work,
        targets=case.targets[step != "forward" :][:1],
        **more,
    )


def _options(case: _Case, v: Tensor) -> dict[str, Any]:
    return {**WAYS[case.way](v), "mask": case.mask or _documents(case.length, v.device)}


def _documents(length: int, device: torch.device) -> Documents:
    ids = torch.arange(length, device=device) // _DOCUMENT
    return Documents(ids, ids)


def _dense(case: _Case) -> Function:
    """torch's kernel, with a mask made in the first call, before the measurement."""

    @cache
    def laid_out(length: int, device: torch.device) -> Tensor:
        assert case.mask is not None
        return case.mask.dense(Grid(length, length, 0, length, device))

    def run(query: Tensor, key: Tensor, value: Tensor, v: Tensor) -> Tensor:
        return sdpa(query, key, value, laid_out(query.shape[-2], query.device))

    return run


def _batch(query: Tensor, key: Tensor, value: Tensor, v: Tensor) -> Tensor:
    """torch's kernel, with a batch of documents."""
    apart = [part.unflatten(-2, (-1, _DOCUMENT)).movedim(-3, 0).flatten(0, 1) for part in (query, key, value)]
    output: Tensor = sdpa(*apart).unflatten(0, (-1, 1)).movedim(0, -3).flatten(-3, -2)
    return output


def _parts(setup: Setup, case: _Case, length: int) -> Function:
    call = attention(setup, partial(_options, case))

    def run(query: Tensor, key: Tensor, value: Tensor, v: Tensor) -> Tensor:
        parts = zip(*(tensor.split(length, -2) for tensor in (query, key, value)), strict=True)
        return torch.cat([call(*part, v) for part in parts], -2)

    return run


_RADIUS, _KEPT, _PIECE, _MANY, _FEW, _WIDE = 64, 256, 100, 100_000, 1_000, 256


def _steps(setup: Setup) -> list[Row]:
    """Steps of decoders: many keys beside few, with equally many allowed."""
    around = 2 * _RADIUS + 1
    kinds: tuple[tuple[str, int, int, Callable[..., Run]], ...] = (
        (f"decoder step, {around} keys around", around, _MANY, _around),
        (f"streamed step, {_KEPT} keys kept", _KEPT, _FEW, _streamed),
    )

    def inputs(length: int, setup: Setup) -> tuple[Tensor, ...]:
        return *(setup.normal(1, length, _WIDE) for _ in range(2)), setup.normal(_WIDE, scale=_WIDE**-0.5)

    return [
        Row(
            family=f"{score}, {name}",
            shape=joined((1, _MANY, _WIDE)),
            peer=f"of {_FEW} keys",
            inputs=partial(inputs, length),
            ours=partial(read, setup, score, _MANY),
            theirs=partial(read, setup, score, _FEW),
            work=work_of(score, keys * _WIDE) if score == "additive" else Work(8.0 * keys * _WIDE, "B", "copy"),
            targets=(at_most(1.5),),
            same=False,
        )
        for score in ("dot", "additive")
        for name, keys, length, read in kinds
    ]


def _around(setup: Setup, score: str, length: int, key: Tensor, value: Tensor, v: Tensor) -> Run:
    """A read of the keys near the middle of a memory."""
    memory = remember(*(part[:, :length].contiguous() for part in (key, value)), **WAYS[score](v))
    query, mask = key[:, :1], Around(torch.full((1, 1), length / 2, device=key.device), _RADIUS)
    return lambda: memory.read(query, mask=mask, backend=setup.backend)


def _streamed(setup: Setup, score: str, length: int, key: Tensor, value: Tensor, v: Tensor) -> Run:
    """A write and a read after `length` written keys; each call is the next step."""
    none = torch.arange(0, device=key.device)
    memory = remember(key[:, :0], value[:, :0], **WAYS[score](v), positions=none, capacity=_KEPT)
    query, mask, written = key[:, :1], Window(_KEPT - 1, 0, align="end"), 0

    @torch.no_grad()
    def write(count: int) -> Memory:
        nonlocal memory, written
        positions = torch.arange(written, written + count, device=key.device)
        memory = memory.write(positions, key[:, :count], value[:, :count])
        written += count
        return memory

    while written < length:
        write(_PIECE)
    return lambda: write(1).read(query, mask=mask, backend=setup.backend)
