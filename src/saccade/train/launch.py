"""Starting the other processes of a run on this machine, and ending with them: no process is left waiting."""

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

import torch

from saccade.errors import SaccadeError
from saccade.train.files import told
from saccade.train.notes import say
from saccade.train.ranks import GOES_ON, Ranks, Unreachable, free_port, joined, of_connection, placed

__all__ = ["launch"]

_GRACE = 30.0  # seconds in which a process notices by itself that another is gone
_FAILED, _UNREACHED, _INTERRUPTED = 1, 3, 130  # how another process ends; the first says why


@dataclass(frozen=True)
class _Other:
    """Another process, and where its last words come out."""

    process: SpawnProcess
    words: Connection


@contextmanager
def launch(ranks: Ranks, device: torch.device, work: Callable[..., object], *arguments: Any) -> Iterator[None]:
    """Have the other processes do their work while the block runs in this one, the first of them.

    Args:
        ranks: how many there shall be; none is started if this one is alone or something else started them.
        device: where this one computes.
        work: called with the arguments in each of the others, which are told their place by the environment.

    Raises:
        SaccadeError: if one of them ended before its time.
        KeyboardInterrupt: if it was asked to.
    """
    if ranks.world == 1 or ranks.external:
        yield
        return
    context, port = multiprocessing.get_context("spawn"), free_port()
    others: list[_Other] = []
    for rank in range(1, ranks.world):
        ear, mouth = context.Pipe(duplex=False)
        member = (mouth, rank, ranks.world, port, work, arguments)
        others.append(_Other(context.Process(target=_member, args=member, daemon=True), ear))
        others[-1].process.start()
        mouth.close()  # its own end stays open
    done = threading.Event()
    threading.Thread(target=_watch, args=(others, done), daemon=True).start()
    try:
        with placed(0, ranks.world, port), joined(device):
            try:
                yield
            except BaseException as error:
                done.set()
                blame = _blame(others, _GRACE) if of_connection(error) else None
                _end(others)  # while they can still be reached: they shall not complain of what happened here
                if blame:
                    raise blame from error
                raise
            for other in others:
                other.process.join(_GRACE)
    finally:
        done.set()
        _end(others)


def _member(
    mouth: Connection, rank: int, world: int, port: int, work: Callable[..., object], arguments: tuple[Any, ...]
) -> None:
    """What another process does; what goes wrong in it is said by the first."""
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    try:
        with placed(rank, world, port):
            work(*arguments)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except Unreachable:
        sys.exit(_UNREACHED)
    except (SaccadeError, OSError) as error:
        mouth.send(told(error) if isinstance(error, OSError) else str(error))
        sys.exit(_FAILED)


def _leave_with_parent() -> None:
    """End when the process that started this one does, even if it was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _watch(others: list[_Other], done: threading.Event) -> None:
    """End this process if another failed, and it still waits for it."""
    connection.wait([other.process.sentinel for other in others])
    if done.wait(_GRACE) or not any(other.process.exitcode for other in others):
        return
    blame = _blame(others)
    interrupted = isinstance(blame, KeyboardInterrupt)
    say("interrupted" if interrupted else f"error: {blame}")
    os._exit(_INTERRUPTED if interrupted else 2)


def _blame(others: list[_Other], seconds: float = 0.0) -> SaccadeError | KeyboardInterrupt:
    """Wait for another process to end, and return what to raise: of the first that failed by itself, if one did."""
    by_sentinel = {other.process.sentinel: other.process for other in others}
    for sentinel in connection.wait(list(by_sentinel), seconds):
        assert isinstance(sentinel, int)
        by_sentinel[sentinel].join(_GRACE)  # it lets go of the sentinel a moment before it has an exit code
    if any(other.process.exitcode == _INTERRUPTED for other in others):
        return KeyboardInterrupt()
    for rank, other in enumerate(others, 1):
        if other.process.exitcode not in (None, 0, _UNREACHED):
            return SaccadeError(f"process {rank} of {len(others) + 1} ended {_last_words(other)}")
    return Unreachable()


def _last_words(other: _Other) -> str:
    """Why a process ended, as far as it could say so."""
    try:
        return f"({other.words.recv()})"
    except EOFError:
        return f"with code {other.process.exitcode}; {GOES_ON}"


def _end(others: list[_Other]) -> None:
    for other in others:
        other.process.kill()
        other.process.join()
