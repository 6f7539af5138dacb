"""`attend`, the one operation, and `explain`, its plan.

attend ─────────┬─ fast_path.plain ───▶ output      a small plain call, or None
                ├─ fast_path.additive ▶ output      an additive call with nothing else, or None
Memory.read ────┼─ fast_path.repeated ▶ output      a step like the memory's last one, or None
                ▼
            full_path       down: cast as autocast says, then
                validate.checked_call               arguments ──▶ Call, or one clear error
                run
                  choose                            Call ──▶ backend
                  backend.run                       Call ──▶ output and statistics
                            up: the output, with aux a pair
"""

from dataclasses import replace
from typing import Any, overload

import torch
from jaxtyping import Float
from torch import Tensor

from saccade import normalizers, reads, scores
from saccade._call.call import BackendState, Call
from saccade._call.validation import checked_call
from saccade._definitions.argument_hints import hide_extra_kwargs, reject_extra_kwargs
from saccade._definitions.numerics import autocasting
from saccade._dispatch import fast_path, lazy_values
from saccade._dispatch.choose import Plan, choose, plan
from saccade._dispatch.key_range import restrict_keys
from saccade._dispatch.lazy_values import LazyValue, ValueFunction
from saccade.auxiliary import AuxOutput, AuxRequest
from saccade.biases import Factor
from saccade.masks import Mask

__all__ = ["Plan", "attend", "explain"]

SCALED_DOT, SOFTMAX, SOFT = scores.ScaledDot(), normalizers.Softmax(), reads.Soft()


@overload
def attend(
    query: Float[Tensor, "*#batch q_len q_dim"],
    key: Float[Tensor, "*#batch k_len k_dim"],
    value: Float[Tensor, "*#batch k_len v_dim"] | ValueFunction,
    *,
    score: scores.Score | scores.ScoreFunction = ...,
    mask: Mask | Tensor | None = ...,
    bias: Factor | Tensor | None = ...,
    gate: Factor | Tensor | None = ...,
    normalizer: normalizers.Normalizer | normalizers.NormalizerFunction = ...,
    read: reads.Read = ...,
    dropout_p: float = ...,
    aux: None = ...,
    backend: str = ...,
) -> Tensor: ...


@overload
def attend(
    query: Float[Tensor, "*#batch q_len q_dim"],
    key: Float[Tensor, "*#batch k_len k_dim"],
    value: Float[Tensor, "*#batch k_len v_dim"] | ValueFunction,
    *,
    score: scores.Score | scores.ScoreFunction = ...,
    mask: Mask | Tensor | None = ...,
    bias: Factor | Tensor | None = ...,
    gate: Factor | Tensor | None = ...,
    normalizer: normalizers.Normalizer | normalizers.NormalizerFunction = ...,
    read: reads.Read = ...,
    dropout_p: float = ...,
    aux: AuxRequest,
    backend: str = ...,
) -> tuple[Tensor, AuxOutput]: ...


