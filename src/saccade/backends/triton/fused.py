"""Attention in one launch each way, for scores, normalizers and masks of the library: `kernels.fused`."""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade.backends.triton.additive import side
from saccade.backends.triton.launch import launch

ROWS, KEYS = 64, 64
LISTED_AT_ONCE = 64


class Allowed(NamedTuple):
    """A mask as the kernels read it.

    Args:
        starts, ends: int32 `(U, Nm, Lq)`: each query's intervals of keys; None: all keys.
        q_ids, k_ids: int32 `(Nm, Lq)` and `(Nm, Lk)`: documents; None: no documents.
        pairs: bytes that expand to `(Nm, Lq, Lk)`, or None.
    """

    entries: int
    starts: Tensor | None = None
    ends: Tensor | None = None
    q_ids: Tensor | None = None
    k_ids: Tensor | None = None
    pairs: Tensor | None = None

    @property
    def constants(self) -> dict[str, Any]:
        intervals = 0 if self.starts is None else len(self.starts)
        return {"INTERVALS": intervals, "IDS": self.q_ids is not None, "BYTES": self.pairs is not None}

    def arguments(self, stand_in: Tensor) -> tuple[Any, ...]:
        tensors = [stand_in if part is None else part for part in self[1:]]
        strides = (0, 0, 0) if self.pairs is None else self.pairs.stride()
        return (*tensors, *strides, self.entries)


class Lists(NamedTuple):
    """Blocks that a mask leaves: `order` `(Nm, rows, across)`, `counts` `(Nm, rows)`."""

    order: Tensor
    counts: Tensor


