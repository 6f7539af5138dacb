"""`MultiheadAttention`: any score in every head, grouped queries, a cache that goes in and comes out."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from saccade import normalizers, scores
from saccade.attention import attend
from saccade.auxiliary import AuxRequest
from saccade.biases import Factor, rotate
from saccade.checks import number, whole
from saccade.errors import ArgumentError
from saccade.foreign import refuse, refusing
from saccade.masks import Mask
from saccade.memory import Memory, remember
from saccade.nn.attention import features, named_score, only_memory, parts, projected, sources
from saccade.nn.heads import beside_heads, checked_positions, following
from saccade.nn.parameters import Parameters


class MultiheadAttention(nn.Module):
    """Multi-head attention, head_h = attend(W_h^Q query, W_h^K key, W_h^V value), output = W^O [head_1; ...; head_H].

    Vaswani et al. 2017, section 3.2.2. Batch comes first. Loads the state of `torch.nn.MultiheadAttention` (of equal
    key and value dimensions, or with kdim and vdim) and computes the same.

    Args:
        embed_dim: features of query and output, a multiple of num_heads.
        num_heads: H.
        num_kv_heads: heads of keys and values, a divisor of H: queries share them in groups (Ainslie et al. 2023);
            None is H.
        kdim, vdim: features of key and of value; None is embed_dim.
        bias: whether the projections add one.
        score: a name as for `Attention` (parameters are one set a head), an object or a callable.
        normalizer: one of `saccade.normalizers` or a callable; None is Softmax.
        max_length: the most keys that "location" can score.
        rotary_base: turns queries and keys by their positions (`saccade.biases.rotate`, Su et al. 2021), with this base
            of the wavelengths; None leaves them as they are. Both begin at position 0, but the queries of a memory
            are its last keys; `positions=` says otherwise, for each example.
        dropout_p: probability of dropping a weight, in training.
        device, dtype: as everywhere in torch.nn.

    Raises:
        ArgumentError: heads that do not divide what they must; a rotary_base with an odd number of features a head.

    >>> import torch
    >>> attention = MultiheadAttention(16, 4, num_kv_heads=2)
    >>> x = torch.randn(2, 5, 16)
    >>> memory = attention.remember(x)
    >>> torch.allclose(attention(x), attention(x, memory=memory), atol=1e-6)
    True
    """

    in_proj_weight: Tensor
    in_proj_bias: Tensor | None
    q_proj_weight: Tensor
    k_proj_weight: Tensor
    v_proj_weight: Tensor

    @refusing
    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        *,
        num_kv_heads: int | None = None,
        kdim: int | None = None,
        vdim: int | None = None,
        bias: bool = True,
        score: str | scores.Score | scores.ScoreFunction = "scaled_dot",
        normalizer: normalizers.Normalizer | normalizers.NormalizerFunction | None = None,
        max_length: int | None = None,
        rotary_base: float | None = None,
        dropout_p: float = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **foreign: Any,
    ) -> None:
        if foreign:
            refuse(MultiheadAttention.__init__, foreign)
        super().__init__()
        whole("embed_dim", embed_dim, least=1)
        whole("num_heads", num_heads, least=1)
        for name, size in (("num_kv_heads", num_kv_heads), ("kdim", kdim), ("vdim", vdim), ("max_length", max_length)):
            whole(name, size, least=1, none=True)
        parts(score, normalizer, None, dropout_p)
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        if embed_dim % num_heads:
            raise ArgumentError(f"num_heads: expected a divisor of embed_dim = {embed_dim}, got {num_heads}")
        if num_heads % num_kv_heads:
            raise ArgumentError(f"num_kv_heads: expected a divisor of num_heads = {num_heads}, got {num_kv_heads}")
        number("rotary_base", rotary_base, above=0, none=True)
        if rotary_base is not None and embed_dim // num_heads % 2:
            each = f"{embed_dim} / {num_heads}"
            raise ArgumentError(
                f"rotary_base: expected an even number of features a head, got {each}; take other heads"
            )
        self.rotary_base = rotary_base
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        self.embed_dim, self.num_heads, self.num_kv_heads = embed_dim, num_heads, num_kv_heads
        self.head_dim = embed_dim // num_heads
        self.sizes = (embed_dim, num_kv_heads * self.head_dim, num_kv_heads * self.head_dim)
        self.inputs = inputs = (embed_dim, embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim)
        self._declare_projections(inputs, bias, place)
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=bias, **place)
        heads = (num_kv_heads, num_heads // num_kv_heads)
        per_head = heads if num_kv_heads != num_heads else (num_heads,)
        if isinstance(score, str):
            score = named_score(score, self.head_dim, self.head_dim, max_length=max_length, heads=per_head, **place)
        self.score = Parameters(score)
        self.normalizer = Parameters(normalizers.Softmax() if normalizer is None else normalizer)
        self.dropout_p = dropout_p
        self.reset_parameters()

    def _declare_projections(self, inputs: tuple[int, int, int], bias: bool, place: dict[str, Any]) -> None:
        """One packed weight where all inputs are alike, as torch lays its state out, else three."""
        self.packed = inputs[0] == inputs[1] == inputs[2]
        names = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
        weights = dict.fromkeys(names)
        if not self.packed:
            weights = {
                n: nn.Parameter(torch.empty(o, i, **place)) for n, o, i in zip(names, self.sizes, inputs, strict=True)
            }
        for name, weight in weights.items():
            self.register_parameter(name, weight)
        packed = nn.Parameter(torch.empty(sum(self.sizes), inputs[0], **place)) if self.packed else None
        self.register_parameter("in_proj_weight", packed)
        self.register_parameter("in_proj_bias", nn.Parameter(torch.empty(sum(self.sizes), **place)) if bias else None)

    def reset_parameters(self) -> None:
        """Glorot-uniform projections and zero biases (Glorot, Bengio 2010, equation 16)."""
        for name, parameter in self.named_parameters(recurse=False):
            if name.endswith("weight"):
                nn.init.xavier_uniform_(parameter)
            else:
                nn.init.zeros_(parameter)
        if self.out_proj.bias is not None:
            nn.init.zeros_(self.out_proj.bias)

    def _project(self, which: int, x: Tensor) -> Tensor:
        """Input projection 0 (query), 1 (key) or 2 (value), split into heads: `(..., heads, L, head_dim)`.

        With grouped queries the heads are `(Hkv, G)` for queries and `(Hkv, 1)` for keys and values.
        """
        features(("query", "key", "value")[which], x, self.inputs[which], self.out_proj.weight)
        bias = self.in_proj_bias.split(self.sizes)[which] if self.in_proj_bias is not None else None
        if self.packed:
            weight = self.in_proj_weight.split(self.sizes)[which]
        else:
            weight = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)[which]
        return self._split(nn.functional.linear(x, weight, bias))

    def _split(self, x: Tensor) -> Tensor:
        heads: Tensor = x.unflatten(-1, (-1, self.head_dim)).transpose(-2, -3)  # then as many dimensions as _head_dims
        return heads if self.num_kv_heads == self.num_heads else heads.unflatten(-3, (self.num_kv_heads, -1))

    @property
    def _head_dims(self) -> int:
        return 1 if self.num_kv_heads == self.num_heads else 2

    def _mask(self, mask: Mask | Tensor | None, x: Tensor) -> Mask | Tensor | None:
        """A mask of the sequences x for the scores of their heads."""
        return beside_heads(mask, x.ndim - 2, self._head_dims) if isinstance(mask, Mask) else mask

    def _turned(self, heads: Tensor, positions: int | Tensor = 0) -> Tensor:
        """Rotated by the positions, or by those from a first one on."""
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
        """All three input projections: one product where they are of the same tensor."""
        if self.packed and query is key is value:
            together = nn.functional.linear(query, self.in_proj_weight, self.in_proj_bias)
            first, second, third = (self._split(part) for part in together.split(self.sizes, -1))
        else:
            first, second, third = self._project(0, query), self._project(1, key), self._project(2, value)
        return self._turned(first, positions), self._turned(second, positions), third

    @refusing
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
        positions: Tensor | None = None,
        aux: AuxRequest | None = None,
        **foreign: Any,
    ) -> Any:
        """Attends from query to key and value, or to a memory of this module's `remember`.

        Args:
            query: `(..., Lq, embed_dim)`.
            key: `(..., Lk, kdim)`; None is query (self-attention).
            value: `(..., Lk, vdim)`; None is key.
            memory: instead of key and value.
            mask, bias, gate: as for `attend`, against `(..., H, Lq, Lk)`; with grouped queries against `(..., Hkv, G,
                Lq, Lk)`. What a mask says of each example needs no dimension for the heads: `masks.Lengths(n)` with n
                `(...)`.
            positions: where the queries stand, for rotary positions, `(..., Lq)` or `(Lq,)`, in tokens: that of a token
                among its example's own, wherever padding put it. None counts from 0, and takes the last keys' of a
                memory. Without a memory, keys are the queries and stand where these do.
            aux: as for `attend`.

        Returns:
            `(..., Lq, embed_dim)`; with aux a pair of it and an `AuxOutput` with one entry a head.

        Raises:
            ArgumentError: both a memory and a key or value; positions of queries that are not the keys, or of a module
                without rotary positions.
        """
        if foreign:
            refuse(MultiheadAttention.forward, foreign)
        features("query", query, self.inputs[0], self.out_proj.weight)
        options = {
            "mask": self._mask(mask, query),
            "bias": bias,
            "gate": gate,
            "normalizer": self.normalizer.get(),
            "dropout_p": self.dropout_p if self.training else 0.0,
            "aux": aux,
        }
        if memory is None:
            key, value = sources(query, key, value)
            if positions is not None and key is not query:
                raise ArgumentError(
                    "positions: expected them for self-attention or a memory, got keys that stand elsewhere; give "
                    "remember(key, positions=...) theirs, and this its memory"
                )
            places = 0 if positions is None else checked_positions(positions, query, self.rotary_base)
            found = attend(*self._heads(query, key, value, places), score=self.score.get(), **options)
        else:
            only_memory(memory, key, value)
            heads = self._turned(self._project(0, query), self._last(memory, query, positions))
            found = memory.read(heads, **options)
        return projected(found, self._join, aux)

    def _last(self, memory: Memory, query: Tensor, positions: Tensor | None) -> int | Tensor:
        """Where queries of a memory stand: as is said, or at its last keys."""
        if positions is not None:
            return checked_positions(positions, query, self.rotary_base)
        first = len(memory) - query.shape[-2]
        return first if memory.positions is None else memory.positions[..., first:]

    def _join(self, heads: Tensor) -> Tensor:
        heads = heads if self.num_kv_heads == self.num_heads else heads.flatten(-4, -3)
        joined: Tensor = self.out_proj(heads.transpose(-2, -3).flatten(-2))
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
        """Keys and values projected into heads once: the key-value cache of decoding.

        Args:
            key: `(..., Lk, kdim)`.
            value: `(..., Lk, vdim)`; None is key.
            mask: which of the keys may be attended to, against `(..., H, 1, Lk)`, or `masks.Lengths` of the examples.
            positions: where the keys stand, `(..., Lk)` or `(Lk,)`, as for forward; None counts from 0. The memory
                keeps them.
            capacity: as for `saccade.remember`.

        Returns:
            A `Memory` for this module's `forward(query, memory=...)`.
        """
        value, keys = key if value is None else value, self._project(1, key)
        places = 0 if positions is None else checked_positions(positions, key, self.rotary_base)
        heads, mask = (self._turned(keys, places), self._project(2, value)), self._mask(mask, key)
        memory = remember(*heads, score=self.score.get(), mask=mask, capacity=capacity)
        return replace(memory, positions=places) if isinstance(places, Tensor) else memory

    def append(
        self,
        memory: Memory,
        key: Tensor,
        value: Tensor | None = None,
        mask: Mask | Tensor | None = None,
        *,
        positions: Tensor | None = None,
    ) -> Memory:
        """The cache with more keys behind: what comes out of one decoding step and goes into the next.

        Args:
            memory: of this module's `remember`.
            key: `(..., n, kdim)`.
            value: `(..., n, vdim)`; None is key.
            mask: which of the new keys may be attended to; None allows all.
            positions: where the new keys stand, `(..., n)` or `(n,)`; None goes on from the number of keys, and is
                refused where the memory keeps positions, since padding may lie in between.

        Raises:
            ArgumentError: positions missing, or given to a module without rotary positions.
        """
        keys, values = self._project(1, key), self._project(2, key if value is None else value)
        mask = self._mask(mask, key)
        if positions is None:
            if memory.positions is not None:
                raise ArgumentError("positions: expected those of the new keys, since the memory keeps such, got None")
            return memory.append(self._turned(keys, len(memory)), values, mask)
        places = checked_positions(positions, key, self.rotary_base)
        joined = following(memory.positions, len(memory), places)
        grown = replace(memory, positions=None).append(self._turned(keys, places), values, mask)
        return replace(grown, positions=joined)
