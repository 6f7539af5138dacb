"""The server of a run as an ASGI application."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from saccade.errors import SaccadeError
from saccade.runs import Run
from saccade.serve.batches import Batches, Stopped
from saccade.serve.inputs import NotJson, TooLarge, read_body
from saccade.serve.limits import Limits
from saccade.serve.openapi import describe, page

__all__ = ["serve"]

_READERS = 2  # threads that decode bodies and files
_PATIENCE = 60  # seconds for a body to arrive
_STATUS = {NotJson: 400, TooLarge: 413, Stopped: 503}
_PATHS = "POST /predict, GET /, GET /health or GET /openapi.json"


def serve(run: Run, limits: Limits) -> Starlette:
    """Return the application of `saccade.serve.application`."""
    service = _Service(run, limits)
    server = Starlette(
        routes=[
            Route("/", service.page),
            Route("/health", service.health),
            Route("/openapi.json", service.openapi),
            Route("/predict", service.predict, methods=["POST"]),
        ],
        exception_handlers={HTTPException: _refused, SaccadeError: _rejected, Exception: _failed},
        lifespan=service.lifespan,
    )
    server.state.batches = service.batches
    return server


@dataclass(eq=False)
class _Service:
    run: Run
    limits: Limits
    open: int = 0
    """Number of requests in progress."""
    batches: Batches = field(init=False)
    answering: asyncio.Task[None] | None = None
    readers: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_READERS, "saccade-inputs"))

    def __post_init__(self) -> None:
        self.batches = Batches(self.answer, self.limits)

    @asynccontextmanager
    async def lifespan(self, server: Starlette) -> AsyncIterator[None]:
        """Answer batches while the server runs. It may run again later."""
        server.state.batches = self.batches = Batches(self.answer, self.limits)
        yield
        self.batches.stop()
        if self.answering is not None:
            await self.answering

    def start(self) -> None:
        """Begin to answer with the first request.

        An application that is mounted in another one has no lifespan.
        """
        if self.answering is None or self.answering.done():
            self.answering = asyncio.create_task(self.batches.run())

    def answer(self, inputs: Sequence[Any], options: Any) -> list[dict[str, Any]]:
        """Answer a batch, in its thread."""
        with torch.inference_mode():
            answers = self.run.task.answer(self.run.model, inputs, options, "json")
            return [answer.to_json() for answer in answers]

    async def predict(self, request: Request) -> Response:
        """Answer the inputs of a request."""
        if self.open >= self.limits.queue:
            raise Stopped(f"{self.open} requests wait already; ask again later")
        self.open += 1
        try:
            async with asyncio.timeout(_PATIENCE):
                body = await _body(request, self.limits.max_mb << 20)
            loop = asyncio.get_running_loop()
            posed = await loop.run_in_executor(self.readers, read_body, self.run, self.limits, body)
            self.start()
            answers = await self.batches.ask(posed.inputs, posed.options) if posed.inputs else []
        except (ClientDisconnect, TimeoutError) as error:
            raise NotJson(f"body: expected a whole body within {_PATIENCE} s, got a part") from error
        finally:
            self.open -= 1
        return _json({"answers": answers, **({"notes": posed.notes} if posed.notes else {})})

    async def health(self, _: Request) -> Response:
        """Return counts of requests."""
        about = {"task": self.run.task.name, "model": self.run.trained.options.model}
        counts = {"waiting": len(self.batches), "requests": self.batches.requests, "batches": self.batches.batches}
        return _json({"status": "ok", **about, **counts})

    async def openapi(self, _: Request) -> Response:
        """Return the description of requests."""
        return _json(describe(self.run, self.limits))

    async def page(self, _: Request) -> Response:
        """Return the page about requests."""
        return HTMLResponse(page(self.run))


async def _body(request: Request, limit: int) -> bytes:
    """Read the body of a request, at most `limit` bytes."""
    body = bytearray()
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length) <= limit:
        async for chunk in request.stream():
            body += chunk
            if len(body) > limit:
                break
        else:
            return bytes(body)
    raise TooLarge(f"body: expected at most {limit >> 20} MiB, got more; send fewer inputs at once")


def _json(content: Any, status: int = 200, headers: Any = None) -> Response:
    body = json.dumps(content, ensure_ascii=False).encode("utf-8", "backslashreplace")
    return Response(body, status, headers, "application/json")


async def _refused(request: Request, error: Exception) -> Response:
    """Answer a request without a meaning to HTTP."""
    assert isinstance(error, HTTPException)
    text = error.detail
    if error.status_code in (404, 405):
        text = f"{request.method} {request.url.path}: expected {_PATHS}"
    return _json({"error": text}, error.status_code, error.headers)


async def _rejected(_: Request, error: Exception) -> Response:
    """Answer a request without a meaning to the run."""
    text = re.sub(r"--([a-z][a-z0-9-]*)", lambda option: option[1].replace("-", "_"), str(error))
    status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 422)
    return _json({"error": text}, status, {"Retry-After": "1"} if status == 503 else None)


async def _failed(_: Request, error: Exception) -> Response:
    """Answer a request after a failure of the program.

    The server writes the error to standard error.
    """
    return _json({"error": f"the server failed ({type(error).__name__}); its standard error has the cause"}, 500)
