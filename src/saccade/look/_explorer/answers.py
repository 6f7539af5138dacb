"""Answers to the requests of a page: pieces, live input, the page as a file."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from threading import Lock
from typing import Any

from saccade.errors import ArgumentError, SaccadeError
from saccade.look._explorer.pages import exported
from saccade.look._explorer.sheets import Book, Sheet, packed
from saccade.look._files import file_name

LONGEST = 2000  # characters of a live input
_INPUTS = 8  # live inputs whose sheets stay
_BOOKS = 4  # with these inputs, for pages that have an earlier manifest


class Answers:
    """Answers to the requests of a page.

    Args:
        book: shown first.
        live: from a text to further sheets. Without it, the page has no field for texts.
    """

    def __init__(self, book: Book, live: Callable[[str], Sequence[Sheet]] | None = None) -> None:
        self._first, self._live, self._lock = book, live, Lock()
        self._number, self._books = 0, {0: book}
        self._inputs = deque[Sequence[Sheet]](maxlen=_INPUTS)

    def manifest(self) -> dict[str, Any]:
        """Return the manifest of the latest book, with its number for requests."""
        with self._lock:
            number, book = self._number, self._books[self._number]
        return {**book.manifest(), "book": number, "live": self._live is not None}

    def message(self, request: Any) -> bytes:
        """Return the answer to an untrusted request, as `Book.message`.

        The piece "live" with "text" returns a manifest with the sheets of the text and the index of the first. The
        piece "page" returns a name and the bytes of `file` in the place of numbers. "book" is a manifest's number.
        """
        try:
            if not isinstance(request, Mapping):
                raise ArgumentError(f"request: expected an object, got {type(request).__name__}")
            if request.get("piece") == "live":
                return packed(self._read(request.get("text")))
            if request.get("piece") == "page":
                name, content = self.file(request)
                return packed({"name": name}, content)
            return self._book(request).message(request)
        except SaccadeError as error:
            return packed({"error": str(error)})

    def file(self, request: Mapping[str, Any]) -> tuple[str, bytes]:
        """Return the name and the content of the page as a file, in multiples of 4 bytes.

        Raises:
            ArgumentError: more than 100 MiB of numbers.
        """
        book = self._book(request)
        content = exported(book).encode()
        return f"{file_name(book.title)}.html", content + b"\n" * (-len(content) % 4)

    def _book(self, request: Mapping[str, Any]) -> Book:
        number = request.get("book", self._number)
        with self._lock:
            book = self._books.get(number) if type(number) is int else None
        if book is None:
            raise ArgumentError(f"book: expected one of the last {_BOOKS}, got {number!r:.40}. Load the page again")
        return book

    def _read(self, text: Any) -> dict[str, Any]:
        """Add the sheets of a text."""
        if self._live is None:
            raise ArgumentError("live: expected a run that reads texts, got none. Start the explorer with one")
        if not isinstance(text, str) or not text.strip():
            raise ArgumentError("text: expected a text, got none. Type one")
        if len(text) > LONGEST:
            raise ArgumentError(f"text: expected at most {LONGEST:,} characters, got {len(text):,}. Shorten it")
        sheets = self._live(" ".join(text.splitlines()))
        with self._lock:
            self._inputs.append(sheets)
            self._number += 1
            book = Book(self._first.title, [*self._first.sheets, *chain(*self._inputs)])
            self._books[self._number] = book
            self._books.pop(self._number - _BOOKS, None)
        return {"manifest": self.manifest(), "sheet": len(book.sheets) - len(sheets)}