@hide_extra_kwargs
def attend(
    query: Float[Tensor, "*#batch q_len q_dim"],
    key: Float[Tensor, "*#batch k_len k_dim"],
    value: Float[Tensor, "*#batch k_len v_dim"] | ValueFunction,
    *,
    score: scores.Score | scores.ScoreFunction = SCALED_DOT,
    mask: Mask | Tensor | None = None,
    bias: Factor | Tensor | None = None,
    gate: Factor | Tensor | None = None,
    normalizer: normalizers.Normalizer | normalizers.NormalizerFunction = SOFTMAX,
    read: reads.Read = SOFT,
    dropout_p: float = 0.0,
    aux: AuxRequest | None = None,
    backend: str = "auto",
    **extra: Any,
) -> Tensor | tuple[Tensor, AuxOutput]:
    """Attention with any score, any normalizer, soft or hard, on every backend.

        scores  = score(query, key) + bias         # (..., Lq, Lk)
        weights = normalizer(scores, mask) * gate  # 0 exactly where the mask forbids
        output  = read(weights, value)             # (..., Lq, Dv)

    A row with nothing allowed gives zeros. A key that no query may attend to influences nothing, even with NaN in it.

    Args:
        query: `(..., Lq, Dq)`. Leading dimensions of all three broadcast: grouped queries are `(B, Hkv, G, Lq, D)`
            against keys `(B, Hkv, 1, Lk, D)`.
        key: `(..., Lk, Dk)`, in the dtype and on the device of query.
        value: `(..., Lk, Dv)`, in the dtype and on the device of query; or a function that computes the values of keys:
            see below.
        score: one of `saccade.scores`, or any callable `(query, key) -> (..., Lq, Lk)` whose row i depends on query
            row i and all keys alone. A third parameter gets the positions `(i, j)`, i `(rows, 1)` and j `(1, Lk)`.
        mask: boolean, True may attend: one of `saccade.masks` or a tensor that broadcasts to `(..., Lq, Lk)`.
        bias: float, added to the scores: one of `saccade.biases` or a tensor that broadcasts to `(..., Lq, Lk)`. −inf
            forbids.
        gate: float, multiplied into the weights: a tensor, or one of `saccade.biases` through its exponential.
        normalizer: one of `saccade.normalizers`, or any callable `(scores, mask) -> weights` whose row i depends on row
            i of the scores alone. A third parameter gets the positions, as for score.
        read: one of `saccade.reads`.
        dropout_p: probability of dropping a weight, from 0 to 1; the rest is scaled by 1 / (1 − p).
        aux: an `AuxRequest` for the weights or their statistics.
        backend: "auto", or a name: that backend serves the call or raises the reason against it.

    A value that is a function is called once, `value(index)`, with a tuple of int64 tensors `(n,)`, one for each
    dimension of key but the last, and returns the values `(n, Dv)` of the keys `key[index]`. These are the keys that
    the read takes, each once, n ≥ 0 of them. `reads.Sample()`, `Argmax` and `TopK` take few keys. `Soft` and
    straight-through reads take every key that may be attended to. Under a compiler or a transform shapes cannot depend
    on values, so n is the number of reads: keys are repeated, and an empty read has key 0, whose value is not used.

    Returns:
        The output `(..., Lq, Dv)` in the dtype of query; with aux a pair of it and an `AuxOutput`.

    Raises:
        ShapeError: shapes that do not fit.
        ArgumentError: a wrong value or kind, an undefined statistic, or a callable whose rows depend on each other in a
            call by blocks of rows.
        UnsupportedBackend: the backend named cannot serve the call.

    Bahdanau, Cho, Bengio 2015; Luong, Pham, Manning 2015; Vaswani et al. 2017, equation 1.

    >>> import torch
    >>> from saccade import attend, normalizers, scores
    >>> query, key, value = torch.randn(2, 5, 8), torch.randn(2, 7, 8), torch.randn(2, 7, 3)
    >>> attend(query, key, value, score=scores.Cosine(beta=4.0), normalizer=normalizers.Sparsemax()).shape
    torch.Size([2, 5, 3])

    Two of the 14 values are computed:

    >>> def encoded(index):
    ...     print("asked for", len(index[0]))
    ...     return value[index]
    >>> attend(query[:, :1], key, encoded, read=reads.Argmax()).shape
    asked for 2
    torch.Size([2, 1, 3])
    """
    if extra:
        reject_extra_kwargs(attend, extra)
    usual = normalizer is SOFTMAX and read is SOFT and backend == "auto"
    if usual and isinstance(value, Tensor) and bias is None and gate is None and aux is None and dropout_p == 0:
        output = None
        if score is SCALED_DOT:
            output = fast_path.plain(query, key, value, mask)
        elif mask is None:
            output = fast_path.additive(query, key, value, score)
        if output is not None:
            return output
    return full_path(query, key, value, score, mask, bias, gate, normalizer, read, dropout_p, aux, backend)


def full_path(
    query: Any,
    key: Any,
    value: Any,
    score: Any,
    mask: Any,
    bias: Any,
    gate: Any,
    normalizer: Any,
    read: Any,
    dropout_p: float,
    aux: AuxRequest | None,
    backend: str,
    cache: Tensor | None = None,
    state: BackendState | None = None,
) -> Tensor | tuple[Tensor, AuxOutput]:
    """The full path of `attend` and `Memory.read`, without fast_path.

    Args: all those of `attend`, not validated, and of a memory:
        cache: prepared by its score beside the keys.
        state: data that backends keep with it.

    Returns:
        As `attend`.

    Raises:
        As `attend`.
    """
    if autocasting(query):
        query, key, value, score = autocast(query, key, value, score)
    values = lazy_values.lazy(value, key)
    value = value if values is None else values.placeholder(key)
    call = checked_call(query, key, value, score, mask, bias, gate, normalizer, read, dropout_p, aux)
    if cache is not None or state is not None:
        call = replace(call, cache=cache, state=state)
    output, statistics = run(call, backend) if values is None else run_lazily(call, values, backend)
    return output if aux is None else (output, statistics)


