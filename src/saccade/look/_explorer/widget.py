"""`look.Explorer`: the explorer in a notebook, and as a file."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from saccade.errors import ArgumentTypeError, SaccadeError, ShapeError, pip_install
from saccade.look._explorer.answers import Answers
from saccade.look._explorer.pages import exported, module, style
from saccade.look._explorer.recordings import sheets_of, sheets_of_words
from saccade.look._explorer.sheets import Book, Sheet
from saccade.look._files import write_new
from saccade.look._records import Record, Recording

_INLINE = 8 << 20  # bytes of a page that a notebook keeps
_HEIGHT = 900  # pixels of a page within a notebook


@runtime_checkable
class HasSheets(Protocol):
    """An object with sheets of its own, such as a run."""

    @property
    def reads_texts(self) -> bool:
        """Whether an input is a text that can be typed."""

    def sheets(self, inputs: Any = None) -> list[Sheet]:
        """Return the sheets of inputs."""


Source = Recording | Record | HasSheets


class Explorer:
    """A page to look at attention: in a notebook, or as a file without a server.

    It shows each matrix with its tokens, the heads of all layers in the order of a number, entropy and received
    attention along the text, and differences of two heads. In a notebook it is a widget, which sends the numbers that
    are seen. Notebooks also keep a page of up to 8 MB, which nbconvert and viewers show without a kernel.

    Args:
        source: a recording with weights, `top` or entropy, a record, or a run. Or several of them by name, to compare.
        rows: tokens of the queries, None for their numbers.
        columns: tokens of the keys, None for their numbers. Self-attention takes those of the queries.
        words: the number of the word of each query, as for `attribute.merge_words`. Self-attention of that length gets
            a second sheet, of words.
        title: of the page.

    Raises:
        ArgumentTypeError: another source, or tokens that are no texts.
        ArgumentError: a recording without these statistics.
        ShapeError: tokens that fit no record.

    Example:
        >>> import torch
        >>> from saccade import AuxRequest, nn
        >>> from saccade.look import record
        >>> model = nn.MultiheadAttention(16, 2).eval()
        >>> with record(model, required=False) as recording:
        ...     output = model(*[torch.randn(1, 3, 16)] * 3)
        >>> explorer = Explorer(recording, rows=["le", "chat", "dort"])
        >>> explorer
        Explorer(self attention, 3 × 3)
    """

    def __init__(
        self,
        source: Source | Mapping[str, Source],
        *,
        rows: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        words: Sequence[int | None] | None = None,
        title: str = "Attention",
    ) -> None:
        tokens = {"rows": _tokens("rows", rows), "columns": _tokens("columns", columns)}
        sheets = _sheets(source, **tokens)
        for name, listed in tokens.items():
            lengths = sorted({len(getattr(sheet, name)) for sheet in sheets})
            if listed is not None and len(listed) not in lengths:
                expected = " or ".join(f"{length:,}" for length in lengths)
                raise ShapeError(f"{name}: expected {expected} tokens, got {len(listed):,}")
        self.book = Book(title, sheets if words is None else [*sheets, *sheets_of_words(sheets, words)])
        sources = source if isinstance(source, Mapping) else {"": source}
        readers = {name: part for name, part in sources.items() if isinstance(part, HasSheets) and part.reads_texts}
        self._live = (lambda text: _of_text(readers, text)) if readers else None
        self._widget: Any = None

    def __repr__(self) -> str:
        return f"Explorer({'; '.join(sheet.title for sheet in self.book.sheets)})"

    @property
    def widget(self) -> Any:
        """The anywidget of a notebook.

        Its trait `state` holds the sheet, layer, head, cursor and zoom, and may be set.

        Raises:
            SaccadeError: anywidget is not installed.
        """
        if self._widget is None:
            self._widget = _widget_class()(Answers(self.book, self._live))
        return self._widget

    def save(self, path: str | Path) -> Path:
        """Write the page and its numbers to a file that needs neither server nor network.

        Args:
            path: of a file that does not exist, such as attention.html.

        Raises:
            ArgumentError: more than 100 MiB of numbers.
            FileExistsError: the file exists.
            OSError: the file cannot be written.

        Example:
            >>> Explorer(recording).save("attention.html")  # doctest: +SKIP
        """
        return write_new({Path(path): exported(self.book).encode()})[0]

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = {"text/plain": repr(self), "text/html": self._html()}
        try:
            data = self.widget._repr_mimebundle_()
        except SaccadeError:
            return bundle  # without anywidget: the page alone
        widget = data[0] if isinstance(data, tuple) else data
        return {**(widget or {}), **bundle}

    def _html(self) -> str:
        if self.book.numbers() * 4 > _INLINE or len(content := exported(self.book)) > _INLINE:
            return f"<p>{escape(repr(self))}: too large for a notebook file. Save it with <code>.save(path)</code>.</p>"
        frame = f'style="width: 100%; height: {_HEIGHT}px; border: 0" sandbox="allow-scripts allow-downloads"'
        return f'<iframe title="{escape(self.book.title)}" {frame} srcdoc="{escape(content)}"></iframe>'


def _tokens(name: str, tokens: Any) -> list[str] | None:
    """Tokens as a list of texts, None if there are none."""
    if tokens is None:
        return None
    if not isinstance(tokens, Sequence) or not all(isinstance(token, str) for token in tokens):
        raise ArgumentTypeError(f"{name}: expected a sequence of texts, got {type(tokens).__name__}. Decode the tokens")
    return list(tokens)


def _sheets(
    source: Source | Mapping[str, Source], rows: Sequence[str] | None, columns: Sequence[str] | None
) -> list[Sheet]:
    if isinstance(source, Mapping):
        parts = ((name, sheet) for name, part in source.items() for sheet in _sheets(part, rows, columns))
        return [_titled(name, sheet) for name, sheet in parts]
    if isinstance(source, Record):
        source = Recording([source])
    if isinstance(source, Recording):
        return sheets_of(source, rows, columns)
    if not isinstance(source, HasSheets):
        got = type(source).__name__  # type: ignore[unreachable]
        raise ArgumentTypeError(f"source: expected a recording, a record, a run, or a dict of them, got {got}")
    return source.sheets()


def _of_text(readers: Mapping[str, HasSheets], text: str) -> list[Sheet]:
    return [_titled(name, sheet) for name, run in readers.items() for sheet in run.sheets([text])]


def _titled(name: str, sheet: Sheet) -> Sheet:
    return replace(sheet, title=f"{name}: {sheet.title}") if name else sheet


@cache
def _widget_class() -> Callable[[Answers], Any]:
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise SaccadeError(f"the widget needs anywidget: {pip_install('explore')}. `.save` does without") from error

    class ExplorerWidget(anywidget.AnyWidget):  # type: ignore[misc, unused-ignore]  # no types of its own
        _esm = module()
        _css = style()
        manifest = traitlets.Dict().tag(sync=True)
        state = traitlets.Dict().tag(sync=True)

        def __init__(self, answers: Answers) -> None:
            super().__init__(manifest=answers.manifest())
            self.on_msg(lambda _, content, buffers: self.send({"id": content.get("id")}, [answers.message(content)]))

    return ExplorerWidget
