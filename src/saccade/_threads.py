"""Hooks of one thread, and process-wide settings that threads share."""

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from threading import Lock, get_ident
from typing import Any, TypeVar

from torch import nn
from torch.utils.hooks import RemovableHandle

L = TypeVar("L")
_REGISTERING = Lock()  # torch numbers hooks by a counter that two threads may read at once


def free_in_children(lock: L) -> L:
    """Return a lock, free in a forked child."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lock._at_fork_reinit)  # type: ignore[attr-defined] # as of `logging`
    return lock


@contextmanager
def hooked(
    modules: Iterable[nn.Module], after: Callable[..., Any], before: Callable[..., Any] | None = None, **options: bool
) -> Iterator[None]:
    """Hook modules while the block runs, for the calls of this thread alone.

    Other threads call the modules as always. A copy of a module that is made within the block is an ordinary module.
    The forward hook `after` takes `(module, args, output)`, the pre-hook `before` `(module, args, kwargs)`. `options`
    are those of `torch.nn.Module.register_forward_hook`.
    """
    originals, thread = set(modules), get_ident()

    def in_thread(hook: Callable[..., Any]) -> Callable[..., Any]:
        return lambda module, *args: hook(module, *args) if module in originals and get_ident() == thread else None

    handles: list[RemovableHandle] = []
    try:
        with _REGISTERING:
            for module in originals:
                if before is not None:
                    handles.append(module.register_forward_pre_hook(in_thread(before), with_kwargs=True))
                handles.append(module.register_forward_hook(in_thread(after), **options))
        yield
    finally:
        for handle in handles:
            handle.remove()


class Shared:
    """A setting of the process: the first thread sets it, the last one restores it.

    `setting` makes the context manager that sets and restores it.
    """

    def __init__(self, setting: Callable[[], AbstractContextManager[Any]]) -> None:
        self._setting, self._stack, self._holders, self._lock = setting, ExitStack(), 0, Lock()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if not self._holders:
                self._stack.enter_context(self._setting())
            self._holders += 1
        try:
            yield
        finally:
            with self._lock:
                self._holders -= 1
                if not self._holders:
                    self._stack.close()


own_filters: Callable[[], AbstractContextManager[Any]] = (
    warnings.catch_warnings
    if getattr(sys.flags, "context_aware_warnings", False)  # of Python 3.14: each thread has its own
    else Shared(warnings.catch_warnings)
)
"""Restores the filters of warnings once no thread is within such a block."""
