"""Data as rows: read from files, folders and Python objects, and in splits.

`load` returns the rows with the columns of a task. Each published layout is a module of `saccade.data.layouts`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from saccade.data.columns import Column, read_columns
from saccade.data.dataset import data_path, no_such_data
from saccade.data.files import ENDS, open_tables
from saccade.data.labels import check_labels
from saccade.data.naming import Names, chosen, name_columns, training_table
from saccade.data.objects import OBJECTS, object_tables
from saccade.data.rows import HELD, Blank, Examples, Rows, rows_of
from saccade.data.splits import SplitNames
from saccade.data.table import Row, Table
from saccade.data.tables import read_table

__all__ = [
    "OBJECTS",
    "Blank",
    "Column",
    "Examples",
    "Layout",
    "Names",
    "ReadRow",
    "Row",
    "Rows",
    "SplitNames",
    "Table",
    "load",
    "open_rows",
]

Layout: TypeAlias = Callable[[Path, SplitNames], dict[str, Table] | None]
"""Published layout: from a path to tables by split, or None for another layout."""

ReadRow: TypeAlias = Callable[[Any, Mapping[str, Sequence[str]]], Row]
"""Function from a row and the class names of each column to values.

It raises ValueError for an invalid row.
"""


def load(
    data: str | Path,
    columns: Sequence[Column] | ReadRow,
    names: SplitNames | None = None,
    objects: Any = None,
    *,
    first: Sequence[Layout] = (),
    layouts: Sequence[Layout] = (),
    read: Callable[[Path], Table] | None = None,
    nested: str | None = None,
    blank: Blank[Row] | None = None,
    what: str = "examples",
    more: bool = False,
    key: Callable[[Row], Any] | None = None,
    ends: Sequence[str] = ENDS,
    whole: Sequence[str] = (),
    held: tuple[int, int] = HELD,
    divided: bool = True,
    check: Callable[[Row], None] | None = None,
    prepare: Callable[[Table], None] | None = None,
) -> Rows[Row] | None:
    """Return the rows of a path or of Python objects, in three splits.

    Args:
        data: a file, a folder, or "objects".
        columns: the columns of the task, or the reader of a row.
        names: the names of splits, and of columns (`Names`).
        objects: the Python objects.
        first: published layouts that go before tables.
        layouts: published layouts of a path that has no tables.
        read: reader of a file; None: `saccade.data.tables.read_table`.
        nested: a column that may hold a mapping with all columns, for example "translation".
        blank: rows to leave out.
        what: the rows, for messages.
        more: whether to ignore further cells in a file without a header.
        key: from a row to its key. The hash of the key decides the split if splits are missing. Default: the first
            value.
        ends, whole: the names of tables in a folder, see `saccade.data.files.open_tables`.
        held: `(share, limit)`. One in `share` different keys is held out for each missing split, at most `limit`.
        divided: whether a column `split` divides a single table.
        check: raises ValueError for an invalid row.
        prepare: looks at the training table before its rows are read.

    Returns:
        Rows with the columns' names; None if there are no data at the path.

    Raises:
        ArgumentError: for an invalid file, row or split, with its name.
        OSError: if a file cannot be read.

    Example:
        >>> rows = load("objects", [Column("text", ("text",))], objects=[{"text": f"film {n}"} for n in range(3)])
        >>> [rows.row(split, 0)["text"] for split in ("train", "validation", "test")]
        ['film 2', 'film 0', 'film 1']
    """
    names, tables = names or SplitNames(), objects
    columns = columns if callable(columns) else chosen(columns, names)
    read_file = read or partial(read_table, columns=None if callable(columns) else columns, more=more)
    tables_of: Layout = partial(open_tables, read=read_file, ends=ends, whole=whole)
    if data != OBJECTS:
        path = data_path(str(data))
        opened = (layout(path, names) for layout in [*first, tables_of, *layouts])
        tables = next((table for table in opened if table is not None), None)
        if tables is None:
            return None
    tables = object_tables(objects, names) if data == OBJECTS else tables
    guessed, note = dict[str, str](), ""
    if prepare is not None and (table := training_table(tables, names)) is not None:
        prepare(table)
    if not callable(columns):
        columns, guessed, note = name_columns(columns, tables, names, nested)

    def values(row: Any, labels: Any) -> Row:
        inner = row.get(nested) if nested and isinstance(row, Mapping) else None
        row = row if inner is None else inner
        cells = columns(row, labels) if callable(columns) else read_columns(columns, row, labels)
        if check is not None:
            check(cells)
        return cells

    rows = rows_of(
        tables,
        values,
        key or (lambda row: next(iter(row.values()))),
        names,
        blank,
        place="data" if data == OBJECTS else str(data),
        what=what,
        divided=divided,
        held=held,
    )
    return replace(rows, note="; ".join(filter(None, [note, rows.note])), guessed=guessed)


def open_rows(
    data: str,
    builtin: Mapping[str, Callable[[], Any]],
    columns: Sequence[Column] | ReadRow,
    dataset: Callable[[Rows[Row]], Any],
    names: SplitNames | None = None,
    objects: Any = None,
    *,
    labels: Callable[[Row], Sequence[str]] | None = None,
    forms: str = "folder or file",
    holds: str | None = None,
    **settings: Any,
) -> Any:
    """Open a built-in data set, or a data set of rows.

    Args:
        data: a key of `builtin`, a path, or "objects".
        builtin: built-in data sets.
        columns, names, objects: as for `load`.
        dataset: from rows to a data set.
        labels: from a row to its labels. `saccade.data.labels.check_labels` checks them.
        forms, holds: kinds of paths and content of a folder, for messages, see `saccade.data.dataset.no_such_data`.
        settings: further arguments of `load`.

    Raises:
        ArgumentError: if there are no such data, or for an invalid file, row or split, with its name.
        OSError: if a file cannot be read.

    Example:
        >>> films = [{"text": f"film {n}"} for n in range(3)]
        >>> texts = partial(Examples, make=lambda row: row["text"])
        >>> data = open_rows("objects", {}, [Column("text", ("text",))], texts, objects=films)
        >>> data.size("train"), data.example("train", 0)
        (1, 'film 2')
    """
    names = names or SplitNames()
    if data in builtin:
        names.refuse(data)
        return builtin[data]()
    rows = load(data, columns, names, objects, **settings)
    if rows is None:
        names.check("train", data)
        raise no_such_data(data, builtin, forms, holds)
    if labels is not None:
        check_labels(rows, labels, "data" if data == OBJECTS else data, settings.get("what", "examples"))
    return dataset(rows)
