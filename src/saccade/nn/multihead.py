"""`MultiheadAttention`: any score in every head, grouped queries, a cache."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from saccade import normalizers, reads, scores
from saccade._definitions.argument_hints import reject_extra_kwargs
from saccade._definitions.checks import positive_number
from saccade._definitions.numerics import broadcast_shapes
from saccade.attention import attend
from saccade.auxiliary import AuxRequest
from saccade.biases import Factor, rotate
from saccade.errors import ArgumentError, ArgumentTypeError
from saccade.masks import Mask
from saccade.memory import Memory, remember
from saccade.nn import _heads
from saccade.nn._checks import features, sizes
from saccade.nn._parameters import Parameters
from saccade.nn.attention import named_score, only_memory, parts, projected


class MultiheadAttention(nn.Module):
    """Multi-head attention over any score.

        head_h = attend(W_h^Q query, W_h^K key, W_h^V value),  output = W^O [head_1; ...; head_H]

    Vaswani et al. 2017, section 3.2.2. Batch comes first. It loads the state of `torch.nn.MultiheadAttention`, with
    its outputs: with kdim and vdim or without, and with add_bias_kv and add_zero_attn.

    Args:
        embed_dim: features of query.
        num_heads: H.
        num_kv_heads: heads of keys and values, a divisor of H. Groups of queries share them (Ainslie et al. 2023). None
            is H.
        head_dim: features of a head's queries and keys; None is embed_dim / H.
        value_head_dim: features of a head's values; None is head_dim.
        output_dim: features of the output; None is embed_dim.
        kdim, vdim: features of key and of value; None is embed_dim.
        bias: whether the projections add a bias.
        score: a name as for `Attention` (parameters are one set a head), an object or a callable.
        normalizer: one of `saccade.normalizers` or a callable; None is Softmax.
        read: one of `saccade.reads`; None is Soft.
        eval_read: the read outside training, as for `Attention`.
        max_length: as for `Attention`.
        rotary_base: rotates queries and keys by their positions (`saccade.biases.rotate`, Su et al. 2021), with this
            base of the wavelengths. None rotates nothing. Positions begin at 0, but the queries of a memory are its
            last keys. `positions=` sets others for each example.
        qk_norm: "rms" or "layer" normalizes the features of each head's queries and keys before rotation and score,
            with factors that heads share ("layer": Dehghani et al. 2023, "rms": Zhang, Sennrich 2019). None does
            not. For unit vectors (Henry et al. 2020) use `score=scores.Cosine(beta)`.
        output_gate: multiplies the output of each head by σ(W^G query) before W^O (Qiu et al. 2025). "elementwise" has
            a gate for each feature, "headwise" one for each head. None has no gates.
        add_bias_kv: adds a learned key and value, which all queries may attend to, as in torch.
        add_zero_attn: adds a key and value of zeros, which all queries may attend to.
        dropout_p: probability of dropping a weight, in training.
        backend: as for `attend`.
        device, dtype: as everywhere in torch.nn.

    The keys of add_bias_kv and add_zero_attn are no part of masks, memories and statistics: weights are those of the
    input's keys, and sum to less than 1. They need a score of `saccade.scores` on contents, the softmax, and the soft
    read. A row in which the mask allows nothing reads them alone.

    Raises:
        ArgumentError: heads that do not divide features, a rotary_base with an odd number of features a head, unknown
            names, or extra keys that are undefined.

    >>> import torch
    >>> attention = MultiheadAttention(16, 4, num_kv_heads=2)
    >>> x = torch.randn(2, 5, 16)
    >>> memory = attention.remember(x)
    >>> torch.allclose(attention(x), attention(x, memory=memory), atol=1e-6)
    True
    >>> MultiheadAttention(16, 2, head_dim=5, value_head_dim=3, output_dim=7, qk_norm="rms")(x).shape
    torch.Size([2, 5, 7])
    """

    in_proj_weight: Any  # a tensor; None with kdim or vdim of other sizes
    in_proj_bias: Tensor | None
    bias_k: Tensor | None
    bias_v: Tensor | None

    @reject_extra_kwargs
    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        *,
        num_kv_heads: int | None = None,
        head_dim: int | None = None,
        value_head_dim: int | None = None,
        output_dim: int | None = None,
        kdim: int | None = None,
        vdim: int | None = None,
        bias: bool = True,
        score: str | scores.Score | scores.ScoreFunction = "scaled_dot",
        normalizer: normalizers.Normalizer | normalizers.NormalizerFunction | None = None,
        read: reads.Read | None = None,
        eval_read: reads.Read | None = None,
        max_length: int | None = None,
        rotary_base: float | None = None,
        qk_norm: str | None = None,
        output_gate: str | None = None,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        dropout_p: float = 0.0,
        backend: str = "auto",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        for reader in (read, eval_read):
            parts(score, normalizer, reader, dropout_p)
        if not isinstance(backend, str):
            raise ArgumentTypeError(f"backend: expected a name, such as 'auto', got {type(backend).__name__}")
        sizes(embed_dim=embed_dim, num_heads=num_heads)
        sizes(none=True, num_kv_heads=num_kv_heads, head_dim=head_dim, value_head_dim=value_head_dim)
        sizes(none=True, output_dim=output_dim, kdim=kdim, vdim=vdim, max_length=max_length)
        if head_dim is None and embed_dim % num_heads:
            expected = f"expected a divisor of embed_dim = {embed_dim}"
            raise ArgumentError(f"num_heads: {expected}, got {num_heads}. Change it, or pass head_dim=.")
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        if num_heads % self.num_kv_heads:
            raise ArgumentError(f"num_kv_heads: expected a divisor of num_heads = {num_heads}, got {num_kv_heads}")
        self.head_dim = embed_dim // num_heads if head_dim is None else head_dim
        self.value_head_dim = self.head_dim if value_head_dim is None else value_head_dim
        self.output_dim = embed_dim if output_dim is None else output_dim
        self.inputs = (embed_dim, embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim)
        keys, values = self.num_kv_heads * self.head_dim, self.num_kv_heads * self.value_head_dim
        self.sizes = (num_heads * self.head_dim, keys, values)
        positive_number("rotary_base", rotary_base, none=True)
        if rotary_base is not None and self.head_dim % 2:
            got = f"got head_dim = {self.head_dim}. Choose other heads."
            raise ArgumentError(f"rotary_base: expected an even number of features a head, {got}")
        self.rotary_base, self.backend, self.dropout_p = rotary_base, backend, dropout_p
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        packed, total = len(set(self.inputs)) == 1, sum(self.sizes)
        shapes: dict[str, tuple[int, ...] | None] = {
            f"{name}_proj_weight": None if packed else size
            for name, size in zip("qkv", zip(self.sizes, self.inputs, strict=True), strict=True)
        }
        shapes |= {"in_proj_weight": (total, embed_dim) if packed else None, "in_proj_bias": (total,) if bias else None}
        shapes |= {"bias_k": (1, 1, keys) if add_bias_kv else None, "bias_v": (1, 1, values) if add_bias_kv else None}
        for name, shape in shapes.items():
            self.register_parameter(name, None if shape is None else nn.Parameter(torch.empty(shape, **factory)))
        self.out_proj = nn.Linear(num_heads * self.value_head_dim, self.output_dim, bias=bias, **factory)
        self.query_norm, self.key_norm = (_heads.head_norm(qk_norm, self.head_dim, bias, **factory) for _ in range(2))
        self.gate_proj = _heads.output_gating(output_gate, (embed_dim, num_heads, self.value_head_dim), bias, **factory)
        self.add_zero_attn = add_zero_attn
        if isinstance(score, str):
            heads = (num_heads,) if self._groups is None else (self._groups, num_heads // self._groups)
            score = named_score(score, self.head_dim, self.head_dim, max_length=max_length, heads=heads, **factory)
        self.score = Parameters(score)
        self.normalizer = Parameters(normalizers.Softmax() if normalizer is None else normalizer)
        self.read = Parameters(reads.Soft() if read is None else read)
        self.eval_read = None if eval_read is None else Parameters(eval_read)
        if self._extra is not None:
            _heads.check_extra_keys(self._extra, score, self.normalizer.thing, self.read.thing)
        self.reset_parameters()

    @property
    def _extra(self) -> str | None:
        """The argument of the extra keys, or None without any."""
        return "add_bias_kv" if self.bias_k is not None else "add_zero_attn" if self.add_zero_attn else None

    def reset_parameters(self) -> None:
        """Draw input projections, Glorot-uniform (Glorot, Bengio 2010), and zero biases."""
        for name, parameter in self.named_parameters(recurse=False):
            if name.endswith("weight"):
                nn.init.xavier_uniform_(parameter)
            elif name.startswith("bias_"):
                nn.init.xavier_normal_(parameter)
            else:
                nn.init.zeros_(parameter)
        for projection in (self.out_proj, self.gate_proj):  # W^O and W^G keep their weights
            if projection is not None and projection.bias is not None:
                nn.init.zeros_(projection.bias)

    def _weight(self, which: int) -> Tensor:
        """Weight of input projection 0 (query), 1 (key) or 2 (value), or of all three."""
        packed = self.in_proj_weight
        weight: Tensor = getattr(self, f"{'qkv'[which]}_proj_weight") if packed is None else packed
        return weight

    def _project(self, which: int, x: Tensor) -> Tensor:
        """Input projection 0 (query), 1 (key) or 2 (value) in heads `(..., heads, L, D)`."""
        weight, bias = self._weight(which), self.in_proj_bias
        features(("query", "key", "value")[which], x, self.inputs[which], weight)
        weight = weight if self.in_proj_weight is None else weight.split(self.sizes)[which]
        bias = None if bias is None else bias.split(self.sizes)[which]
        return self._split(which, nn.functional.linear(x, weight, bias))

    def _split(self, which: int, x: Tensor) -> Tensor:
        """A projection in heads, with normalized queries and keys."""
        heads = self._divided(which, x)
        normed: Tensor = heads if which == 2 else (self.query_norm, self.key_norm)[which](heads)
        return normed

    def _divided(self, which: int, x: Tensor) -> Tensor:
        """A projection in heads: `(H,)`, or `(Hkv, G)`, or `(Hkv, 1)` of grouped keys."""
        heads: Tensor = x.unflatten(-1, (-1, self.value_head_dim if which == 2 else self.head_dim)).transpose(-2, -3)
        return heads if self._groups is None else heads.unflatten(-3, (self._groups, -1))

    @property
    def _groups(self) -> int | None:
        return None if self.num_kv_heads == self.num_heads else self.num_kv_heads

    @property
    def _head_dims(self) -> int:
        return 1 if self._groups is None else 2

    def _beside(self, definition: Any, x: Tensor) -> Any:
        """A mask, bias or gate of sequences x for the scores of their heads."""
        return _heads.beside_heads(definition, x.ndim - 2, self._head_dims)

    def _turned(self, heads: Tensor, positions: int | Tensor = 0) -> Tensor:
        """Rotate heads by positions, or by the positions from an int on."""
        if self.rotary_base is None:
            return heads
        if not isinstance(positions, Tensor):
            positions = torch.arange(positions, positions + heads.shape[-2], device=heads.device)
        elif positions.ndim > 1:
            positions = positions[(..., *(None,) * self._head_dims, slice(None))]
        return rotate(heads, positions, base=self.rotary_base)

    def _heads(
        self, query: Tensor, key: Tensor, value: Tensor, positions: int | Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """All three input projections, in one product for self-attention."""
        if self.in_proj_weight is not None and query is key is value:
            together = nn.functional.linear(query, self.in_proj_weight, self.in_proj_bias)
            first, second, third = map(self._split, range(3), together.split(self.sizes, -1))
        else:
            first, second, third = self._project(0, query), self._project(1, key), self._project(2, value)
        return self._turned(first, positions), self._turned(second, positions), third

    @reject_extra_kwargs
    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        *,
        memory: Memory | None = None,
        mask: Mask | Tensor | None = None,
        bias: Factor | Tensor | None = None,
        gate: Factor | Tensor | None = None,
        read: reads.Read | None = None,
        positions: Tensor | None = None,
        aux: AuxRequest | None = None,
    ) -> Any:
        """Attend from query to key and value, or to a memory of `remember`.

        Args:
            query: `(..., Lq, embed_dim)`.
            key: `(..., Lk, kdim)`; None is query (self-attention).
            value: `(..., Lk, vdim)`; None is key.
            memory: instead of key and value.
            mask, bias, gate: as for `attend`, against `(..., H, Lq, Lk)`; with grouped queries against `(..., Hkv, G,
                Lq, Lk)`. Tensors of examples need no dimension of heads: `masks.Lengths(n)` with n `(...)`, or
                `masks.Around` and `biases.GaussianWindow` with a center `(..., Lq)`. A center of heads is `(1, H, Lq)`.
            read: instead of the module's read, for example a `reads.Sample` with uniforms of this call.
            positions: of the queries, for rotary modules, `(..., Lq)` or `(Lq,)`. They count the tokens of an example
                without its padding. None counts from 0, or takes the positions of a memory's last keys. Without a
                memory they are positions of the keys as well.
            aux: as for `attend`.

        Returns:
            `(..., Lq, output_dim)`. With aux, a pair of it and an `AuxOutput` with one entry a head.

        Raises:
            ArgumentError: both a memory and a key or value. Also positions of cross-attention, or of a module without
                rotary positions.
        """
        features("query", query, self.inputs[0], self._weight(0))
        own_read = self.read if self.training or self.eval_read is None else self.eval_read
        options = {
            "mask": self._beside(mask, query),
            "bias": self._beside(bias, query),
            "gate": self._beside(gate, query),
            "normalizer": self.normalizer.get(),
            "read": own_read.get() if read is None else read,
            "dropout_p": self.dropout_p if self.training else 0.0,
            "aux": aux,
            "backend": self.backend,
        }
        if memory is None:
            key = query if key is None else key
            value = key if value is None else value
            if positions is not None and key is not query:
                raise ArgumentError(
                    "positions: expected self-attention or a memory, got other keys than queries. Call "
                    "remember(key, positions=...), and pass its memory."
                )
            rotations = 0 if positions is None else _heads.checked_positions(positions, query, self.rotary_base)
            heads, keys, values = self._heads(query, key, value, rotations)
            call: Callable[..., Any] = partial(attend, heads, keys, values, score=self.score.get())
        else:
            only_memory(memory, key, value)
            heads = self._turned(self._project(0, query), self._last(memory, query, positions))
            call = partial(memory.read, heads)
        return projected(self._attended(heads, call, options), lambda heads: self._join(heads, query), aux)

    def _attended(self, heads: Tensor, call: Callable[..., Any], options: dict[str, Any]) -> Any:
        """The result of a call with these options, extra keys included."""
        if (name := self._extra) is None:
            return call(**options)
        score = self.score.get()
        _heads.check_extra_keys(name, score, options["normalizer"], options["read"])
        key = None if self.bias_k is None else self._divided(1, self.bias_k[0])
        value = self._divided(2, heads.new_zeros(1, self.sizes[2]) if self.bias_v is None else self.bias_v[0])
        return _heads.with_extra_keys(call, options, score, heads, key, value, self.add_zero_attn)

    def _last(self, memory: Memory, query: Tensor, positions: Tensor | None) -> int | Tensor:
        """Positions of queries of a memory, by default those of its last keys."""
        if positions is not None:
            return _heads.checked_positions(positions, query, self.rotary_base)
        count, rows = len(memory), query.shape[-2]
        if self.rotary_base is None or memory.positions is None:
            return count - rows
        if rows > count:
            expected = f"those of {rows} queries, which are more than the {count} keys of the memory"
            raise ArgumentError(f"positions: expected {expected}, got None")
        return memory.positions[..., count - rows :]

    def _join(self, heads: Tensor, query: Tensor) -> Tensor:
        """The output of all heads, with their gates."""
        heads = heads if self._groups is None else heads.flatten(-4, -3)
        read = heads.transpose(-2, -3)
        if self.gate_proj is not None:
            read = read * self.gate_proj(query).sigmoid().unflatten(-1, (self.num_heads, -1))
        joined: Tensor = self.out_proj(read.flatten(-2))
        return joined

    def remember(
        self,
        key: Tensor,
        value: Tensor | None = None,
        *,
        mask: Mask | Tensor | None = None,
        positions: Tensor | None = None,
        capacity: int | None = None,
    ) -> Memory:
        """Keys and values projected into heads once: the cache of decoding.

        Args:
            key: `(..., Lk, kdim)`.
            value: `(..., Lk, vdim)`; None is key.
            mask: the allowed keys, against `(..., H, 1, Lk)`, or `masks.Lengths` of the examples.
            positions: of the keys, `(..., Lk)` or `(Lk,)`, as for forward. None counts from 0. The memory keeps them.
            capacity: as for `saccade.remember`.

        Returns:
            A `Memory` for this module's `forward(query, memory=...)`.
        """
        value, keys = key if value is None else value, self._project(1, key)
        rotations = 0 if positions is None else _heads.checked_positions(positions, key, self.rotary_base)
        heads, mask = (self._turned(keys, rotations), self._project(2, value)), self._beside(mask, key)
        memory = remember(*heads, score=self.score.get(), mask=mask, capacity=capacity)
        return replace(memory, positions=rotations) if isinstance(rotations, Tensor) else memory

    def append(
        self,
        memory: Memory,
        key: Tensor,
        value: Tensor | None = None,
        mask: Mask | Tensor | None = None,
        *,
        positions: Tensor | None = None,
    ) -> Memory:
        """The cache with more keys behind, for the next step of decoding.

        Args:
            memory: of this module's `remember`.
            key: `(..., n, kdim)`.
            value: `(..., n, vdim)`; None is key.
            mask: the allowed ones of the new keys. None allows all.
            positions: of the new keys, `(..., n)` or `(n,)`. None counts on from the number of keys. A memory with
                positions rejects None, since there may be padding between.

        Raises:
            ArgumentError: missing positions, or positions for a module without rotary positions.
        """
        keys, values = self._project(1, key), self._project(2, key if value is None else value)
        mask = self._beside(mask, key)
        if positions is None:
            if memory.positions is not None:
                raise ArgumentError("positions: expected those of the new keys, as the memory has positions, got None")
            return memory.append(self._turned(keys, len(memory)), values, mask)
        positions = _heads.checked_positions(positions, key, self.rotary_base)
        before = torch.arange(len(memory), device=key.device) if memory.positions is None else memory.positions
        batch = broadcast_shapes(before.shape[:-1], positions.shape[:-1])
        joined = torch.cat([part.expand(*batch, part.shape[-1]) for part in (before, positions)], -1)
        grown = replace(memory, positions=None).append(self._turned(keys, positions), values, mask)
        return replace(grown, positions=joined)
