"""Arguments of `torch.nn.functional.multi_head_attention_forward` as a call of `attend`."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade import masks
from saccade._integrations.call import AttentionCall, Kind
from saccade.errors import ArgumentTypeError, ShapeError


def multihead_call(arguments: Mapping[str, Any], *, batch_first: bool = False, **fields: Any) -> AttentionCall:
    """Project, split into heads and mask as torch does.

    Args:
        arguments: by their names. Sequences are `(L, B, features)`, or `(L, features)` without a batch.
        batch_first: whether they are `(B, L, features)`.
        fields: further fields of the call.
    """
    query, key, value = _project(arguments)
    length, batched = key.shape[1 if batch_first and key.ndim == 3 else 0], query.ndim == 3
    heads = arguments["num_heads"]
    query, key, value = (_split_heads(part, heads, batch_first) for part in (query, key, value))
    key, value = _append_keys(key, value, arguments)
    more = key.shape[2] - length
    mask: masks.Mask | Tensor | None = masks.Causal(align="start")
    bias: Tensor | None = None
    if not arguments["is_causal"] or arguments["key_padding_mask"] is not None or arguments["need_weights"] or more:
        shape = (*query.shape[:3], length)
        restrictions = _align_with_scores(arguments["attn_mask"], arguments["key_padding_mask"], shape, batched)
        mask, bias = _mask_and_bias(restrictions, more, query.dtype)
    kind: Kind = "self" if arguments["query"] is arguments["key"] else "cross"
    dropout_p = arguments["dropout_p"] if arguments["training"] else 0.0
    return AttentionCall(
        query=query, key=key, value=value, mask=mask, bias=bias, dropout_p=dropout_p, kind=kind, **fields
    )


def multihead_result(result: Any, arguments: Mapping[str, Any], *, batch_first: bool = False) -> tuple[Tensor, Any]:
    """Torch's output and weights for a result of the call, a pair if weights are needed."""
    context, weights = (result[0], result[1].weights) if arguments["need_weights"] else (result, None)
    batched = arguments["query"].ndim == 3
    heads_last = context.transpose(1, 2) if batch_first and batched else context.permute(2, 0, 1, 3)
    output = F.linear(heads_last.flatten(2), arguments["out_proj_weight"], arguments["out_proj_bias"])
    if weights is not None:
        weights = weights.to(arguments["query"].dtype)
        weights = weights.mean(1) if arguments["average_attn_weights"] else weights
    if not batched:
        return output[:, 0], None if weights is None else weights[0]
    return output, weights


def _project(arguments: Mapping[str, Any]) -> list[Tensor]:
    """Projected queries, keys and values, in the layout of the sequences."""
    query, key, value = sequences = [arguments[name] for name in ("query", "key", "value")]
    packed, bias = arguments["in_proj_weight"], arguments["in_proj_bias"]
    separate = arguments["use_separate_proj_weight"]
    if not separate and query is key is value:
        return list(F.linear(query, packed, bias).chunk(3, -1))
    weights = [arguments[f"{name}_proj_weight"] for name in "qkv"] if separate else packed.chunk(3)
    biases = [None] * 3 if bias is None else bias.chunk(3)
    return [F.linear(*parts) for parts in zip(sequences, weights, biases, strict=True)]


def _split_heads(part: Tensor, heads: int, batch_first: bool) -> Tensor:
    """A projected sequence as `(B, H, L, D)`."""
    if part.ndim == 2:
        part, batch_first = part[None], True
    part = part.unflatten(-1, (heads, -1))
    return part.transpose(1, 2) if batch_first else part.permute(1, 2, 0, 3)


def _append_keys(key: Tensor, value: Tensor, arguments: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
    """Keys and values with those of add_bias_kv and add_zero_attn behind."""
    if arguments["bias_k"] is not None:
        batch, heads = key.shape[:2]
        extra = [
            part.expand(1, batch, -1).unflatten(-1, (heads, -1)) for part in (arguments["bias_k"], arguments["bias_v"])
        ]
        key, value = (
            torch.cat([part, more.permute(1, 2, 0, 3).to(part.dtype)], 2)
            for part, more in zip((key, value), extra, strict=True)
        )
    if arguments["add_zero_attn"]:
        key, value = (F.pad(part, (0, 0, 0, 1)) for part in (key, value))
    return key, value


def _align_with_scores(
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
        padded = F.pad(restriction, (0, extra)) if extra else restriction
        if padded.dtype == torch.bool:
            allowed = ~padded if allowed is None else allowed & ~padded
        else:
            bias = padded.to(dtype) if bias is None else bias + padded.to(dtype)
    return allowed, bias
