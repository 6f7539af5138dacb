"""Starting the other processes of a run on this machine, and ending with them: no process is left waiting."""

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import connection
from multiprocessing.context import SpawnProcess
from typing import Any

import torch

from saccade.errors import SaccadeError
from saccade.train.notes import say
from saccade.train.ranks import Ranks, free_port, joined, placed

__all__ = ["company"]

_GRACE = 30.0  # seconds in which a process notices by itself that another is gone


@contextmanager
def company(ranks: Ranks, device: torch.device, work: Callable[..., object], *arguments: Any) -> Iterator[None]:
    """Have the other processes do their work while the block runs in this one, the first of them.

    Args:
        ranks: how many there shall be; none is started if this one is alone or something else started them.
        device: where this one computes.
        work: called with the arguments in each of the others, which are told their place by the environment.

    Raises:
        SaccadeError: if one of them ended before its time.
    """
    if ranks.world == 1 or ranks.external:
        yield
        return
    context, port = multiprocessing.get_context("spawn"), free_port()
    others = [
        context.Process(target=_member, args=(rank, ranks.world, port, work, arguments), daemon=True)
        for rank in range(1, ranks.world)
    ]
    for process in others:
        process.start()
    done = threading.Event()
    threading.Thread(target=_watch, args=(others, done), daemon=True).start()
    try:
        with placed(0, ranks.world, port), joined(device):
            try:
                yield
            except BaseException as error:
                done.set()
                if _of_connection(error):  # whose other end may take a while to fall
                    connection.wait([process.sentinel for process in others], _GRACE)
                lost = _lost(others)
                _end(others)  # while they can still be reached: they shall not complain of what happened here
                if lost:
                    raise SaccadeError(lost) from None
                raise
            for process in others:
                process.join(_GRACE)
    finally:
        done.set()
        _end(others)


def _member(rank: int, world: int, port: int, work: Callable[..., object], arguments: tuple[Any, ...]) -> None:
    """What another process does; what goes wrong in all of them is said by the first."""
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    try:
        with placed(rank, world, port):
            work(*arguments)
    except (KeyboardInterrupt, SaccadeError):
        sys.exit(1)


def _leave_with_parent() -> None:
    """End when the process that started this one does, even if it was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _watch(others: list[SpawnProcess], done: threading.Event) -> None:
    """End this process if another did, and it still waits for it."""
    connection.wait([process.sentinel for process in others])
    if not done.wait(_GRACE) and (lost := _lost(others)):
        say(f"error: {lost}")
        os._exit(2)


def _of_connection(error: BaseException) -> bool:
    """Whether an error is that another process cannot be reached; gloo and NCCL have no common class for it."""
    return isinstance(error, RuntimeError) and any(word in str(error) for word in ("gloo", "NCCL", " by peer"))


def _lost(others: list[SpawnProcess]) -> str:
    """What to say of the first process that failed; nothing if none did."""
    for rank, process in enumerate(others, 1):
        if process.exitcode:
            way_out = "the last checkpoint is kept, and the same command goes on from there"
            return f"process {rank} of {len(others) + 1} ended with code {process.exitcode}; {way_out}"
    return ""


def _end(others: list[SpawnProcess]) -> None:
    for process in others:
        process.kill()
        process.join()
