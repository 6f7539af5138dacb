"""Modules of torch with a fused path or compiled code in recordings."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from types import MethodType
from typing import Any

import torch
from torch import nn

from saccade._integrations.call import STACK
from saccade._integrations.sdpa import untouched
from saccade._threads import free_in_children
from saccade.look._state import unchanged
from saccade.nn.replacement import TorchMultiheadAttention

_FUSED = (nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerEncoder)
"""Modules of torch with a fused path that calls no function of attention."""


@dataclass
class _Patch:
    """A `forward` in the place of another one.

    `replaced` is None for that of the module's class, and `holders` is the number of blocks that need the patch.
    """

    forward: Callable[..., Any]
    replaced: Callable[..., Any] | None
    holders: int = 0


_PATCHES: dict[nn.Module, _Patch] = {}
_PATCHING = free_in_children(Lock())


@contextmanager
def own_paths(model: nn.Module, *, fused: bool) -> Iterator[None]:
    """Let modules of torch take their compiled code or their fused path.

    A module with a fused path runs untouched. Then it runs once more by its usual path, without gradients, for the
    records, if `fused`. Blocks of several threads share the patch of a module, and the last one to end restores its
    `forward`. Threads that record nothing get the forward as it is.
    """
    with _PATCHING:
        held = [module for module in model.modules() if _patched(module, fused)]
        for module in held:
            _PATCHES[module].holders += 1
    try:
        yield
    finally:
        with _PATCHING:
            for module in held:
                _PATCHES[module].holders -= 1
                if not _PATCHES[module].holders:
                    _restore(module, _PATCHES.pop(module))


def _patched(module: nn.Module, fused: bool) -> bool:
    """Patch a module that needs it and is not patched, and tell whether it is."""
    replaced = vars(module).get("forward")
    if "_orig_mod" in module._modules and replaced is not None:  # of torch.compile
        if module not in _PATCHES:
            _patch(module, _untouched_always(replaced), replaced)
    elif not (fused and _fuses(module)):
        return False
    elif module not in _PATCHES:
        if replaced is not None:
            return False
        _patch(module, MethodType(_untouched_first, module), None)
    return True


def _patch(module: nn.Module, forward: Callable[..., Any], replaced: Callable[..., Any] | None) -> None:
    _PATCHES[module] = _Patch(forward, replaced)
    module.forward = forward


def _restore(module: nn.Module, patch: _Patch) -> None:
    if vars(module).get("forward") is not patch.forward:  # replaced in the block
        return
    if patch.replaced is None:
        del module.forward
    else:
        module.forward = patch.replaced


def _fuses(module: nn.Module) -> bool:
    """Whether torch has a fused path for a module."""
    return isinstance(module, _FUSED) and not any(
        isinstance(part, TorchMultiheadAttention) for part in module.modules()
    )


def _untouched_always(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Run a compiled forward without the intercepting mode."""

    def compiled(*args: Any, **kwargs: Any) -> Any:
        with untouched():
            return forward(*args, **kwargs)

    return compiled


def _untouched_first(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
    """Run the `forward` of a module's class as it is, and again for records."""
    usual = type(self).forward
    if torch.compiler.is_compiling() or not _observed(self) or not _may_fuse(self):
        return usual(self, *args, **kwargs)
    STACK.fused = STACK.paused = True
    try:
        with untouched():
            result = usual(self, *args, **kwargs)
        STACK.paused = False
        with unchanged(self):
            usual(self, *args, **kwargs)
    finally:
        STACK.fused = STACK.paused = False
    return result


def _observed(module: nn.Module) -> bool:
    """Whether recorders of this thread observe a module.

    A part of a module that runs twice is not observed by itself, and replaced attention has no fused path.
    """
    recorders = STACK.recorders
    return (
        any(module in recorder.every for recorder in recorders)
        and all(recorder.mode == "observe" for recorder in recorders)
        and not (STACK.fused or STACK.replacements)
    )


def _may_fuse(module: nn.Module) -> bool:
    """Whether torch may take the fused path: in eval mode, without gradients or hooks."""
    differentiable = torch.is_grad_enabled() and any(part.requires_grad for part in module.parameters())
    hooks = any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())
    return not (module.training or differentiable or hooks)