def lists(mask: Allowed, q_len: int, k_len: int, device: torch.device, *, by_key: bool = False) -> Lists:
    """The blocks of keys of each block of queries, or the blocks of queries of each block of keys."""
    from saccade.backends.triton.kernels import tiles

    q_blocks, k_blocks, entries = -(-q_len // ROWS), -(-k_len // KEYS), mask.entries
    constants = mask.constants
    intervals, ids = constants["INTERVALS"], constants["IDS"]
    of_queries = torch.empty((4 * intervals + 2 * ids, entries, q_blocks), dtype=torch.int32, device=device)
    of_keys = torch.empty((2 * ids, entries, k_blocks), dtype=torch.int32, device=device)
    spare = of_queries
    starts, ends, q_ids, k_ids, pairs = (spare if part is None else part for part in mask[1:])
    sides = [(starts, ends, q_ids, of_queries, q_len, k_len, q_blocks, intervals, ROWS)]
    if ids:
        sides.append((starts, ends, k_ids, of_keys, k_len, q_len, k_blocks, 0, KEYS))
    for first, end, names, out, length, other, blocks, of, size in sides:
        if of or ids:
            arguments = first, end, names, out, length, other, blocks, entries
            launch(tiles.summarize, entries * blocks, *arguments, INTERVALS=of, IDS=ids, M=size)
    codes = torch.empty((entries, q_blocks, k_blocks) if mask.pairs is not None else 0, dtype=torch.uint8, device=device)
    if mask.pairs is not None:
        arguments = pairs, *mask.pairs.stride(), codes, q_len, k_len, q_blocks, k_blocks
        launch(tiles.summarize_pairs, codes.numel(), *arguments, M=ROWS, N=KEYS)
    rows, across = (k_blocks, q_blocks) if by_key else (q_blocks, k_blocks)
    order = torch.empty((entries, rows, across), dtype=torch.int32, device=device)
    counts = torch.empty((entries, rows), dtype=torch.int32, device=device)
    arguments = of_queries, of_keys, codes, order, counts, q_blocks, k_blocks, entries, k_len
    launch(tiles.list_blocks, counts.numel(), *arguments, **constants, BY_KEY=by_key, N=KEYS, B=LISTED_AT_ONCE)
    return Lists(order, counts)


class Setup(NamedTuple):
    """A call as the kernels take it: tensors of entries, and constants."""

    query: Tensor  # (Nq, Lq, D)
    key: Tensor
    value: Tensor
    owners: Tensor  # int32 (5, N)
    mask: Allowed | None
    score: int = 0
    normalizer: int = 0
    scale: float = 1.0
    softcap: float | None = None
    v: Tensor | None = None
    bias: Tensor | None = None  # slopes (·,), tables (·, 2R + 1), or (·, Lq, Lk)
    bias_kind: int = 0
    factors: Tensor | None = None
    sinks: Tensor | None = None
    eps: float = 0.0
    alpha: float = 1.0
    align: int = 0
    bias_learns: bool = False

    @property
    def kind(self) -> int:
        return {2.0: 1, 1.5: 2}.get(self.alpha, 0)


def forward(setup: Setup, *, entropy: bool = False, top: int = 0) -> dict[str, Tensor]:
    """Output and statistics; `norms` is lse, or each row's 1 / (eps + Σ s)."""
    from saccade.backends.triton.kernels import fused

    query, value, owners = setup.query, setup.value, setup.owners
    count, (q_len, _), (k_len, width) = owners.shape[1], query.shape[1:], value.shape[1:]
    out = query.new_empty(count, q_len, width, dtype=value.dtype)
    norms, wholes, entropies = (query.new_empty(count, q_len, dtype=torch.float32) for _ in range(3))
    size = triton_size(top) if top else 0
    top_scores, top_indices = (query.new_empty(count, q_len, size, dtype=of) for of in (torch.float32, torch.int32))
    sinks = query if setup.sinks is None else setup.sinks
    inputs, sizes, constants = _arguments(setup)
    results = sinks, out, norms, wholes, entropies, top_scores, top_indices
    launch(
        fused.forward, count * -(-q_len // ROWS), *inputs, *results, *sizes, setup.eps, setup.alpha - 1, 1e-7, **constants, ENTROPY=entropy, TOP=size, KIND=setup.kind
    )
    return {"output": out, "norms": norms, "wholes": wholes, "entropies": entropies, "top_scores": top_scores, "top_indices": top_indices}


def backward(
    setup: Setup, results: dict[str, Tensor], grad: Tensor, lse_grad: Tensor | None = None, entropy_grad: Tensor | None = None
) -> dict[str, Tensor]:
    """Gradients of each entry's query, key and value, of factors and sinks."""
    from saccade.backends.triton.kernels import fused

    query, value, owners = setup.query, setup.value, setup.owners
    count, (q_len, dim), (k_len, width) = owners.shape[1], query.shape[1:], value.shape[1:]
    norms = results["norms"]
    delta = (grad.float() * results["output"].float()).sum(-1)
    whole, sink_grad = results["wholes"] if setup.normalizer == 4 else norms, None
    if setup.normalizer == 1:
        whole = setup.factors if setup.factors is not None else torch.ones_like(norms)
    if setup.sinks is not None:
        whole = torch.logaddexp(norms, setup.sinks)
        sink_grad = -delta * torch.exp(setup.sinks - whole)
    if lse_grad is not None:
        assert setup.sinks is None
        delta = delta - lse_grad
    gradients = {
        "query": query.new_empty(count, q_len, dim), "key": query.new_empty(count, k_len, dim),
        "value": value.new_empty(count, k_len, width), "factor": norms.new_empty(count, q_len),
        "v": norms.new_zeros(count, -(-q_len // ROWS), dim if setup.score == 1 else 0), "slope": torch.empty_like(norms),
        "table": norms.new_zeros(count, -(-q_len // ROWS), setup.bias.shape[-1] if setup.bias_kind == 2 else 0),
        "bias": norms.new_zeros(count, q_len, k_len) if setup.bias_learns and setup.bias_kind == 3 else norms,
    }  # fmt: skip
    if setup.score == 1:  # summed tile by tile in memory
        gradients |= {"query": norms.new_zeros(count, q_len, dim), "key": norms.new_zeros(count, k_len, dim)}
    for by_key in (False, True):
        inputs, sizes, constants = _arguments(setup, by_key=by_key)
        statistics = norms, whole, delta, results["entropies"], norms if entropy_grad is None else entropy_grad, grad.contiguous()
        programs = count * (-(-k_len // KEYS) if by_key else -(-q_len // ROWS))
        constants |= {"ENTROPY": entropy_grad is not None, "BY_KEY": by_key, "BIAS_LEARNS": setup.bias_learns}
        launch(fused.backward, programs, *inputs, *statistics, *gradients.values(), *sizes, setup.alpha - 1, **constants, KIND=setup.kind)
    return {**gradients, "sink": sink_grad}


def received(setup: Setup, results: dict[str, Tensor]) -> Tensor:
    """The sum of each key's weights, `(N, Lk)`."""
    from saccade.backends.triton.kernels import fused

    norms, k_len = results["norms"], setup.value.shape[1]
    whole = results["wholes"] if setup.normalizer == 4 else norms
    if setup.sinks is not None:
        whole = torch.logaddexp(norms, setup.sinks)
    if setup.normalizer == 1:
        whole = setup.factors if setup.factors is not None else torch.ones_like(norms)
    out = norms.new_empty(len(norms), k_len)
    inputs, sizes, constants = _arguments(setup, by_key=True)
    programs = len(norms) * -(-k_len // KEYS)
    launch(fused.columns, programs, *inputs, norms, whole, out, *sizes, setup.alpha - 1, **constants, KIND=setup.kind)
    return out


def drawn(setup: Setup, results: dict[str, Tensor], uniform: Tensor) -> Tensor:
    """The key of each row's draw, `(N, Lq)`."""
    from saccade.backends.triton.kernels import fused

    norms, q_len = results["norms"], setup.query.shape[1]
    whole = results["wholes"] if setup.normalizer == 4 else norms
    if setup.normalizer == 1:
        whole = setup.factors if setup.factors is not None else torch.ones_like(norms)
    out = torch.empty(norms.shape, dtype=torch.int32, device=norms.device)
    inputs, sizes, constants = _arguments(setup)
    programs = len(norms) * -(-q_len // ROWS)
    launch(fused.draw, programs, *inputs, norms, whole, uniform, out, *sizes, setup.alpha - 1, **constants, KIND=setup.kind)
    return out


def _arguments(setup: Setup, *, by_key: bool = False) -> tuple[tuple[Any, ...], tuple[Any, ...], dict[str, Any]]:
    query, key, value, owners = setup[:4]
    count, (q_len, dim), (k_len, width) = owners.shape[1], query.shape[1:], value.shape[1:]
    mask, listed = setup.mask or Allowed(1), setup.mask is not None
    lists_of = lists(mask, q_len, k_len, query.device, by_key=by_key) if listed else (owners, owners)
    bias, steps = query if setup.bias is None else setup.bias, (0, 0, 0)
    if setup.bias_kind == 1:
        steps = bias.stride(0), 0, 0
    elif setup.bias_kind == 2:
        steps = bias.stride(0), bias.shape[-1] // 2, 0
    elif setup.bias_kind == 3:
        steps = bias.stride()
    v, v_n = (query, 0) if setup.v is None else (setup.v, setup.v.stride(0) if setup.v.ndim == 2 else 0)
    powers: tuple[Tensor, ...] = (query,) * 4
    if setup.score == 1:
        left, right = side(query), side(key, by_key=True)
        powers = left.powers, right.powers, left.sizes, right.sizes
    part = min(128, max(16, triton_size(dim)))
    factors = query if setup.factors is None else setup.factors
    inputs = query, key, value, v, v_n, *powers, owners, *mask.arguments(owners), bias, *steps, setup.align, *lists_of, factors
    sizes = count, q_len, k_len, -(-q_len // ROWS), -(-k_len // KEYS), setup.scale, setup.softcap or 1.0
    constants = {
        "D": dim, "E": width, "SCORE": setup.score, "NORMALIZER": setup.normalizer, "SOFTCAP": setup.softcap is not None,
        "BIAS": setup.bias_kind, "FACTORS": setup.factors is not None, "SINKS": setup.sinks is not None, **mask.constants,
        "LISTED": listed, "PRECISION": "ieee", "PART": part, "PARTS": -(-dim // part), "WIDTH": max(16, triton_size(width)),
        "ROWS": ROWS, "KEYS": KEYS,
    }  # fmt: skip
    return inputs, sizes, constants


def triton_size(length: int) -> int:
    """The least power of two that is no less."""
    return 1 << max(0, length - 1).bit_length()
