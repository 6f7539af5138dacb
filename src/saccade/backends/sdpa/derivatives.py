"""Second derivatives for torch's kernels."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from saccade._definitions.numerics import wide
from saccade._definitions.simplex import softmax


def keeping_elsewhere() -> bool:
    """Whether autograd saves tensors through hooks, as in checkpointing."""
    return torch._C._autograd._top_saved_tensors_default_hooks(False) is not None


def twice_differentiable(output: Tensor) -> None:
    """Make the gradients of a kernel's output differentiable.

    A hook on the kernel's autograd node replaces gradients that are recorded by those of the definition, and costs
    nothing otherwise. A `torch.autograd.Function` around the kernel cost 25 µs forward and 60 backward. torch's plain
    formula is twice differentiable by itself.
    """
    node = output.grad_fn
    if node is not None and not _of_kernel(node):  # a head's dimension that was filled up is cut again
        node = node.next_functions[0][0] if node.name() == "SliceBackward0" else None
    if node is not None and _of_kernel(node):
        node.register_hook(_recorded)


def _of_kernel(node: Any) -> bool:
    """Whether a node's type is a fused kernel's: only these save a logsumexp."""
    return hasattr(type(node), "_saved_logsumexp")


def _recorded(
    inputs: tuple[Tensor | None, ...], outputs: tuple[Tensor | None, ...]
) -> tuple[Tensor | None, ...] | None:
    """Differentiable gradients of a kernel's inputs, or None to keep its own."""
    if not torch.is_grad_enabled() or outputs[0] is None:
        return None
    node: Any = torch._C._current_autograd_node()  # the hook keeps none of its saved tensors alive
    bias = node._saved_attn_mask if hasattr(type(node), "_saved_attn_mask") else getattr(node, "_saved_attn_bias", None)
    scale = node._saved_scale
    tensors = node._saved_query, node._saved_key, node._saved_value
    scale = 1 / math.sqrt(tensors[0].shape[-1]) if scale is None else scale
    gradients = _pulled(tensors, bias, node._saved_is_causal, scale, outputs[0])
    kept = (new if old is not None else None for new, old in zip(gradients, inputs, strict=False))
    return (*kept, *inputs[3:])


def _pulled(
    tensors: tuple[Tensor, Tensor, Tensor], bias: Tensor | None, is_causal: bool, scale: float, grad: Tensor
) -> tuple[Tensor, ...]:
    def textbook(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        scores = wide(query * scale) @ wide(key).mT
        mask = torch.ones_like(scores, dtype=torch.bool).tril() if is_causal else bias
        if mask is not None and mask.dtype != torch.bool:
            scores, mask = scores + mask, mask != -torch.inf
        return (softmax(scores, mask) @ wide(value)).to(value.dtype)

    gradients: tuple[Tensor, ...] = torch.func.vjp(textbook, *tensors)[1](grad)
    return gradients


class Recomputed(torch.autograd.Function):
    """torch's kernel, computed again backward, since hooks may unpack only once."""

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, is_causal: bool, scale: float
    ) -> Tensor:
        ctx.save_for_backward(query, key, value, bias)
        ctx.settings = is_causal, scale
        return scaled_dot_product_attention(query, key, value, bias, 0.0, is_causal, scale=scale)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        *tensors, bias = ctx.saved_tensors
        is_causal, scale = ctx.settings
        if torch.is_grad_enabled():
            return (*_pulled(tuple(tensors), bias, is_causal, scale, grad), None, None, None)
        with torch.enable_grad():
            leaves = [tensor.detach().requires_grad_() for tensor in tensors]
            query, key, value = leaves
            output = scaled_dot_product_attention(query, key, value, bias, 0.0, is_causal, scale=scale)
        return (*torch.autograd.grad(output, leaves, grad), None, None, None)
