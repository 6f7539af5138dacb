"""Servers of the command line: Starlette and uvicorn, until an interrupt."""

import socket
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from saccade.errors import SaccadeError, pip_install

if TYPE_CHECKING:
    from starlette.applications import Starlette


def check_installed() -> None:
    """Raise `SaccadeError` if Starlette or uvicorn is not installed."""
    try:
        import starlette.applications  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        way_out = pip_install("serve")
        raise SaccadeError(f"serving needs Starlette and uvicorn, which are not installed: {way_out}") from error


def answer_until_interrupt(
    application: "Starlette",
    listener: socket.socket,
    stop: Callable[[], None] | None = None,
    patience: int | None = None,
) -> None:
    """Answer requests until Ctrl-C.

    Args:
        application: that answers.
        listener: a socket that listens.
        stop: called before the open requests are finished.
        patience: seconds for these. None: as long as they take.
    """
    import uvicorn

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            if stop is not None:
                stop()
            await super().shutdown(sockets)

    config = uvicorn.Config(
        application,
        access_log=False,
        log_config=None,
        lifespan="on",
        proxy_headers=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=patience,
    )
    with suppress(KeyboardInterrupt):  # which may come before the server listens to signals
        Server(config).run(sockets=[listener])
