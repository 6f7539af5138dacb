"""A page as a list of parts, written as Markdown and as one HTML file that needs nothing else."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Code", "Heading", "Part", "Picture", "Table", "Text", "html", "markdown"]

_STYLE = """
body { font: 16px/1.55 system-ui, sans-serif; color: #22223a; background: #fff; max-width: 52rem; margin: 2rem auto;
  padding: 0 1rem; }
h1, h2 { line-height: 1.25; } h2 { margin-top: 2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.9rem; display: block;
  overflow-x: auto; }
th, td { padding: 0.3rem 0.7rem; border-bottom: 1px solid #d9dce8; text-align: right; }
th:first-child, td:first-child { text-align: left; }
pre { background: #f4f5fa; padding: 0.8rem; overflow-x: auto; } code { font-size: 0.88rem; }
svg { max-width: 100%; height: auto; }
"""


@dataclass(frozen=True)
class Heading:
    """A heading: level 1 is the page's title."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Text:
    """A paragraph; what stands between backticks is code, between pairs of asterisks bold."""

    text: str


@dataclass(frozen=True)
class Code:
    """Commands, one a line."""

    lines: Sequence[str]


@dataclass(frozen=True)
class Table:
    """A table: its first column is text, the others numbers."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Picture:
    """A picture that lies beside the page as PNG; the SVG itself stands in the HTML."""

    name: str
    svg: str
    caption: str


Part = Heading | Text | Code | Table | Picture


def markdown(parts: Sequence[Part]) -> str:
    r"""Write a page as Markdown.

    >>> print(markdown([Heading("Length", 1), Table(["model", "score"], [["a|b", "1.0"]])]), end="")
    # Length
    <BLANKLINE>
    | model | score |
    |---|---:|
    | a\|b | 1.0 |
    """
    return "\n\n".join(map(_markdown, parts)) + "\n"


def html(title: str, parts: Sequence[Part]) -> str:
    """Write a page as one HTML file: no script, no font, nothing fetched.

    >>> "<p>1 &lt; 2, <code>x</code></p>" in html("t", [Text("1 < 2, `x`")])
    True
    """
    viewport = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    head = f'<meta charset="utf-8">{viewport}<title>{escape(title)}</title><style>{_STYLE}</style>'
    body = "\n".join(map(_html, parts))
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def _markdown(part: Part) -> str:
    match part:
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Text(text):
            return text
        case Code(lines):
            return "\n".join(["```bash", *lines, "```"])
        case Table(header, rows):
            rule = "|" + "|".join(["---", *["---:"] * (len(header) - 1)]) + "|"
            return "\n".join([_cells(header), rule, *map(_cells, rows)])
        case Picture(name, _, caption):
            return f"![{caption}]({name})"


def _cells(row: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |"


def _html(part: Part) -> str:
    match part:
        case Heading(text, level):
            return f"<h{level}>{_inline(text)}</h{level}>"
        case Text(text):
            return f"<p>{_inline(text)}</p>"
        case Code(lines):
            return f"<pre><code>{escape(chr(10).join(lines))}</code></pre>"
        case Table(header, rows):
            return f"<table>{_row('th', header)}{''.join(_row('td', row) for row in rows)}</table>"
        case Picture(_, svg, caption):
            return f"<figure>{svg[svg.index('<svg') :]}<figcaption>{_inline(caption)}</figcaption></figure>"


def _row(tag: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{_inline(cell)}</{tag}>" for cell in cells) + "</tr>"


def _inline(text: str) -> str:
    """Escaped, with code between backticks, bold between pairs of asterisks, and addresses as links."""
    coded = re.sub("`([^`]+)`", r"<code>\1</code>", escape(text.removeprefix("\\")))
    coded = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", coded)
    return re.sub(r"(https?://[^\s<)]+[\w/])", r'<a href="\1">\1</a>', coded)
