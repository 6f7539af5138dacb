"""The explorer as a server of this machine: a page, and the numbers it requests."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from saccade.errors import SaccadeError
from saccade.look._explorer.answers import Answers
from saccade.look._explorer.pages import server_page, server_policy

T = TypeVar("T")
_LARGEST = 64 << 10  # bytes of a body
_PATIENCE = 10  # seconds for a body to arrive
_LIVE_SECONDS = 30
_LIVE_QUEUE = 4
_READERS = 2  # threads that compute pieces
_PATHS = "GET /, POST /manifest, POST /piece, POST /live or GET /page.html"
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class _Refused(SaccadeError):
    """A request without an answer, with its status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def application(answers: Answers, title: str, token: str, port: int) -> Starlette:
    """Return the server as an ASGI application.

    Every request needs the token, in the query or in the header X-Saccade-Token, and an address of this machine as its
    host. Browsers may send requests from pages of this server alone.

    Args:
        answers: to its requests.
        title: of the page.
        token: a secret of this server.
        port: that it listens at.
    """
    service = _Service(answers, title)
    server = Starlette(
        routes=[
            Route("/", service.page),
            Route("/manifest", service.manifest, methods=["POST"]),
            Route("/piece", service.piece, methods=["POST"]),
            Route("/live", service.live, methods=["POST"]),
            Route("/page.html", service.file),
        ],
        middleware=[Middleware(_Guard, token=token, port=port)],
        exception_handlers={HTTPException: _no_route, SaccadeError: _error, Exception: _failure},
        lifespan=service.lifespan,
    )
    server.router.redirect_slashes = False
    return server


class _Guard:
    """Refuses requests of other pages, machines and users before they are read."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app, self.token = app, token.encode()
        names = ("127.0.0.1", "localhost")
        self.hosts = {f"{name}:{port}" for name in names} | (set(names) if port == 80 else set())
        self.origins = {f"http://{host}" for host in self.hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on allowed requests."""
        if scope["type"] == "http" and (refusal := self.refusal(Request(scope))):
            await _json({"error": refusal}, 403)(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def refusal(self, request: Request) -> str:
        """Return the error of a forbidden request, "" for an allowed one."""
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return "host: expected 127.0.0.1 or localhost with the port, got another. Open the printed URL"
        if any(origin not in self.origins for origin in request.headers.getlist("origin")):
            return "origin: expected a page of this server, got another. Open the printed URL"
        token = request.headers.get("x-saccade-token", request.query_params.get("token", ""))
        if not secrets.compare_digest(token.encode("utf-8", "replace"), self.token):
            return "token: expected the token of the printed URL, got another or none. Open the printed URL"
        return ""


class _Service:
    def __init__(self, answers: Answers, title: str) -> None:
        self.answers, self.title = answers, title
        self.readers = ThreadPoolExecutor(_READERS, "saccade-pieces")
        self.worker = ThreadPoolExecutor(1, "saccade-live")
        self.waiting = list[Future[bytes]]()

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Drop the requests that wait when the server ends."""
        yield
        for threads in (self.readers, self.worker):
            threads.shutdown(wait=False, cancel_futures=True)

    async def page(self, _: Request) -> Response:
        """Return the page."""
        policy = f"{server_policy()}; frame-ancestors 'none'"
        headers = {**_HEADERS, "Content-Security-Policy": policy}
        return Response(server_page(self.title), headers=headers, media_type="text/html")

    async def manifest(self, request: Request) -> Response:
        """Return the manifest."""
        await _body(request)
        return _json(await self._computed(self.answers.manifest))

    async def piece(self, request: Request) -> Response:
        """Return a piece of the numbers, or the page as a file."""
        content = await _object(request)
        if content.get("piece") == "live":
            return await self._live(content)
        return _bytes(await self._computed(lambda: self.answers.message(content)))

    async def live(self, request: Request) -> Response:
        """Return the manifest with the sheets of a text."""
        return await self._live({**await _object(request), "piece": "live"})

    async def file(self, request: Request) -> Response:
        """Return the page as a file."""
        name, content = await self._computed(lambda: self.answers.file({}))
        headers = {**_HEADERS, "Content-Disposition": f"attachment; filename*=utf-8''{quote(name, safe='')}"}
        return Response(content, headers=headers, media_type="text/html")

    async def _live(self, content: dict[str, Any]) -> Response:
        self.waiting = [future for future in self.waiting if not future.done()]
        if len(self.waiting) >= _LIVE_QUEUE:
            raise _Refused(503, f"live: expected at most {_LIVE_QUEUE} texts at once, got more. Wait for an answer")
        future = self.worker.submit(self.answers.message, content)
        self.waiting.append(future)
        try:
            return _bytes(await asyncio.wait_for(asyncio.wrap_future(future), _LIVE_SECONDS))
        except TimeoutError as error:
            expected = f"live: expected an answer within {_LIVE_SECONDS} s, got none"
            raise _Refused(504, f"{expected}. Shorten the text, or wait for others") from error

    async def _computed(self, compute: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.readers, compute)


async def _object(request: Request) -> dict[str, Any]:
    """Read a body as a JSON object."""
    body = await _body(request)
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _Refused(400, "body: expected JSON, got another text. Send an object") from error
    if not isinstance(content, dict):
        raise _Refused(400, f"body: expected a JSON object, got {type(content).__name__}. Send an object")
    return content


async def _body(request: Request) -> bytes:
    """Read a body of limited size."""
    body = bytearray()
    try:
        async with asyncio.timeout(_PATIENCE):
            async for chunk in request.stream():
                body += chunk
                if len(body) > _LARGEST:
                    raise _Refused(413, f"body: expected at most {_LARGEST >> 10} KiB, got more. Send less")
    except (ClientDisconnect, TimeoutError) as error:
        raise _Refused(400, f"body: expected all of it within {_PATIENCE} s, got a part. Send it again") from error
    return bytes(body)


def _json(content: Any, status: int = 200, headers: Any = None) -> Response:
    body = json.dumps(content).encode()
    return Response(body, status, {**_HEADERS, **(headers or {})}, "application/json")


def _bytes(content: bytes) -> Response:
    return Response(content, headers=_HEADERS, media_type="application/octet-stream")


async def _no_route(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _json({"error": f"path: expected {_PATHS}, got another"}, error.status_code, error.headers)


async def _error(_: Request, error: Exception) -> Response:
    status = error.status if isinstance(error, _Refused) else 422
    return _json({"error": " ".join(str(error).split())}, status, {"Retry-After": "1"} if status == 503 else None)


async def _failure(_: Request, error: Exception) -> Response:
    """Answer a request after a failure. The server logs it."""
    return _json({"error": f"the explorer failed ({type(error).__name__}). Its standard error has the cause"}, 500)
