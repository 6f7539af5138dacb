"""`attend`, the one operation, and `explain`, its plan.

Their way to a backend is `saccade._dispatch.passes`: start reading there.
"""

from typing import overload

from jaxtyping import Float
from torch import Tensor

from saccade import normalizers, reads, scores
from saccade._call.call import SCALED_DOT, SOFT, SOFTMAX, Arguments
from saccade._call.lazy_value import ValueFunction
from saccade._definitions.argument_hints import reject_extra_kwargs
from saccade._dispatch.choose import Plan
from saccade._dispatch.passes import attention, plan
from saccade.auxiliary import AuxOutput, AuxRequest
from saccade.biases import Factor
from saccade.masks import Mask

__all__ = ["Plan", "attend", "explain"]


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


@reject_extra_kwargs
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

    Nested tensors of the jagged layout, `(B, j, D)` or `(B, H, j, D)`, are served without padding. Masks, biases and
    gates then count positions in each sequence, and results are nested, too. Tensors of a batch, and weights, are
    errors.

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
    arguments = Arguments(query, key, value, score, mask, bias, gate, normalizer, read, dropout_p, aux, backend)
    return attention(arguments)


@reject_extra_kwargs
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
) -> Plan:
    """The plan of `attend`: a backend, and the reason against each other one.

    Nothing is run.

    Args: as for `attend`.

    Returns:
        A `Plan` with backend, why, peak_bytes, terms, pairs, and the calls of a value function. It prints readably.

    Raises:
        As `attend`.

    >>> import torch
    >>> from saccade import explain
    >>> x = torch.randn(2, 5, 8)
    >>> explain(x, x, x).backend
    'sdpa'
    """
    arguments = Arguments(query, key, value, score, mask, bias, gate, normalizer, read, dropout_p, aux, backend)
    return plan(arguments)
