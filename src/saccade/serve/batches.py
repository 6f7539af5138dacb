"""Requests that wait, and the batches that answer them."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from saccade.errors import SaccadeError
from saccade.serve.limits import Limits

__all__ = ["Batches", "Stopped"]

AnswerBatch: TypeAlias = Callable[[Sequence[Any], Any], list[dict[str, Any]]]
"""From inputs and the options that they share to an answer of each."""


class Stopped(SaccadeError):
    """The server stops, and answers no request that still waits."""


@dataclass(frozen=True, eq=False)
class _Waiting:
    inputs: Sequence[Any]
    options: Any
    since: float
    answers: asyncio.Future[list[dict[str, Any]]]


class Batches:
    """Batches of requests with equal options, answered one after another in a thread.

    A batch begins once it has `limits.batch` inputs, or `limits.wait_ms` after its first request came. The inputs of a
    request stay together.

    Args:
        answer: answers a batch.
        limits: of the server.
    """

    def __init__(self, answer: AnswerBatch, limits: Limits) -> None:
        self._answer, self._limits = answer, limits
        self._waiting = deque[_Waiting]()
        self._changed = asyncio.Event()
        self._stopped = False
        self.requests = 0
        """Number of answered requests."""
        self.batches = 0
        """Number of batches with these requests."""

    def __len__(self) -> int:
        """Return the number of requests that wait."""
        return len(self._waiting)

    async def ask(self, inputs: Sequence[Any], options: Any) -> list[dict[str, Any]]:
        """Return the answers to the inputs of a request.

        Raises:
            Stopped: if the server stops before a batch has begun with them.
        """
        loop = asyncio.get_running_loop()
        request = _Waiting(inputs, options, loop.time(), loop.create_future())
        if self._stopped:
            raise Stopped("the server stops; ask it again once it has started")
        self._waiting.append(request)
        self._changed.set()
        return await request.answers

    def stop(self) -> None:
        """Refuse all requests that wait. The running batch is answered."""
        self._stopped = True
        self._refuse_waiting()
        self._changed.set()

    async def run(self) -> None:
        """Answer batches until the server stops.

        If this ends by an error, the requests that wait are refused too.
        """
        self._changed, batch = asyncio.Event(), list[_Waiting]()  # an event belongs to one event loop
        try:
            with ThreadPoolExecutor(1, "saccade-answers") as thread:
                while not self._stopped:
                    if not self._waiting:
                        await self._change()
                    elif batch := await self._next():
                        await self._respond(batch, thread)
        finally:
            self._waiting.extendleft(batch)
            self._refuse_waiting()

    def _refuse_waiting(self) -> None:
        while self._waiting:
            request = self._waiting.popleft()
            if not request.answers.done():
                request.answers.set_exception(Stopped("the server stops; ask it again once it has started"))

    async def _next(self) -> list[_Waiting]:
        """Wait for a whole batch, or until its first request has waited long enough."""
        loop, first = asyncio.get_running_loop(), self._waiting[0]
        until = first.since + self._limits.wait_ms / 1000
        while self._inputs_like(first) in range(1, self._limits.batch) and (seconds := until - loop.time()) > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._change(), seconds)
        batch, others, count = list[_Waiting](), list[_Waiting](), 0
        for request in self._waiting:
            fits = request.options == first.options and (not batch or count + len(request.inputs) <= self._limits.batch)
            (batch if fits else others).append(request)
            count += len(request.inputs) if fits else 0
        self._waiting = deque(others)
        return [request for request in batch if not request.answers.cancelled()]

    def _inputs_like(self, first: _Waiting) -> int:
        return sum(len(request.inputs) for request in self._waiting if request.options == first.options)

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    async def _respond(self, batch: Sequence[_Waiting], thread: ThreadPoolExecutor) -> None:
        """Answer a batch.

        If that fails, answer its requests alone, so that one of them cannot fail all.
        """
        inputs = [item for request in batch for item in request.inputs]
        loop = asyncio.get_running_loop()
        try:
            answers = await loop.run_in_executor(thread, self._answer, inputs, batch[0].options)
            if len(answers) != len(inputs):
                raise RuntimeError(f"answers: expected {len(inputs)} of a batch, got {len(answers)}")
        except Exception as error:  # noqa: BLE001 (the request has it)
            if len(batch) > 1:
                for request in batch:
                    await self._respond([request], thread)
            elif not batch[0].answers.done():
                batch[0].answers.set_exception(error)
            return
        self.requests, self.batches = self.requests + len(batch), self.batches + 1
        rest = iter(answers)
        for request in batch:
            parts = [next(rest) for _ in request.inputs]
            if not request.answers.done():  # its client may have left
                request.answers.set_result(parts)
