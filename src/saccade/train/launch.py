"""Start the other processes of a run on this machine, and end with them.

No process is left waiting.
"""

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any, NamedTuple

import torch

from saccade._system.files import system_error_line
from saccade._system.notes import say
from saccade.errors import SaccadeError
from saccade.train.ranks import GOES_ON, Ranks, Unreachable, free_port, joined, of_connection, placed

_GRACE = 30.0  # seconds in which a process detects the end of another
_FAILED, _UNREACHED, _INTERRUPTED = 1, 3, 130  # exit codes


class _Worker(NamedTuple):
    """Another process, and a pipe for its error."""

    process: SpawnProcess
    errors: Connection


@contextmanager
def launch(ranks: Ranks, device: torch.device, work: Callable[..., object], *arguments: Any) -> Iterator[None]:
    """Run `work(*arguments)` in the other processes while the block runs in the first.

    None is started if this one is alone, or something else started them. `work` reads its rank from the environment.
    Raises SaccadeError if one of them ended early, and KeyboardInterrupt if one was interrupted.
    """
    if ranks.world == 1 or ranks.external:
        yield
        return
    context, port = multiprocessing.get_context("spawn"), free_port()
    workers: list[_Worker] = []
    for rank in range(1, ranks.world):
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(sender, rank, ranks.world, port, work, arguments), daemon=True)
        process.start()
        sender.close()  # the worker's own end stays open
        workers.append(_Worker(process, receiver))
    done = threading.Event()
    threading.Thread(target=_watch, args=(workers, done), daemon=True).start()
    try:
        with placed(0, ranks.world, port), joined(device):
            try:
                yield
            except BaseException as error:
                done.set()
                cause = _cause(workers, _GRACE) if of_connection(error) else None
                _kill(workers)  # while they can still be reached, so that they report nothing of this error
                if cause:
                    raise cause from error
                raise
            for worker in workers:
                worker.process.join(_GRACE)
    finally:
        done.set()
        _kill(workers)


def _run(
    sender: Connection, rank: int, world: int, port: int, work: Callable[..., object], arguments: tuple[Any, ...]
) -> None:
    """The main function of a worker. Its errors are sent to the first process."""
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    try:
        with placed(rank, world, port):
            work(*arguments)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except Unreachable:
        sys.exit(_UNREACHED)
    except (SaccadeError, OSError) as error:
        sender.send(system_error_line(error) if isinstance(error, OSError) else str(error))
        sys.exit(_FAILED)


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _watch(workers: list[_Worker], done: threading.Event) -> None:
    """End this process if a worker failed, and it still waits for it."""
    connection.wait([worker.process.sentinel for worker in workers])
    if done.wait(_GRACE) or not any(worker.process.exitcode for worker in workers):
        return
    cause = _cause(workers)
    interrupted = isinstance(cause, KeyboardInterrupt)
    say("interrupted" if interrupted else f"error: {cause}")
    os._exit(_INTERRUPTED if interrupted else 2)


def _cause(workers: list[_Worker], seconds: float = 0.0) -> SaccadeError | KeyboardInterrupt:
    """Wait for the end of a worker, and return the error that caused it.

    A worker that only lost the connection to another one causes nothing.
    """
    by_sentinel = {worker.process.sentinel: worker.process for worker in workers}
    for sentinel in connection.wait(list(by_sentinel), seconds):
        assert isinstance(sentinel, int)
        by_sentinel[sentinel].join(_GRACE)  # the exit code comes a moment after the sentinel
    for rank, (process, errors) in enumerate(workers, 1):
        if any(worker.process.exitcode == _INTERRUPTED for worker in workers):
            return KeyboardInterrupt()
        if process.exitcode not in (None, 0, _UNREACHED):
            try:
                why = f"({errors.recv()})"
            except EOFError:
                why = f"with code {process.exitcode}; {GOES_ON}"
            return SaccadeError(f"process {rank} of {len(workers) + 1} ended {why}")
    return Unreachable()


def _kill(workers: list[_Worker]) -> None:
    for worker in workers:
        worker.process.kill()
        worker.process.join()
