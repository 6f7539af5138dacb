"""Calls of torch's own attention functions in a block, as calls of `attend`."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from inspect import signature
from types import FrameType, FunctionType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from saccade import masks, scores
from saccade._integrations.call import STACK, AttentionCall, compute
from saccade._integrations.multihead import multihead_call, multihead_result
from saccade.auxiliary import AuxRequest
from saccade.errors import ArgumentError

_SOFTMAX = {torch.softmax, F.softmax, Tensor.softmax}
_HEAD_FORWARD = signature(F.multi_head_attention_forward)
_WEIGHTS = AuxRequest(weights=True)
_SCORES_NDIM = 4  # (B, H, Lq, Lk)


def _unchecked(function: Any) -> Callable[..., Any]:
    """A function of torch without its check for modes, which would call the mode for ever."""
    without = {"has_torch_function": lambda _: False, "has_torch_function_unary": lambda _: False}
    copied = FunctionType(function.__code__, {**function.__globals__, **without}, argdefs=function.__defaults__)
    copied.__kwdefaults__ = function.__kwdefaults__
    return copied


_BACKWARD = {
    function: _unchecked(function) for function in (torch.autograd.grad, torch.autograd.backward, Tensor.backward)
}


class _Own(NamedTuple):
    """The result of the model's own kernel."""

    result: Any


class TorchAttention(TorchFunctionMode):
    """Intercepts attention functions of torch in this thread. Compiled code runs as without it."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is F.scaled_dot_product_attention and not torch.compiler.is_compiling():
            return _scaled_dot_product(func, args, kwargs)
        if func is F.multi_head_attention_forward and not torch.compiler.is_compiling():
            return _multi_head(func, args, kwargs)
        if func in _BACKWARD:  # a checkpoint calls its modules again
            with self:
                return _BACKWARD[func](*args, **kwargs)
        if func in _SOFTMAX and not torch.compiler.is_compiling() and _of_heads(*args[:1], **kwargs):
            for recorder in STACK.recorders:
                recorder.note_softmax(find_caller())
        return func(*args, **kwargs)


def _of_heads(*scores: Any, **kwargs: Any) -> bool:
    """Whether the argument of a softmax, by position or by name, may be scores of heads."""
    [argument] = scores or (kwargs.get("input"),)
    return isinstance(argument, Tensor) and argument.ndim >= _SCORES_NDIM


@contextmanager
def intercepted() -> Iterator[None]:
    """Intercept attention functions of torch in a block, once per thread however often blocks nest."""
    STACK.blocks += 1
    try:
        if STACK.blocks > 1:
            yield
        else:
            with TorchAttention():
                yield
    finally:
        STACK.blocks -= 1


@contextmanager
def untouched() -> Iterator[None]:
    """Run a block as if nothing was intercepted, if our mode is the innermost of torch's modes."""
    inner = torch.overrides._get_current_function_mode()
    if isinstance(inner, TorchAttention):
        with torch.overrides._pop_mode_temporarily():
            yield
    else:
        yield


class Caller(NamedTuple):
    """Where a call of attention comes from.

    Args:
        modules: modules whose `forward` is running, the innermost first.
        cross: whether the innermost has states of another sequence.
        joint_length: number of its own and these states, 0 if one of both is no variable.
        key_end: number of tokens in its cache, None without one.
        ours: whether the call is one of Saccade's own.
        packed: whether transformers has put the heads of a group in the place of the one query.
        sliding: whether transformers has a window for the call.
    """

    modules: tuple[nn.Module, ...]
    cross: bool
    joint_length: int
    key_end: int | None
    ours: bool
    packed: bool
    sliding: bool


def find_caller() -> Caller:
    """Find the modules that call, from the frames of this thread."""
    frame: FrameType | None = sys._getframe(2)
    modules, cross, joint_length, key_end, ours = list[nn.Module](), False, 0, None, False
    packed = sliding = False
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if not modules and name.startswith("saccade.") and not name.startswith(("saccade._integrations", "saccade.hf")):
            ours = True
        if frame.f_code.co_name == "sdpa_attention_forward" and not modules:
            packed = frame.f_locals.get("q_length") == 1
            sliding = frame.f_locals.get("kwargs", {}).get("sliding_window") is not None
        # `f_locals` keeps what it reads as long as the frame runs, so that only methods like `forward` are read
        is_forward = "forward" in frame.f_code.co_name and frame.f_code.co_varnames[:1] == ("self",)
        variables = frame.f_locals if is_forward else {}
        module = variables.get("self")
        if isinstance(module, nn.Module):
            if not modules:
                cross = any(variables.get(name) is not None for name in _OTHER_STATES)
                joint_length = _joint_length(variables)
                key_end = _end_of_cache(variables, module)
            modules.append(module)
        frame = frame.f_back
    return Caller(tuple(modules), cross, joint_length, key_end, ours, packed, sliding)


_OTHER_STATES = ("encoder_hidden_states", "key_value_states", "cross_attention_states", "context")


