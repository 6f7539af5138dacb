"""`Attention`: learned projections around one call of `attend`, over any score."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from saccade import normalizers, reads, scores
from saccade._call.lazy_value import ValueFunction
from saccade._call.validation import kinds, probability
from saccade._definitions.argument_hints import reject_extra_kwargs
from saccade.attention import attend
from saccade.auxiliary import AuxRequest
from saccade.biases import Factor
from saccade.errors import ArgumentError, ArgumentTypeError
from saccade.masks import Mask
from saccade.memory import Memory, remember
from saccade.nn._checks import features, same_dtype, sizes
from saccade.nn._parameters import Parameters

SCORES = ("additive", "cosine", "dot", "gaussian", "general", "location", "scaled_dot")


class Attention(nn.Module):
    """Attention with learned projections, attend(W_q query, W_k key, W_v value).

    Args:
        query_dim: features of query.
        key_dim: features of key; None means query_dim.
        value_dim: features of value, a tensor or the result of a function. None means key_dim.
        value_hidden_dim: features of projected values. None projects no values. W_v has no bias, which would be added
            to the output unchanged if weights sum to 1.
        hidden_dim: features of projected queries and keys. None means query_dim for "additive", and no projection for
            other scores.
        score: "additive" (Bahdanau et al. 2015: W_q, W_k and v are learned), "dot", "scaled_dot", "cosine", "gaussian"
            (bandwidth 1), "general" (W is learned), "location" (W is learned, max_length required), an object from
            `saccade.scores`, any callable or module `(query, key) -> scores`. Parameters in an object learn with the
            module.
        normalizer: one of `saccade.normalizers` or a callable; None is Softmax.
        read: one of `saccade.reads`; None is Soft.
        eval_read: the read outside training. For example, `reads.Argmax()` if training samples. None is `read`.
        output_dim: features of a learned projection of the output. None projects nothing.
        max_length: the largest number of keys for "location". Other scores ignore it.
        dropout_p: probability of dropping a weight, in training.
        device, dtype: as everywhere in torch.nn.

    Raises:
        ArgumentError: an unknown name, or dimensions that a score cannot compare.

    >>> import torch
    >>> attention = Attention(query_dim=6, key_dim=4, hidden_dim=8)
    >>> attention(torch.randn(2, 3, 6), torch.randn(2, 5, 4)).shape
    torch.Size([2, 3, 4])
    """

    @reject_extra_kwargs
    def __init__(
        self,
        query_dim: int,
        key_dim: int | None = None,
        value_dim: int | None = None,
        *,
        hidden_dim: int | None = None,
        value_hidden_dim: int | None = None,
        score: str | scores.Score | scores.ScoreFunction = "additive",
        normalizer: normalizers.Normalizer | normalizers.NormalizerFunction | None = None,
        read: reads.Read | None = None,
        eval_read: reads.Read | None = None,
        output_dim: int | None = None,
        max_length: int | None = None,
        dropout_p: float = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        sizes(query_dim=query_dim)
        sizes(none=True, key_dim=key_dim, value_dim=value_dim, hidden_dim=hidden_dim)
        sizes(none=True, value_hidden_dim=value_hidden_dim, output_dim=output_dim, max_length=max_length)
        for reader in (read, eval_read):
            parts(score, normalizer, reader, dropout_p)
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        key_dim = query_dim if key_dim is None else key_dim
        self.query_dim, self.key_dim = query_dim, key_dim
        self.value_dim = key_dim if value_dim is None else value_dim
        if hidden_dim is None and score == "additive":
            hidden_dim = query_dim
        self.query_projection = nn.Linear(query_dim, hidden_dim, **factory) if hidden_dim else nn.Identity()
        self.key_projection = (
            nn.Linear(key_dim, hidden_dim, bias=score != "additive", **factory) if hidden_dim else nn.Identity()
        )
        self.value_projection: nn.Module = nn.Identity()
        if value_hidden_dim is not None:
            self.value_projection = nn.Linear(self.value_dim, value_hidden_dim, bias=False, **factory)
        if isinstance(score, str):
            sides = (hidden_dim or query_dim, hidden_dim or key_dim)
            score = named_score(score, *sides, max_length=max_length, **factory)
        self.score = Parameters(score)
        self.normalizer = Parameters(normalizers.Softmax() if normalizer is None else normalizer)
        self.read = Parameters(reads.Soft() if read is None else read)
        self.eval_read = None if eval_read is None else Parameters(eval_read)
        read_dim = value_hidden_dim or self.value_dim
        self.output_projection = nn.Linear(read_dim, output_dim, **factory) if output_dim else nn.Identity()
        self.dropout_p = dropout_p

    @reject_extra_kwargs
    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | ValueFunction | None = None,
        *,
        memory: Memory | None = None,
        mask: Mask | Tensor | None = None,
        bias: Factor | Tensor | None = None,
        gate: Factor | Tensor | None = None,
        read: reads.Read | None = None,
        aux: AuxRequest | None = None,
    ) -> Any:
        """Attend from query to key and value, or to a memory of `remember`.

        Args:
            query: `(..., Lq, query_dim)`.
            key: `(..., Lk, key_dim)`; None is query (self-attention).
            value: `(..., Lk, value_dim)`, or a function of the index of keys, as for `attend`. None is key.
            memory: instead of key and value.
            mask, bias, gate, aux: as for `attend`.
            read: instead of the module's read, for example a `reads.Sample` with uniforms of this call.

        Returns:
            `(..., Lq, value_dim)`, value_hidden_dim or output_dim; with aux a pair of it and an `AuxOutput`.

        Raises:
            ArgumentError: both a memory and a key or value.
        """
        own_read = self.read if self.training or self.eval_read is None else self.eval_read
        options = {
            "mask": mask,
            "bias": bias,
            "gate": gate,
            "normalizer": self.normalizer.get(),
            "read": own_read.get() if read is None else read,
            "dropout_p": self.dropout_p if self.training else 0.0,
            "aux": aux,
        }
        features("query", query, self.query_dim, self.query_projection)
        if memory is None:
            key = query if key is None else key
            value = self._value(key, value)
            result = attend(
                self.query_projection(query), self.key_projection(key), value, score=self.score.get(), **options
            )
        else:
            only_memory(memory, key, value)
            result = memory.read(self.query_projection(query), **options)
        return projected(result, self.output_projection, aux)

    def remember(
        self,
        key: Tensor,
        value: Tensor | ValueFunction | None = None,
        *,
        mask: Mask | Tensor | None = None,
        capacity: int | None = None,
    ) -> Memory:
        """Keys projected and prepared once, to be read at many steps.

        Args:
            key: `(..., Lk, key_dim)`.
            value: `(..., Lk, value_dim)`, or a function of the index of keys, as for `attend`. None is key.
            mask: `masks.Lengths` or boolean `(..., 1, Lk)`.
            capacity: as for `saccade.remember`.

        Returns:
            A `Memory` for this module's `forward(query, memory=...)`.
        """
        value = self._value(key, value)
        return remember(self.key_projection(key), value, score=self.score.get(), mask=mask, capacity=capacity)

    def append(
        self, memory: Memory, key: Tensor, value: Tensor | None = None, mask: Mask | Tensor | None = None
    ) -> Memory:
        """The memory with more keys behind, projected and prepared as by `remember`.

        Args:
            memory: of this module's `remember`.
            key: `(..., n, key_dim)`.
            value: `(..., n, value_dim)`; None is key.
            mask: the allowed ones of the new keys. None allows all.
        """
        value = self._value(key, value)
        return memory.append(self.key_projection(key), value, mask)

    def _value(self, key: Tensor, value: Any) -> Any:
        """The projected value, by default of the key. Both are checked."""
        value = key if value is None else value
        features("key", key, self.key_dim, self.key_projection)
        unprojected = isinstance(self.value_projection, nn.Identity)
        if isinstance(value, Tensor):
            if unprojected:
                same_dtype("value", value, self.output_projection)
            else:
                features("value", value, self.value_dim, self.value_projection)
            return self.value_projection(value)
        if unprojected or not callable(value):  # attend rejects what is no function
            return value
        return lambda index: self.value_projection(value(index))


def only_memory(memory: Any, key: Tensor | None, value: Any) -> None:
    """Raise unless the memory is a `Memory`, without key and value beside it."""
    if not isinstance(memory, Memory):
        raise ArgumentTypeError(f"memory: expected the result of this module's remember, got {type(memory).__name__}")
    if key is not None or value is not None:
        raise ArgumentError("memory: expected either memory= or key and value, got both. Append to the memory first.")


def parts(score: Any, normalizer: Any, read: Any, dropout_p: float) -> None:
    """Raise unless `attend` takes score (or its name), normalizer, read and dropout_p."""
    named = scores.Dot() if isinstance(score, str) else score
    soft, expectation = normalizers.Softmax(), reads.Soft()
    kinds(named, soft if normalizer is None else normalizer, expectation if read is None else read, AuxRequest())
    probability(dropout_p)


def projected(result: Any, projection: Callable[[Tensor], Tensor], aux: AuxRequest | None) -> Any:
    """A result of `attend` with its output projected."""
    return projection(result) if aux is None else (projection(result[0]), result[1])


def named_score(
    name: str,
    query_dim: int,
    key_dim: int,
    *,
    max_length: int | None = None,
    heads: tuple[int, ...] = (),
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
) -> scores.Score:
    """A score by its name, with new parameters, `heads` being their first dimensions."""

    def parameter(rows: int, *columns: int) -> nn.Parameter:
        bound = (columns[-1] if columns else rows) ** -0.5
        return nn.Parameter(torch.empty(*heads, rows, *columns, device=device, dtype=dtype).uniform_(-bound, bound))

    if name not in SCORES:
        raise ArgumentError(
            f"score: expected one of {', '.join(map(repr, SCORES))}, an object or a callable, got {name!r}"
        )
    if name == "general":
        return scores.General(parameter(query_dim, key_dim))
    if name == "location":
        if max_length is None:
            raise ArgumentError("max_length: expected the largest number of keys of the location score, got None")
        return scores.Location(parameter(max_length, query_dim))
    if query_dim != key_dim:
        raise ArgumentError(
            f"hidden_dim: expected a size to project query ({query_dim}) and key ({key_dim}) to for score "
            f"{name!r}, got None"
        )
    if name == "additive":
        return scores.Additive(parameter(query_dim))
    simple = {"cosine": scores.Cosine(), "dot": scores.Dot(), "gaussian": scores.Gaussian(1.0)}
    return simple.get(name, scores.ScaledDot())