@hide_extra_kwargs
def explain(
    query: Tensor,
    key: Tensor,
    value: Tensor | ValueFunction,
    *,
    score: scores.Score | scores.ScoreFunction = SCALED_DOT,
    mask: Mask | Tensor | None = None,
    bias: Factor | Tensor | None = None,
    gate: Factor | Tensor | None = None,
    normalizer: normalizers.Normalizer | normalizers.NormalizerFunction = SOFTMAX,
    read: reads.Read = SOFT,
    dropout_p: float = 0.0,
    aux: AuxRequest | None = None,
    backend: str = "auto",
    **extra: Any,
) -> Plan:
    """The plan of `attend`: a backend, and the reason against each other one.

    Nothing is run.

    Args: as for `attend`.

    Returns:
        A `Plan` with backend, why, peak_bytes, terms, and the calls of a value that is a function. It prints readably.

    Raises:
        As `attend`.

    >>> import torch
    >>> from saccade import explain
    >>> x = torch.randn(2, 5, 8)
    >>> explain(x, x, x).backend
    'sdpa'
    """
    if extra:
        reject_extra_kwargs(explain, extra)
    if autocasting(query):
        query, key, value, score = autocast(query, key, value, score)
    values = lazy_values.lazy(value, key)
    value = value if values is None else values.placeholder(key, key.shape[-1])  # only a call shows its features
    call = checked_call(query, key, value, score, mask, bias, gate, normalizer, read, dropout_p, aux)
    if values is None:
        return planned(call, backend)
    choice = planned(lazy_values.choosing(call) if call.read.sparse else call, backend)
    return replace(choice, values=lazy_values.planned(call, values))


def planned(call: Call, backend: str) -> Plan:
    """The plan of a call, restricted to reachable keys as in `run`."""
    near = None if backend == "reference" else restrict_keys(call)
    choice = plan(call if near is None else near.call, backend)
    if near is None or choice.pairs is None:
        return choice
    return replace(choice, pairs=choice.pairs._replace(all=choice.pairs.all // len(near) * near.k_len))


def run_lazily(call: Call, values: LazyValue, backend: str) -> tuple[Tensor, AuxOutput]:
    """Run a valid call, and compute the values of the keys that it reads."""
    if not call.read.sparse:
        return run(lazy_values.filled(call, values), backend)
    return lazy_values.read(call, values, run(lazy_values.choosing(call), backend)[1])


def run(call: Call, backend: str = "auto") -> tuple[Tensor, AuxOutput]:
    """Run a valid call, on the reachable keys alone.

    `backend="reference"`, the definition, takes all keys.
    """
    near = None if backend == "reference" else restrict_keys(call)
    if near is not None:
        output, statistics = run_whole(near.call, backend)
        return output, near.widened(statistics)
    return run_whole(call, backend)


def run_whole(call: Call, backend: str) -> tuple[Tensor, AuxOutput]:
    """Run a valid call with all its keys on the backend that serves it."""
    chosen = choose(call, backend)
    if call.dropout_p > 0 or not call.soft():
        call = call.with_randomness()
    if call.built_in and autocasting(call.query):
        with torch.autocast(call.query.device.type, enabled=False):
            result: tuple[Tensor, AuxOutput] = chosen.run(call)
    else:
        result = chosen.run(call)
    return result


def autocast(query: Tensor, *others: Any) -> tuple[Any, ...]:
    """Cast tensors, and those in a score, to the autocast dtype.

    As in torch's scaled_dot_product_attention, float64 stays.
    """
    dtype = torch.get_autocast_dtype(query.device.type)

    def cast(tensor: Tensor, axes: object = None) -> Tensor:
        return tensor.to(dtype) if tensor.is_floating_point() and tensor.dtype != torch.float64 else tensor

    return tuple(
        cast(thing) if isinstance(thing, Tensor) else thing.map(cast) if isinstance(thing, scores.Score) else thing
        for thing in (query, *others)
    )