def _joint_length(variables: dict[str, Any]) -> int:
    """Number of states of both sequences of a module of diffusers, which may attend to both at once."""
    both = [variables.get(name) for name in ("hidden_states", "encoder_hidden_states")]
    lengths = [part.shape[-2] for part in both if isinstance(part, Tensor) and part.ndim > 1]
    return sum(lengths) if len(lengths) == len(both) else 0


def _end_of_cache(variables: dict[str, Any], module: nn.Module) -> int | None:
    """Number of tokens that the layer's cache of transformers has seen, None without a cache."""
    cache = variables.get("past_key_values", variables.get("cache"))
    layers, number = getattr(cache, "layers", None), getattr(module, "layer_idx", None)
    if not layers or number is None or number >= len(layers):
        return None
    length = getattr(layers[number], "cumulative_length", None)
    return None if length is None else int(length)


def _scaled_dot_product(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    caller = find_caller()
    if caller.ours:
        return func(*args, **kwargs)
    names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    query, key = given["query"], given["key"]
    mask, bias = _mask_and_bias(given.get("attn_mask"), query.ndim)
    if given.get("is_causal"):
        mask = masks.Causal(align="start") if mask is None else masks.Causal(align="start") & mask
    key_end = caller.key_end
    module = caller.modules[0] if caller.modules else None
    sliding = caller.sliding or getattr(module, "sliding_window", None) is not None
    joint = query.shape[-2] == key.shape[-2] == caller.joint_length
    cross = (caller.cross and not joint) or bool(getattr(module, "is_cross_attention", False))
    call = AttentionCall(
        modules=caller.modules,
        query=query,
        key=key,
        value=given["value"],
        score=scores.ScaledDot(given.get("scale")),
        mask=mask,
        bias=bias,
        dropout_p=given.get("dropout_p", 0.0),
        kind="cross" if cross else "sliding" if sliding else "self",
        key_offset=0 if cross or key_end is None else max(0, key_end - key.shape[-2]),
    )
    if caller.packed and query.shape[-2] > 1:
        parts = {name: _by_head(getattr(call, name)) for name in ("query", "mask", "bias")}
        call = replace(call, **parts)
    output = compute(call, lambda: func(*args, **kwargs))
    return output.reshape(*query.shape[:-1], output.shape[-1]) if call.query is not query else output


def _by_head(packed: Any) -> Any:
    """`(B, Hkv, G, n)` as `(B, Hkv·G, 1, n)`; a mask for all heads and other masks stay."""
    return packed.flatten(1, 2)[:, :, None] if isinstance(packed, Tensor) and packed.shape[2] > 1 else packed


def _mask_and_bias(mask: Tensor | None, ndim: int) -> tuple[masks.Mask | Tensor | None, Tensor | None]:
    """Split torch's mask into a boolean mask and a bias, with as many dimensions as the scores."""
    if mask is None:
        return None, None
    mask = mask[(None,) * (ndim - mask.ndim)]
    return (mask, None) if mask.dtype == torch.bool else (None, mask)


def _multi_head(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`nn.MultiheadAttention` by `attend`: `(Lq, B, D)` and weights `(B, H, Lq, Lk)` or their mean over heads."""
    caller = find_caller()
    bound = _HEAD_FORWARD.bind(*args, **kwargs)
    bound.apply_defaults()
    given = bound.arguments
    if caller.ours or given["static_k"] is not None or given["static_v"] is not None:
        return func(*args, **kwargs)
    call = multihead_call(given, modules=caller.modules)
    result = compute(call, lambda: _Own(func(*args, **kwargs)), _WEIGHTS if given["need_weights"] else None)
    return result.result if isinstance(result, _Own) else multihead_result(result, given)


@contextmanager
def replace_sdpa(**options: Any) -> Iterator[None]:
    r"""Compute torch's attention functions in a block by `attend`, in this thread alone.

    Calls of `F.scaled_dot_product_attention` and of `nn.MultiheadAttention` in the block become

    .. math:: \operatorname{attend}(q, k, v, \text{mask}, \text{bias}, \text{dropout\_p}, \text{options})

    so that any model takes another normalizer or score. The functions of torch do not change: other threads, compiled
    code and the time after the block are as always. Rows with nothing allowed give zeros.

    Args:
        options: `score`, `normalizer`, `gate`, `read` or `backend` of `attend`. A score replaces the scale of the call.

    Raises:
        ArgumentError: an option that `attend` does not have, or one that the call itself has, such as `mask`.

    Example:
        >>> import torch
        >>> from saccade import normalizers
        >>> x = torch.tensor([[[[4.0, 0.0], [0.0, 4.0]]]])
        >>> with replace_sdpa(normalizer=normalizers.Sparsemax()):
        ...     torch.nn.functional.scaled_dot_product_attention(x, x, x)
        tensor([[[[4., 0.],
                  [0., 4.]]]])
    """
    allowed = ("score", "normalizer", "gate", "read", "backend")
    if wrong := [name for name in options if name not in allowed]:
        raise ArgumentError(f"{wrong[0]}: expected one of {', '.join(allowed)}, got {wrong[0]}. The call has the rest.")
    STACK.replacements.append(options)
    try:
        with intercepted():
            yield
    finally:
        STACK.replacements.pop()
