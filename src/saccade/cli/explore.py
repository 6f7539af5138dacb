"""`saccade explore PATH...`: attention in a browser, or as a file."""

import os
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from html import escape
from itertools import chain
from os.path import lexists
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import tyro

from saccade._definitions.checks import in_ranges
from saccade._system.notes import output, say
from saccade.cli.arguments import UsageError, parse
from saccade.cli.inputs import readable
from saccade.cli.listening import answer_until_interrupt, check_installed
from saccade.cli.threads import set_threads
from saccade.look._explorer.pages import exported
from saccade.look._explorer.recordings import sheets_of
from saccade.look._explorer.sheets import Book, Sheet
from saccade.look._files import write_new
from saccade.look._records import mapped
from saccade.runs import Run, load
from saccade.tasks.inputs import input_lines
from saccade.train.options import check_threads

_HOST = "127.0.0.1"
_SUFFIXES = (".safetensors", ".json")


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Look at attention in a browser, or write the page to a file.

    PATH is the folder of a run, or a recording of `Recording.save`. The server
    answers this machine alone, with the secret token of the printed address.
    Ctrl-C ends it.
    """

    paths: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="PATH...")]
    """Runs or recordings, to look at side by side."""

    input: Annotated[tuple[str, ...], tyro.conf.arg(metavar="FILE|TEXT...")] = ()
    """Texts for runs, or files with an input a line. Default: test examples."""

    by: str | None = None
    """Method of the pictures of runs, as of `saccade look`. Default: attention."""

    faithful: bool = False
    """Measure the faithfulness of a classifier's scores, as `saccade look` does."""

    export: str | None = None
    """Write the page to this new file and end."""

    port: int = 0
    """Port to listen at. 0 picks a free one."""

    browser: bool = True
    """Open the page in a browser."""

    device: str = "auto"
    """Device of runs: cpu, cuda, cuda:1, or auto (a GPU if there is one)."""

    threads: int | None = None
    """Processor threads. Default: torch's, or fewer on a busy machine."""

    def __post_init__(self) -> None:
        check_threads(self.threads)
        in_ranges(self, [("port", 0, 65_535)])
        if not self.paths:
            raise UsageError("PATH: expected a run or a recording, got none")
        if self.export is not None and (lexists(self.export) or not Path(self.export).name):
            got = f"{self.export}, which is there already" if self.export else "an empty name"
            raise UsageError(f"--export: expected the name of a new file, got {got}")
        if self.export is not None and self.port:
            raise UsageError("--port: expected without --export, which starts no server. Leave one out")


def run(arguments: list[str]) -> int:
    """Print the address of the page, or the path of its file."""
    options = parse(Arguments, arguments, "saccade explore", Arguments.__doc__ or "")
    if options.export is not None:
        book, _ = _opened(options)
        [path] = write_new({Path(options.export): exported(book).encode()})
        output(str(path))
        return 0
    check_installed()
    from saccade.look._explorer.answers import Answers
    from saccade.look._explorer.server import application

    with _listen(options.port) as listener, TemporaryDirectory() as folder:
        book, live = _opened(options)
        token, port = secrets.token_urlsafe(24), listener.getsockname()[1]
        address = f"http://{_HOST}:{port}/?token={token}"
        output(address, flush=True)
        say("Ctrl-C ends the explorer")
        if options.browser:
            threading.Thread(target=_open_browser, args=[address, folder], daemon=True).start()
        answer_until_interrupt(application(Answers(book, live), book.title, token, port), listener, patience=3)
    return 0


def _opened(options: Arguments) -> tuple[Book, Callable[[str], list[Sheet]] | None]:
    """Return a book of all paths, and the function that reads live texts."""
    set_threads(options.threads)
    paths = [*dict.fromkeys(path if path.is_dir() else _record(path) for path in map(Path, options.paths))]
    folders = [path for path in paths if path.is_dir()]
    if options.input and not folders:
        raise UsageError("--input: expected with a run, got recordings alone. Leave it out")
    request = {name: value for name in ("by", "faithful") if (value := getattr(options, name))}
    if request and not folders:
        raise UsageError(f"--{next(iter(request))}: expected with a run, got recordings alone. Leave it out")
    runs = {path: load(path, device=options.device) for path in folders}
    names = _names(paths)

    def titled(path: Path, parts: Sequence[Sheet]) -> list[Sheet]:
        return [replace(sheet, title=f"{names[path]}: {sheet.title}") for sheet in parts] if names[path] else [*parts]

    def sheets(path: Path) -> Sequence[Sheet]:
        if path in runs:
            return runs[path].sheets(_inputs(runs[path], options.input), **request)
        return sheets_of(mapped(path), None, None)

    def live(text: str) -> list[Sheet]:
        return list(chain.from_iterable(titled(path, run.sheets([text], **request)) for path, run in readers.items()))

    book = Book(
        ", ".join(path.resolve().name for path in paths), [x for path in paths for x in titled(path, sheets(path))]
    )
    readers = {path: run for path, run in runs.items() if run.reads_texts}
    return book, live if readers else None


def _names(paths: Sequence[Path]) -> dict[Path, str]:
    """The names of several paths in titles, "" for one alone."""
    names = [path.resolve().name for path in paths]
    if len(paths) == 1:
        return {paths[0]: ""}
    return {path: name if names.count(name) == 1 else str(path) for path, name in zip(paths, names, strict=True)}


def _record(path: Path) -> Path:
    """The path of a recording without a suffix."""
    stem = path.with_suffix("") if path.suffix in _SUFFIXES else path
    if not any(lexists(f"{stem}{suffix}") for suffix in _SUFFIXES):
        expected = "PATH: expected the folder of a run, or a recording (NAME.safetensors and NAME.json)"
        raise UsageError(f"{expected}, got {path}, which is neither")
    return stem


def _inputs(run: Run, words: Sequence[str]) -> list[str] | None:
    """The inputs of a run: words and lines of files, or paths if it reads files."""
    if not words:
        return None

    def lines(word: str) -> Iterator[str]:
        with suppress(OSError):  # of a text too long for a name
            if run.task.inputs == "lines" and Path(word).is_file():
                return input_lines(run.task, Path(word))
        return iter([readable(word)])

    return [line for word in words for line in lines(word)]


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server((_HOST, port))
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (while")[0]
        raise UsageError(f"--port: expected a free port, got {port} ({reason}); --port 0 picks a free one") from error


def _open_browser(address: str, folder: str) -> None:
    """Open an address, unless a browser would take the terminal.

    A page in a private folder leads to it, since other users may read the arguments of a browser.
    """
    page = Path(folder) / "explorer.html"
    page.write_text(f'<meta http-equiv="refresh" content="0; url={escape(address)}">\n', encoding="utf-8")
    with suppress(webbrowser.Error):
        browser = webbrowser.get()
        if "BROWSER" in os.environ or type(browser) is not webbrowser.GenericBrowser:
            browser.open(page.as_uri())
