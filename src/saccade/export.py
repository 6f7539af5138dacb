"""Exported programs that run without Saccade."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from saccade.backends.blockwise.blocks import evaluate, result_kinds, widened
from saccade.backends.blockwise.engine import DEFINITION, engine_named
from saccade.backends.blockwise.function import floating_by_definition, restored
from saccade.kernels.sums import by_definition

__all__ = ["decompositions"]


def decompositions() -> dict[Any, Callable[..., Any]]:
    """Return torch's operations for the operators of Saccade, by operator.

    A program of `torch.export` has these operators wherever a call of `attend` runs block by block, for example with
    an additive score. A decomposed program computes all scores of a call at once.

    Example:
        >>> from saccade.nn import Attention
        >>> attention, x = Attention(4, 4, 4, score="additive"), torch.randn(2, 5, 4)
        >>> program = torch.export.export(attention, (x, x, x))
        >>> program = program.run_decompositions(decompositions())  # doctest: +SKIP
        >>> torch.allclose(program.module()(x, x, x), attention(x, x, x), atol=1e-6)
        True
    """
    operators = torch.ops.saccade
    return {operators.blockwise_forward.default: _forward, operators.blockwise_backward.default: _backward}


def _forward(leaves: Sequence[Tensor], skeleton: str, engine: str) -> list[Tensor]:
    call = restored(skeleton, leaves)
    results = zip(evaluate(DEFINITION, widened(call), call.grid()), result_kinds(call), strict=True)
    unread = (call.query.new_empty(shape, dtype=dtype) for shape, dtype in engine_named(engine).residuals(call))
    return [*(result.to(dtype).expand(shape).contiguous() for result, (shape, dtype) in results), *unread]


def _backward(
    grads: Sequence[Tensor | None],
    leaves: Sequence[Tensor],
    kept: Sequence[Tensor],
    skeleton: str,
    engine: str,
    needed: Sequence[bool],
) -> list[Tensor]:
    def results(*moved: Tensor) -> tuple[Tensor, ...]:
        computed = floating_by_definition(restored(skeleton, moved))
        return tuple(result for result, grad in zip(computed, grads, strict=True) if grad is not None)

    present = [grad for grad in grads if grad is not None]
    with torch.no_grad():
        gradients = by_definition(results, leaves, needed, present)
    pairs = zip(gradients, leaves, needed, strict=True)
    return [torch.zeros_like(leaf) if grad is None else grad.contiguous() for grad, leaf, need in pairs if need]
