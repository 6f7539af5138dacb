"""`saccade serve RUN`: answer requests over HTTP."""

import ipaddress
import socket
from dataclasses import dataclass

from saccade._definitions.checks import in_ranges
from saccade._system.notes import output, say
from saccade.cli.arguments import UsageError, parse
from saccade.cli.listening import answer_until_interrupt, check_installed
from saccade.cli.requests import Device, Ensemble
from saccade.cli.threads import set_threads
from saccade.runs import load
from saccade.serve import Limits, application
from saccade.train.options import select


@dataclass(frozen=True, kw_only=True)
class Arguments(Limits, Ensemble, Device):
    """Answer requests over HTTP until Ctrl-C.

    POST /predict takes {"inputs": [...]} and options of `saccade predict`, and answers as `saccade predict --json`.
    Requests with equal options share batches. GET / is a page about requests, and GET /health has counts.
    """

    host: str = "127.0.0.1"
    """Address to listen at. The default is reachable from this machine alone."""

    port: int = 8000
    """Port to listen at. 0 picks a free one. The first line of output has it."""

    def __post_init__(self) -> None:
        Limits.__post_init__(self)
        Device.__post_init__(self)
        in_ranges(self, [("port", 0, 65_535)])


def run(arguments: list[str]) -> int:
    """Serve until an interrupt. The batch that runs then is answered."""
    options = parse(Arguments, arguments, "saccade serve", Arguments.__doc__ or "")
    check_installed()
    with _listen(options.host, options.port) as listener:
        set_threads(options.threads)
        trained = load(options.run, device=options.device, ensemble=options.ensemble)
        service = application(trained, select(options, Limits))
        host = f"[{options.host}]" if ":" in options.host else options.host
        output(f"http://{host}:{listener.getsockname()[1]}", flush=True)
        say(f"serving {trained.folder}; Ctrl-C stops it")
        answer_until_interrupt(service, listener, lambda: service.state.batches.stop())
        say("stopped")
    return 0


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, with a note if other machines reach it."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.create_server(address[:2], family=family, backlog=2048)
    except (OSError, UnicodeError) as error:
        reason = str(getattr(error, "strerror", None) or error).partition(" (while")[0]
        expected = "--host, --port: expected an address and a free port"
        raise UsageError(f"{expected}, got {host} and {port} ({reason}); --port 0 picks a free one") from error
    if not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
        say(f"--host {host}: everybody who reaches this machine can ask the run; nothing is encrypted")
    return listener
