"""Replacement of `torch.nn.MultiheadAttention` in any model."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, pad

from saccade import masks, normalizers, scores
from saccade._call.call import SCALED_DOT, SOFT, SOFTMAX
from saccade._call.validation import kinds
from saccade._definitions.argument_hints import reject_extra_kwargs
from saccade._integrations.call import AttentionCall, compute
from saccade.auxiliary import AuxRequest
from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError
from saccade.nn._checks import features
from saccade.nn._parameters import Parameters


class Replaced(NamedTuple):
    """Names of replaced modules, and of attention modules that stay.

    Args:
        names: of replaced modules, as in `model.named_modules()`. The model itself is "".
        left: the reason by the name of a module.

    >>> Replaced(("encoder.self_attn",), {}).names
    ('encoder.self_attn',)
    """

    names: tuple[str, ...]
    left: dict[str, str]


@reject_extra_kwargs
def replace(
    model: nn.Module,
    *,
    score: scores.Score | scores.ScoreFunction = SCALED_DOT,
    normalizer: normalizers.Normalizer | normalizers.NormalizerFunction = SOFTMAX,
    required: bool = True,
) -> Replaced:
    """Replace each `torch.nn.MultiheadAttention` of a model, in place.

        head_h = attend(W_h^Q query, W_h^K key, W_h^V value),  output = W^O [head_1; ...; head_H]

    Vaswani et al. 2017, section 3.2.2. The module stays the same object with another class, a subclass of torch's.
    So parameters, their names in a state, optimizers, hooks, dtype, device and mode stay. `forward` takes torch's
    arguments and returns `(output, weights)`. There are four differences:

    - A row in which everything is forbidden reads zeros, and has weights of 0. Torch gives NaN.
    - In training with dropout, the returned weights are those before dropout.
    - Torch's fused kernels for evaluation would bypass the module. So a `TransformerEncoderLayer` calls it, and a
      `TransformerEncoder` makes no nested tensors: its outputs at padding are computed, and not 0.
    - With add_bias_kv or add_zero_attn, queries may attend to the extra keys under is_causal as well.

    Args:
        model: any module. Subclasses of torch's class with code of their own are left.
        score: as for `attend`, one in all heads of all replaced modules. Tensors in it join the state.
        normalizer: as for `attend`, likewise.
        required: whether a model without a module to replace is an error.

    Returns:
        A `Replaced` with the names of the replaced modules, and a reason for each other attention module. These are
        modules with "attention" in the name of their class.

    Raises:
        ArgumentError: nothing to replace.

    >>> import torch
    >>> layer = torch.nn.TransformerEncoderLayer(8, 2, dropout=0.0, batch_first=True).eval()
    >>> x = torch.randn(2, 5, 8)
    >>> before = layer(x)
    >>> replace(layer).names
    ('self_attn',)
    >>> torch.allclose(layer(x), before, atol=1e-6)
    True
    """
    if not isinstance(model, nn.Module):
        raise ArgumentTypeError(f"model: expected a torch.nn.Module, got {type(model).__name__}")
    kinds(score, normalizer, SOFT, AuxRequest())
    modules = dict(model.named_modules())
    names = tuple(name for name, module in modules.items() if type(module) is nn.MultiheadAttention)
    left = {name: reason for name, module in modules.items() if (reason := _why_left(module)) is not None}
    if required and not names:
        raise ArgumentError(f"model: expected a torch.nn.MultiheadAttention in it, got {_nothing(model, left)}.")
    for name in names:
        attention = modules[name]
        attention.__class__ = TorchMultiheadAttention
        attention.score, attention.normalizer = Parameters(score), Parameters(normalizer)
        attention._qkv_same_embed_dim = False  # torch's fused layer refuses such a module, so it calls `forward`
    for module in modules.values():
        if isinstance(module, nn.TransformerEncoder) and _contains(module, TorchMultiheadAttention):
            module.use_nested_tensor = False
    return Replaced(names, left)


def _contains(module: nn.Module, kind: type[nn.Module]) -> bool:
    return any(isinstance(part, kind) for part in module.modules())


def _why_left(module: nn.Module) -> str | None:
    """Reason against replacing an attention module, None for others."""
    kind = type(module)
    if kind is nn.MultiheadAttention:
        return None
    if isinstance(module, TorchMultiheadAttention):
        return "it is replaced already"
    if isinstance(module, nn.MultiheadAttention):
        return f"{kind.__name__} is a subclass of torch.nn.MultiheadAttention, which may compute something else"
    inside = (part for part in module.modules() if part is not module)
    if not _has_attention(module) or any(_has_attention(part) for part in inside):
        return None
    if kind.__module__.startswith("saccade."):
        return "it is a module of Saccade"
    return f"{kind.__name__} is no torch.nn.MultiheadAttention"


def _has_attention(module: nn.Module) -> bool:
    return isinstance(module, nn.MultiheadAttention) or "attention" in type(module).__name__.lower()


def _nothing(model: nn.Module, left: dict[str, str]) -> str:
    """Reason for nothing to replace, with the way out."""
    if not left:
        return f"{type(model).__name__} without one. Pass required=False to go on"
    name, reason = next(iter(left.items()))
    return f"{len(left)} other modules, for example {name or 'the model'}: {reason}. Pass required=False to go on"


class TorchMultiheadAttention(nn.MultiheadAttention):
    """`torch.nn.MultiheadAttention`, computed by `attend`.

    `replace` makes such modules of torch's.
    """

    score: Parameters
    normalizer: Parameters

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from query to key and value, as the class of torch documents.

        Args:
            query: `(B, Lq, embed_dim)` with batch_first, else `(Lq, B, embed_dim)`; without a batch `(Lq, embed_dim)`.
            key, value: likewise, with kdim and vdim features.
            key_padding_mask: `(B, Lk)` or `(Lk,)`, boolean with True for padding, or float and added to the scores.
            need_weights: whether to return weights.
            attn_mask: `(Lq, Lk)` or `(B * H, Lq, Lk)`, boolean with True for forbidden, or float and added.
            average_attn_weights: whether to return the mean of all heads.
            is_causal: a hint that attn_mask is causal, which then need not be read.

        Returns:
            The output in the layout of query. The weights are `(B, Lq, Lk)` or `(B, H, Lq, Lk)`, without B if query
            has no batch, or None.

        Raises:
            ShapeError: shapes that do not fit.
            ArgumentError: is_causal without attn_mask, masks of integers, nested tensors.
        """
        if is_causal and attn_mask is None:
            raise ArgumentError("is_causal: expected False without an attn_mask, got True. Pass the mask as well.")
        batched = query.ndim == 3
        queries, keys, values = self._projections(query, key, value)
        inputs_keys = keys.shape[1]
        keys, values = self._with_extra_keys(keys, values)
        causal = is_causal and key_padding_mask is None and not need_weights and keys.shape[1] == inputs_keys
        mask: masks.Mask | Tensor | None = masks.Causal(align="start")
        bias: Tensor | None = None
        if not causal:
            shape = (queries.shape[0], self.num_heads, queries.shape[1], inputs_keys)
            restrictions = _for_scores(attn_mask, key_padding_mask, shape, batched)
            mask, bias = _mask_and_bias(restrictions, keys.shape[1] - inputs_keys, queries.dtype)
        queries, keys, values = (
            x.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2) for x in (queries, keys, values)
        )
        call = AttentionCall(
            module=self, query=queries, key=keys, value=values, score=self.score.get(), mask=mask, bias=bias,
            normalizer=self.normalizer.get(), dropout_p=self.dropout if self.training else 0.0,
            kind="self" if query is key else "cross",
        )  # fmt: skip
        result = compute(call, aux=AuxRequest(weights=True) if need_weights else None)
        context, weights = (result[0], result[1].weights.to(query.dtype)) if need_weights else (result, None)
        output = linear(context.transpose(1, 2).flatten(2), self.out_proj.weight, self.out_proj.bias)
        if weights is not None and average_attn_weights:
            weights = weights.mean(1)
        if not batched:
            return output[0], None if weights is None else weights[0]
        return output if self.batch_first else output.transpose(0, 1), weights

    def _projections(self, query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
        """Projected queries, keys and values `(B, L, embed_dim)`."""
        packed, bias = self.in_proj_weight, self.in_proj_bias
        inputs = {"query": (query, self.embed_dim), "key": (key, self.kdim), "value": (value, self.vdim)}
        for name, (tensor, size) in inputs.items():
            features(name, tensor, size, self.out_proj.weight)
            if tensor.ndim not in (2, 3) or tensor.ndim != query.ndim:
                expected = "(length, features), or a batch of them" if name == "query" else f"{query.ndim} dimensions"
                raise ShapeError(f"{name}: expected {expected}, got shape {tuple(tensor.shape)}")
        if packed is not None and query is key is value:
            return list(linear(self._batch_first(query), packed, bias).chunk(3, -1))
        weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight) if packed is None else packed.chunk(3)
        biases = (None, None, None) if bias is None else bias.chunk(3)
        sequences = map(self._batch_first, (query, key, value))
        return [linear(*projection) for projection in zip(sequences, weights, biases, strict=True)]

    def _batch_first(self, x: Tensor) -> Tensor:
        if x.ndim == 2:
            return x[None]
        return x if self.batch_first else x.transpose(0, 1)

    def _with_extra_keys(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values with those of add_bias_kv and add_zero_attn behind."""
        pairs = [(keys, values)]
        if self.bias_k is not None and self.bias_v is not None:
            learned = (self.bias_k.to(keys.dtype), self.bias_v.to(values.dtype))
            pairs.append((learned[0].expand(len(keys), -1, -1), learned[1].expand(len(values), -1, -1)))
        if self.add_zero_attn:
            pairs.append((torch.zeros_like(keys[:, :1]), torch.zeros_like(values[:, :1])))
        if len(pairs) == 1:
            return keys, values
        all_keys, all_values = zip(*pairs, strict=True)
        return torch.cat(all_keys, 1), torch.cat(all_values, 1)


def _for_scores(
    attn_mask: Tensor | None, key_padding_mask: Tensor | None, shape: tuple[int, int, int, int], batched: bool
) -> list[Tensor]:
    """Torch's masks with the dimensions of scores `(B, H, Lq, Lk)`."""
    batch, heads, rows, count = shape
    restrictions = []
    if attn_mask is not None:
        if tuple(attn_mask.shape) not in ((rows, count), (batch * heads, rows, count)):
            expected = f"expected {(rows, count)} or {(batch * heads, rows, count)}"
            raise ShapeError(f"attn_mask: {expected}, got shape {tuple(attn_mask.shape)}")
        restrictions.append(attn_mask if attn_mask.ndim == 2 else attn_mask.unflatten(0, (batch, heads)))
    if key_padding_mask is not None:
        expected_shape = (batch, count) if batched else (count,)
        if tuple(key_padding_mask.shape) != expected_shape:
            got = tuple(key_padding_mask.shape)
            raise ShapeError(f"key_padding_mask: expected {expected_shape}, got shape {got}")
        restrictions.append(key_padding_mask.reshape(batch, 1, 1, count))
    for mask in restrictions:
        if mask.dtype != torch.bool and not mask.is_floating_point():
            expected = "expected boolean masks, True being forbidden, or float masks"
            raise ArgumentTypeError(f"attn_mask, key_padding_mask: {expected}, got dtype {mask.dtype}")
    return restrictions


def _mask_and_bias(restrictions: list[Tensor], extra: int, dtype: torch.dtype) -> tuple[Tensor | None, Tensor | None]:
    """Mask and bias of `attend` for torch's masks and `extra` allowed keys."""
    allowed: Tensor | None = None
    bias: Tensor | None = None
    for restriction in restrictions:
        padded = pad(restriction, (0, extra)) if extra else restriction
        if padded.dtype == torch.bool:
            allowed = ~padded if allowed is None else allowed & ~padded
        else:
            bias = padded.to(dtype) if bias is None else bias + padded.to(dtype)
    return allowed, bias
