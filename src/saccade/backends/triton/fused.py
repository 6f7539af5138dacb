"""Attention in one launch each way, by the kernels of `kernels.triton`.

Tensors are contiguous. `Setup.steps` says which query, key, value, mask and bias an entry of the batch reads.
"""

import functools
import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade._definitions.numerics import float32_precision
from saccade.backends.triton.blocks import ALL, LARGEST, LISTED, Allowed, Lists, Shape, grid, lists
from saccade.kernels.launch import launch, triton_kernels

DOT, ADDITIVE, DISTANCE = 0, 1, 2
SOFTMAX, SIGMOID, SUM, IDENTITY, ENTMAX = 0, 1, 2, 3, 4
SLOPE, TABLE, PAIRS = 1, 2, 3

SOFTCAP, FACTORS, SINKS, ENTROPY, DROPOUT, V_OF_ENTRIES, SHIFTS = 1, 2, 4, 8, 16, 32, 64  # parts of FLAGS
OF_OUTPUT, OF_LSE, OF_RECEIVED, OF_WEIGHTS, PULL, LEARNS = 128, 256, 512, 1024, 2048, 4096

FEW = 16
"""Rows of a block if there are no more queries, for example of a decoder."""
TOLERANCE = 1e-6
"""Largest last step of the search for a threshold of entmax."""


