"""Tables in Markdown, and their place in a page that people write."""

from collections.abc import Sequence

END = "<!-- end of the table -->\n"


def table(rows: Sequence[Sequence[str]], alignment: str = "") -> str:
    """Return a table in Markdown from its header and its rows.

    Args:
        rows: cells; the first row is the header.
        alignment: an "l" or "r" for each column. Default: left, then right.

    Example:
        >>> print(table([["model", "score"], ["a", "1.0"]]))
        | model | score |
        |---|---:|
        | a | 1.0 |
    """
    lines = [f"| {' | '.join(row)} |" for row in rows]
    sides = alignment or "l" + "r" * (len(rows[0]) - 1)
    lines.insert(1, "|" + "|".join({"l": "---", "r": "---:"}[side] for side in sides) + "|")
    return "\n".join(lines)


def filled(page: str, begin: str, content: str) -> str:
    r"""Replace the table of a page between `begin` and `END`; return the page.

    Raises:
        ValueError: if the page lacks a mark.

    Example:
        >>> filled("Text.\n\n<!-- a -->\nold\n" + END + "More.\n", "<!-- a -->\n", "new")
        'Text.\n\n<!-- a -->\n\nnew\n\n<!-- end of the table -->\nMore.\n'
    """
    before, mark, rest = page.partition(begin)
    _, end, after = rest.partition(END)
    if not (mark and end):
        raise ValueError(f"page: expected the marks {begin.strip()} and {END.strip()}. Add them around the table.")
    return f"{before}{mark}\n{content}\n\n{end}{after}"
