"""A run as a server: JSON over HTTP, with like requests answered in one batch.

`saccade serve RUN` starts it. `application` is the same for a server of your own.
"""

from typing import TYPE_CHECKING

from saccade.errors import SaccadeError, pip_install
from saccade.serve.limits import Limits

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from saccade.runs import Run

__all__ = ["Limits", "application"]


def application(run: "Run", limits: Limits | None = None) -> "Starlette":
    """Return a server of a run as an ASGI application.

    `POST /predict` answers inputs, `GET /health` has counts, `GET /openapi.json` describes requests, and `GET /` is a
    page about them. `application(...).state.batches.stop()`, in its event loop, refuses all requests
    that wait.

    Args:
        run: the run, or an ensemble.
        limits: of the server.

    Raises:
        SaccadeError: if Starlette is not installed.

    Example:
        >>> from saccade import runs
        >>> server = application(runs.load("runs/dates"))  # doctest: +SKIP
    """
    try:
        from saccade.serve.asgi import serve
    except ImportError as error:
        way_out = pip_install("serve")
        raise SaccadeError(f"serving needs Starlette and uvicorn, which are not installed: {way_out}") from error
    return serve(run, limits or Limits())