class Setup(NamedTuple):
    """A call as the kernels take it: tensors of entries, and constants.

    Args:
        query, key, value: `(..., Lq, D)`, `(..., Lk, D)`, `(..., Lk, E)`.
        batch: dimensions of the results, N entries in all.
        steps: m, then two numbers for each of query, key, value, mask and bias. Entry n reads number
            (n // m) · first + (n % m) · second of them.
        v: of additive scores, `(D,)` or `(N, D)`.
        bias: by its kind slopes `(·,)`, tables `(·, 2 R + 1)`, or `(·, Lq, Lk)` of any strides.
        factors: `(N, Lq)`: 1 / temperature, or the bias of a sigmoid.
        sinks: `(N, Lq)`.
        kept: lists of blocks by direction and tile, kept from call to call; None: they are not kept.
        dropout_p, noise: as of a call, noise int64 `(N, Lq)`.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    batch: tuple[int, ...]
    steps: tuple[int, ...]
    mask: Allowed | None
    score: int = DOT
    normalizer: int = SOFTMAX
    scale: float = 1.0
    softcap: float | None = None
    v: Tensor | None = None
    bias: Tensor | None = None
    bias_kind: int = 0
    factors: Tensor | None = None
    sinks: Tensor | None = None
    eps: float = 0.0
    alpha: float = 1.0
    align: int = 0
    bias_learns: bool = False
    kept: dict[Any, Lists] | None = None
    dropout_p: float = 0.0
    noise: Tensor | None = None

    @property
    def rows(self) -> tuple[int, ...]:
        """Dimensions of a statistic of queries."""
        return (*self.batch, self.query.shape[-2])

    @property
    def entries(self) -> int:
        return math.prod(self.batch)

    @property
    def kind(self) -> int:
        """The normalizer, with entmax by its α."""
        return self.normalizer if self.normalizer < ENTMAX else ENTMAX + {2.0: 1, 1.5: 2}.get(self.alpha, 0)


def shape(setup: Setup, name: str, *, looked: bool = False) -> Shape:
    """Tile of a pass.

    Args:
        name: "forward", "queries" or "keys" of the backward, "received" or "read".
        looked: whether statistics or their gradients take registers, as the largest weights do.
    """
    size = setup.value.element_size()
    if setup.score != ADDITIVE:
        size = max(size, setup.query.element_size())
    features = max(setup.query.shape[-1], setup.value.shape[-1])
    learns = name == "queries" and setup.bias_kind == TABLE and setup.bias_learns
    pairs, any_alpha = setup.mask is not None and setup.mask.pairs is not None, setup.kind == ENTMAX
    heavy = 2 if looked or learns else int(pairs or any_alpha)
    return tile(setup.query.shape[-2], features, size, setup.score, name, heavy)


@functools.cache
def tile(q_len: int, features: int, size: int, score: int = DOT, name: str = "forward", heavy: int = 0) -> Shape:
    """Fastest tile of those measured, or the largest that fits into registers.

    The first were measured on an H200. `tools/ptxas.py` counts registers.

    Args:
        features: of a query or a value, the larger number. size: bytes of a number.
        name: of the pass, as of `shape`.
        heavy: 1 for more warps, 2 for a smaller tile as well.
    """
    tiles = _tiles_of_sums if score != DOT else _tiles_of_halves if size == 2 else _tiles_of_floats
    rows, *rest = tiles(features, name, heavy)
    return Shape(FEW if q_len <= FEW else rows, *rest)


def _tiles_of_halves(features: int, name: str, heavy: int) -> tuple[int, int, int, int]:
    """Tiles of products of half types: rows, keys, warps, stages."""
    by_key = name in ("keys", "received")
    if features <= 64 and (heavy == 0 or (heavy == 2 and name == "forward")):
        return 64, 64, 4, 2 if name == "keys" else 3
    rows = 32 if by_key or (heavy == 2 and name == "queries") else 64
    keys = 64 if features <= 128 else 32
    if heavy == 2 or (heavy == 1 and name != "keys"):
        keys //= 2
    return rows, keys, 8, 2 if keys > 16 else 1


def _tiles_of_floats(features: int, name: str, heavy: int) -> tuple[int, int, int, int]:
    """Tiles of products of float32."""
    if heavy == 2 or features > 128:
        return 16, 16, 8, 1
    if features <= 64 and not heavy and name not in ("queries", "keys"):
        return 64, 64, 4, 2  # which spills, and yet takes 0.6 of the time of 32 x 32
    return 32, 32, 4 if features <= 64 and not heavy else 8, 2


def _tiles_of_sums(features: int, name: str, heavy: int) -> tuple[int, int, int, int]:
    """Tiles of additive scores and of distances."""
    backward = name in ("queries", "keys", "received")
    if features > 64:
        return 16, 16 if backward else 32, 4 if name == "keys" and not heavy else 8, 1
    rows, keys = (16, 16 if name != "queries" else 32) if backward else (32, 32)
    return rows, keys, 8 if heavy else 4, 1


def forward(setup: Setup, *, entropy: bool = False, top: int = 0) -> dict[str, Tensor]:
    """Output and statistics of each row.

    Another tensor stands in for a statistic that is not computed.

    Returns:
        output: `(*batch, Lq, E)`.
        norms, wholes: `(*batch, Lq)`, as `kernels.weights` reads them. Norms of a softmax are lse without the sink.
        entropy: `(*batch, Lq)`.
        top_weights, top_keys: `(*batch, Lq, top)`, falling. The key is -1 if the weight is 0, except of the identity.
    """
    query, value, rows = setup.query, setup.value, setup.rows
    out = value.new_empty((*rows, value.shape[-1]))
    norms = query.new_empty(rows, dtype=torch.float32)
    wholes = torch.empty_like(norms) if setup.normalizer == ENTMAX or setup.sinks is not None else norms
    entropies = torch.empty_like(norms) if entropy else norms
    top_weights = top_keys = norms
    if top:
        top_weights = norms.new_empty((*rows, top))
        top_keys = torch.empty_like(top_weights, dtype=torch.int64)
    sizes = shape(setup, "forward", looked=top > 0)
    inputs, constants = _arguments(setup, sizes, flags=ENTROPY * entropy)
    sinks = norms if setup.sinks is None else setup.sinks
    results = sinks, out, norms, wholes, entropies, top_weights, top_keys
    programs = grid(setup.entries * -(-rows[-1] // sizes.rows))
    constants |= {"TOP": triton_size(top) if top else 0, "COUNT": top}
    launch(triton_kernels("fused").forward, programs, *inputs, *results, setup.eps, TOLERANCE, **constants)
    names = "output", "norms", "wholes", "entropy", "top_weights", "top_keys"
    return dict(zip(names, results[1:], strict=True))


def backward(
    setup: Setup,
    results: dict[str, Tensor],
    grad: Tensor | None,
    lse_grad: Tensor | None = None,
    entropy_grad: Tensor | None = None,
    picks: tuple[Tensor, Tensor] | None = None,
    received_grad: Tensor | None = None,
    weights_grad: Tensor | None = None,
) -> dict[str, Tensor]:
    """Gradients of each entry's tensors.

    Args:
        results: of `forward`, with entropies if their gradients come.
        grad: of the output, `(N, Lq, E)`, or None.
        lse_grad, entropy_grad: `(N, Lq)`.
        picks: int32 keys `(N, Lq, K)`, -1 for none, and gradients of their weights.
        received_grad: of each key's sum of weights, `(N, Lk)`.
        weights_grad: `(N, Lq, Lk)`, float32.

    Returns:
        query, key, value; factor and sink `(N, Lq)`; v `(N, blocks, D)`, to be summed over blocks; slope `(N, Lq)`, to
        be summed over queries; table `(N, blocks, 2 R + 1)`; bias `(N, Lq, Lk)`: those that the setup has.
    """
    kernels = triton_kernels("backward")
    query, value, norms, wholes = setup.query, setup.value, results["norms"], results["wholes"]
    batch, count, (q_len, dim), (k_len, width) = setup.batch, setup.entries, query.shape[-2:], value.shape[-2:]
    looked = picks is not None or received_grad is not None or weights_grad is not None
    looked = looked or (entropy_grad is not None and (setup.normalizer == SUM or setup.sinks is not None))
    pulls = setup.normalizer == ENTMAX or (looked and setup.normalizer in (SOFTMAX, SUM))
    deltas = torch.empty_like(norms)
    sizes = shape(setup, "queries", looked=looked)
    blocks = -(-q_len // sizes.rows)
    gradients = {
        "query": query.new_empty((*batch, q_len, dim)),
        "key": query.new_empty((*batch, k_len, dim)),
        "value": value.new_empty((*batch, k_len, width)),
    }
    if setup.factors is not None:
        gradients["factor"] = torch.empty_like(norms)
    if setup.score == ADDITIVE:
        gradients["v"] = norms.new_empty((*batch, blocks, dim))
    bias_grad = norms
    if setup.bias_learns and setup.bias is not None:
        if setup.bias_kind == SLOPE:
            bias_grad = gradients["slope"] = torch.empty_like(norms)
        elif setup.bias_kind == TABLE:
            bias_grad = gradients["table"] = norms.new_zeros((*batch, blocks, setup.bias.shape[-1]))
        else:
            bias_grad = gradients["bias"] = norms.new_zeros((*batch, q_len, k_len))
    flags = (
        ENTROPY * (entropy_grad is not None) + OF_OUTPUT * (grad is not None) + OF_LSE * (lse_grad is not None)
        + OF_RECEIVED * (received_grad is not None) + OF_WEIGHTS * (weights_grad is not None)
        + PULL * pulls
        + LEARNS * setup.bias_learns
    )  # fmt: skip
    pick_keys, pick_grads = (norms, norms) if picks is None else picks
    output = results["output"]
    upstream = [output if grad is None else grad.contiguous()]
    upstream += [norms if part is None else part for part in (entropy_grad, received_grad, weights_grad)]
    statistics = norms, wholes, deltas, *upstream, pick_keys, pick_grads, norms if lse_grad is None else lse_grad
    targets = gradients["query"], gradients.get("factor", norms), gradients.get("v", norms), bias_grad
    picked = 0 if picks is None else pick_keys.shape[-1]
    inputs, constants = _arguments(setup, sizes, flags=flags)
    rest = results["entropy"], output, *targets
    launch(kernels.queries, grid(count * blocks), *inputs, *statistics, *rest, **constants, PICKS=picked)
    sizes = shape(setup, "keys", looked=looked)
    inputs, constants = _arguments(setup, sizes, flags=flags, by_key=True, sides=inputs[4:6])
    of_keys = gradients["key"], gradients["value"]
    programs = grid(count * -(-k_len // sizes.keys))
    launch(kernels.keys, programs, *inputs, *statistics, *of_keys, **constants, PICKS=picked)
    if setup.sinks is not None:
        gradients["sink"] = -deltas * torch.exp(setup.sinks - wholes.masked_fill(wholes == -math.inf, 0.0))
    return gradients


def received(setup: Setup, results: dict[str, Tensor]) -> Tensor:
    """The sum of each key's weights, `(N, Lk)`."""
    norms, k_len, sizes = results["norms"], setup.value.shape[-2], shape(setup, "received")
    out = norms.new_empty((*setup.batch, k_len))
    inputs, constants = _arguments(setup, sizes, by_key=True)
    programs = grid(setup.entries * -(-k_len // sizes.keys))
    launch(triton_kernels("looks").received, programs, *inputs, norms, results["wholes"], out, **constants)
    return out


def weights(setup: Setup, results: dict[str, Tensor]) -> Tensor:
    """The weights, float32 `(N, Lq, Lk)`, before dropout."""
    norms, k_len = results["norms"], setup.value.shape[-2]
    shape_of_all = (*norms.shape, k_len)
    out = norms.new_empty(shape_of_all) if setup.mask is None else norms.new_zeros(shape_of_all)
    _read(setup, results, norms, out, norms, draw=False)
    return out


def drawn(setup: Setup, results: dict[str, Tensor], uniform: Tensor) -> tuple[Tensor, Tensor]:
    """Drawn keys, int64 `(N, Lq)`, -1 for none, and their log-probabilities."""
    norms = results["norms"]
    index, logs = torch.empty_like(norms, dtype=torch.int64), torch.empty_like(norms)
    _read(setup, results, uniform, index, logs, draw=True)
    return index, logs


def _read(setup: Setup, results: dict[str, Tensor], uniform: Tensor, out: Tensor, logs: Tensor, *, draw: bool) -> None:
    norms, sizes = results["norms"], shape(setup, "read")
    inputs, constants = _arguments(setup, sizes)
    programs = grid(setup.entries * -(-setup.query.shape[-2] // sizes.rows))
    arguments = *inputs, norms, results["wholes"], uniform, out, logs
    launch(triton_kernels("looks").read, programs, *arguments, **constants, DRAW=draw)


def _arguments(
    setup: Setup, sizes: Shape, *, flags: int = 0, by_key: bool = False, sides: tuple[Tensor, Tensor] | None = None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments that every kernel takes first, and its constants."""
    query, key, value, _, steps_of_entries, mask = setup[:6]
    (*_, q_len, dim), (*_, k_len, width) = query.shape, value.shape
    if max(q_len, k_len) * (max(dim, width) + 1) > LARGEST:
        raise ValueError(f"expected at most {LARGEST:,} numbers of one entry, got more. Split the call.")
    mask = mask or ALL
    of_mask, listed = mask.flags(by_key=by_key), (query, query)
    if of_mask & LISTED:
        kept = {} if setup.kept is None else setup.kept
        name = by_key, sizes.rows, sizes.keys
        if name not in kept:
            kept[name] = lists(mask, q_len, k_len, query.device, by_key=by_key, sizes=sizes)
        listed = kept[name]
    bias, steps = _bias(setup)
    flags += SOFTCAP * (setup.softcap is not None) + SINKS * (setup.sinks is not None)
    factors, v, noise, threshold, keep_scale = query, query, query, 0, 1.0
    if setup.factors is not None:
        factors, flags = setup.factors, flags + (SHIFTS if setup.normalizer == SIGMOID else FACTORS)
    if setup.v is not None:
        v, flags = setup.v, flags + V_OF_ENTRIES * (setup.v.ndim == 2)
    if setup.dropout_p and setup.noise is not None:
        noise, flags = setup.noise, flags + DROPOUT
        threshold = min(int(setup.dropout_p * (1 << 32)) - (1 << 31), LARGEST)
        keep_scale = 0.0 if setup.dropout_p == 1 else 1 / (1 - setup.dropout_p)
    if sides is None:
        sides = _sides(query, key) if setup.score == ADDITIVE else (query, key)
    inputs = (
        query, key, value, v, *sides, *steps_of_entries, *mask.arguments(query, q_len, k_len), bias, *steps,
        setup.align, *listed, factors, noise, q_len, k_len, setup.scale, setup.softcap or 1.0, setup.alpha - 1,
        threshold, keep_scale,
    )  # fmt: skip
    constants = {
        "D": dim, "E": width, "SCORE": setup.score, "NORMALIZER": setup.kind, "BIAS": setup.bias_kind, "MASK": of_mask,
        "FLAGS": flags, "PRECISION": _precision(query), "ROWS": sizes.rows, "KEYS": sizes.keys,
        "num_warps": sizes.warps, "num_stages": sizes.stages,
    }  # fmt: skip
    return inputs, constants


def _bias(setup: Setup) -> tuple[Tensor, tuple[int, ...]]:
    """Numbers of the bias, and its radius, or its strides of queries and keys."""
    bias = setup.bias
    if bias is None:
        return setup.query, (0, 0)
    if setup.bias_kind == PAIRS:
        return bias, bias.stride()[1:]
    return bias, (bias.shape[-1] // 2 if setup.bias_kind == TABLE else 0, 0)


def _sides(query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    """e^2x and max |x| of each query and each key, from `kernels.terms.powers`."""
    (*q_batch, q_len, dim), (*k_batch, k_len, _) = query.shape, key.shape
    of_queries = query.new_empty((*q_batch, q_len, dim + 1), dtype=torch.float32)
    of_keys = query.new_empty((*k_batch, dim + 1, k_len), dtype=torch.float32)
    q_rows, k_rows = math.prod(q_batch) * q_len, math.prod(k_batch) * k_len
    powers, constants = triton_kernels("terms").powers, {"ROWS": 8, "WIDTH": triton_size(dim)}
    launch(powers, grid(-(-q_rows // 8)), query, of_queries, q_rows, q_len, dim, BY_KEY=False, **constants)
    launch(powers, grid(-(-k_rows // 8)), key, of_keys, k_rows, k_len, dim, BY_KEY=True, **constants)
    return of_queries, of_keys


def _precision(query: Tensor) -> str:
    """Precision of float32 products, from any of torch's interfaces."""
    return "tf32" if query.dtype == torch.float32 and float32_precision("cuda") == "tf32" else "ieee"


@functools.cache
def triton_size(length: int) -> int:
    """The least power of two of at least `length`."""
    return 1 << max(0, length - 1).bit_length()
