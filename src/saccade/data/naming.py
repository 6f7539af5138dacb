"""Names in data of the user: columns by options, or guessed from their cells."""

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, make_dataclass, replace
from functools import cache
from itertools import islice
from pathlib import PurePath
from typing import Any

import numpy as np

from saccade.data.columns import Column, find_columns, is_empty
from saccade.data.dataset import inventory, joined
from saccade.data.objects import OBJECTS
from saccade.data.splits import SPLIT, SplitNames
from saccade.data.table import Table
from saccade.data.texts import check_encoding, reading_as
from saccade.errors import ArgumentError

__all__ = [
    "Names",
    "alike",
    "are_few",
    "are_files",
    "are_long",
    "are_questions",
    "are_texts",
    "chosen",
    "data_options",
    "first_rows",
    "input_columns",
    "name_columns",
    "reading",
    "training_table",
]

_LISTED = 200  # most characters of all names of columns in an error
_SAMPLE, _FEWEST = 100_000, 3  # most and fewest rows from which a column is guessed: files are sorted by label
_COMPARED: dict[str, Any] = {"budget": True}  # a run compares the contents of its data


@dataclass(frozen=True)
class Names(SplitNames):
    """Names of the splits and of the columns of some data.

    Args:
        given: names of splits from options.
        columns: names of columns from options, such as --text-column.

    Example:
        >>> [column] = Names(columns={"text": "review"}).choose([Column("text", ("text", "sentence"))])
        >>> column.names, column.given
        (('review',), True)
    """

    columns: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_options(cls, options: Any) -> "Names":
        """Return the names of a task's options."""
        splits: Any = super().of_options(options)
        chosen = {item.name.removesuffix("_column") for item in fields(options) if item.name.endswith("_column")}
        names = {name: getattr(options, f"{name}_column") for name in sorted(chosen)}
        named: Names = replace(splits, columns={name: value for name, value in names.items() if value is not None})
        return named

    def choose(self, columns: Sequence[Column]) -> list[Column]:
        """Return columns with the names that options give them."""
        return [
            replace(column, names=(self.columns[column.name],), given=True) if column.name in self.columns else column
            for column in columns
        ]

    def refuse(self, data: str) -> None:
        """Reject names from options, for data with fixed splits and columns."""
        super().refuse(data)
        self.refuse_columns(data)

    def refuse_columns(self, data: str) -> None:
        """Reject names of columns from options, for data with fixed columns."""
        for column, name in self.columns.items():
            source = f"{data}, whose columns are fixed"
            raise ArgumentError(f"--{column}-column: expected none for {source}; leave {name} out")


@cache
def data_options(options: type, columns: tuple[Column, ...]) -> type:
    """Return a task's options, with an encoding and a name for each of its columns.

    Args:
        options: dataclass of the task's options. If it has these options already, it is returned unchanged.
        columns: needed columns of the task.

    Example:
        >>> from saccade.data.splits import SplitOptions
        >>> data_options(SplitOptions, (Column("text", ("text",)),))(text_column="review").text_column
        'review'
    """
    texts = {"encoding": "Encoding of files of text that are not UTF-8, such as cp1252."}
    for column in columns:
        usual = " or ".join(column.names) + ", or the only one that looks like it" * (column.looks is not None)
        texts[f"{column.name}_column"] = f"Name of the column of {column.what}. Default: {usual}."
    if any(item.name == "encoding" for item in fields(options)):
        return options

    def check(self: Any) -> None:
        if hasattr(options, "__post_init__"):
            options.__post_init__(self)
        check_encoding(self.encoding)
        taken = dict[str, str]()
        for column in columns:
            if (name := getattr(self, f"{column.name}_column")) is None:
                continue
            if not name.strip():
                raise ArgumentError(f"--{column.name}-column: expected the name of a column, got an empty one")
            if name in taken:
                other = f"another column than --{taken[name]}-column"
                raise ArgumentError(f"--{column.name}-column: expected {other}, got {name} for both")
            taken[name] = column.name

    documented = "\n".join(f"    {name}: {text}" for name, text in texts.items())
    return make_dataclass(
        "DataOptions",
        [(name, str | None, field(default=None, metadata=_COMPARED)) for name in texts],
        bases=(options,),
        namespace={
            "__post_init__": check,
            "__doc__": f"Names in data of the user.\n\nArgs:\n{documented}\n",
            "__module__": options.__module__,
        },
        frozen=True,
        kw_only=True,
    )


def chosen(columns: Sequence[Column], names: SplitNames | None) -> list[Column]:
    """Return columns with the names that options give them, if they give some."""
    return names.choose(columns) if isinstance(names, Names) else list(columns)


def input_columns(options: Any, columns: Sequence[Column]) -> list[Column]:
    """Return the columns of an input: all but the last.

    The first name of each is that in the data of the run.

    Args:
        options: of the run. An option with the name of a column has another name of it, such as --source de.
        columns: of the task.
    """
    named = Names.of_options(options).columns
    return [
        replace(
            column,
            names=(*filter(None, (named.get(column.name), getattr(options, column.name, None))), *column.names),
        )
        for column in columns[:-1]
    ]


@contextmanager
def reading(options: Any, builtin: Container[str]) -> Iterator[None]:
    """Decode files of text by --encoding. Built-in data have no such option."""
    encoding = getattr(options, "encoding", None)
    if encoding is not None and options.data in builtin:
        raise ArgumentError(f"--encoding: expected none for {options.data}, which is built in; leave {encoding} out")
    if encoding is not None and options.data == OBJECTS:
        raise ArgumentError(f"encoding: expected none for Python objects, got {encoding}; leave it out")
    with reading_as(encoding):
        yield


def name_columns(
    columns: Sequence[Column], tables: Mapping[str, Table], names: SplitNames, nested: str | None = None
) -> tuple[list[Column], dict[str, str], str]:
    """Return columns with their names in the tables, the guessed names, and a note.

    A needed column whose name is unknown is guessed from the cells of the training table.

    Args:
        columns: the columns of a task.
        tables: tables by the names of their splits, a single table by "".
        names: names from options.
        nested: a column that may hold a mapping with all columns.

    Raises:
        ArgumentError: if a column of an option is missing, or no single column looks like a needed one.

    Example:
        >>> rows = [{"review": f"a film of {n} minutes", "stars": str(n % 2)} for n in range(9)]
        >>> columns = [Column("text", ("text",), looks=are_long), Column("label", ("label",), looks=are_few)]
        >>> name_columns(columns, {"": Table(rows, str)}, SplitNames())[1:]
        ({'text': 'review', 'label': 'stars'}, 'reading text from column review, label from column stars; ...)
    """
    columns = chosen(columns, names)
    table = training_table(tables, names)
    if table is None:
        return columns, {}, ""
    rows = list(first_rows(table, 1, nested))
    if not rows or not isinstance(rows[0], Mapping):
        if rows and (named := next((column for column in columns if column.given), None)):
            got = f"got {rows[0]!r:.40} in {table.where(0)}"
            raise ArgumentError(f"{named.option}: expected rows with names of columns, {got}; leave it out")
        return columns, {}, ""
    header, where = list(rows[0]), table.head or table.where(0)
    matches = find_columns(columns, header, where)
    missing = [column for column, name in zip(columns, matches, strict=True) if column.needed and name is None]
    if not missing:
        return columns, {}, ""
    free = [name for name in header if name not in matches]
    cells = {name: list[Any]() for name in free}
    count = 0
    for row in first_rows(replace(table, rows=_undecoded(table.rows)), _SAMPLE, nested):
        if isinstance(row, Mapping):
            count += 1
            for name in free:
                cells[name].append(_without_media(row.get(name)))
    like = alike(missing, cells if count >= _FEWEST else {})  # of fewer rows any column may look like any
    if unclear := next((column for column in missing if len(like[column.name]) != 1), None):
        raise _unknown(missing, unclear, like[unclear.name], table, header, where)
    guessed = {name: str(names[0]) for name, names in like.items()}
    options = joined(column.option for column in missing)
    parts = ", ".join(f"{name} from column {column}" for name, column in guessed.items())
    note = f"reading {parts}; {options} {'choose others' if len(missing) > 1 else 'chooses another'}"
    return Names(columns=guessed).choose(columns), guessed, note


def alike(columns: Sequence[Column], cells: Mapping[Any, Sequence[Any]]) -> dict[str, list[Any]]:
    """Return the names of the columns in a table that look like each of some columns.

    Args:
        columns: columns of a task.
        cells: cells of the other columns of the table by name.

    Example:
        >>> alike([Column("label", ("label",), looks=are_few)], {"id": [1, 2, 3, 4], "stars": [5, 1, 1, 5]})
        {'label': ['stars']}
    """
    like, taken = dict[str, list[Any]](), set[Any]()
    free = [name for name in cells if str(name).strip().lower() != SPLIT]
    for column in columns:
        looks = column.looks or (lambda cells: False)
        like[column.name] = [name for name in free if name not in taken and looks(cells[name])]
        taken |= set(like[column.name]) if len(like[column.name]) == 1 else set()
    return like


def training_table(tables: Mapping[str, Table], names: SplitNames) -> Table | None:
    """Return the table of training rows. None: no table can be read twice."""
    training = (table for name, table in tables.items() if name == "" or names.split(name) == "train")
    return next((table for table in training if not isinstance(table.rows, Iterator)), None)


def first_rows(table: Table, limit: int, nested: str | None = None) -> Iterator[Any]:
    """Yield the first rows of a table, up to an invalid row.

    A later reading reports the invalid row.

    Args:
        table: the table.
        limit: number of rows.
        nested: a column that may hold a mapping with all columns.

    Example:
        >>> list(first_rows(Table(["a", "b", "c"], str), 2))
        ['a', 'b']
    """
    with suppress(ValueError, TypeError, KeyError, IndexError):
        for row in islice(table.rows, limit):
            inner = row.get(nested) if nested and isinstance(row, Mapping) else None
            yield row if inner is None else inner


def _undecoded(rows: Any) -> Any:
    """Leave out columns of media, since `datasets` decodes them in each reading."""
    features = getattr(rows, "features", None)
    if not isinstance(features, Mapping) or not hasattr(rows, "remove_columns"):
        return rows
    media = [name for name, kind in features.items() if hasattr(kind, "decode_example")]
    return rows.remove_columns(media) if media else rows


def _without_media(cell: Any) -> Any:
    """Return a cell, or () in place of decoded media, to save memory."""
    return cell if is_empty(cell) or isinstance(cell, str | int | float | np.generic) else ()


def _unknown(
    missing: Sequence[Column], column: Column, like: Sequence[Any], table: Table, header: Sequence[Any], where: str
) -> ArgumentError:
    """Return the error for a column without a name in the data."""
    listed = ", ".join(map(str, header))
    got = f"got {listed if len(listed) <= _LISTED else inventory(header)}"
    options = joined(other.option for other in missing)
    way_out = f"{options} name{'s' * (len(missing) == 1)} {'it' if len(missing) == 1 else 'them'}"
    if like:
        way_out = f"{column.option} chooses one of {inventory(like)}"
    if table.head:
        needed = joined(other.names[0] for other in missing)
        return ArgumentError(f"{where}: expected a header that names {needed}, {got}; {way_out}")
    return ArgumentError(f"{where}: expected a column {' or '.join(column.names)}, {got}; {way_out}")


def _texts(cells: Sequence[Any]) -> list[str] | None:
    """Return the texts of a column. None: all are blank, or some are no texts."""
    filled = [cell for cell in cells if not is_empty(cell) and not (isinstance(cell, str) and not cell.strip())]
    return list(filled) if filled and all(isinstance(cell, str) for cell in filled) else None


def are_long(cells: Sequence[Any]) -> bool:
    """Return whether cells are texts of three words or more, most of them different.

    >>> are_long(["a fine film", "a dull film"]), are_long(["good", "bad"])
    (True, False)
    """
    texts = _texts(cells)
    return (
        texts is not None and 2 * len(set(texts)) > len(texts) and sum(_words(text) for text in texts) >= 3 * len(texts)
    )


def _words(text: str) -> float:
    """Return the number of words, of two characters each in scripts without spaces."""
    unspaced = 0 if text.isascii() else sum("\u0e00" <= letter < "\u2000" or letter >= "\u2e80" for letter in text)
    return max(len(text.split()), unspaced / 2)


def are_few(cells: Sequence[Any]) -> bool:
    """Return whether cells are names or integers, each twice or more in the mean.

    >>> are_few(["good", "bad", "good", "good"]), are_few([1, 2, 3, 4])
    (True, False)
    """
    filled = [cell for cell in cells if not is_empty(cell)]
    kinds = all(isinstance(cell, str | int | np.integer | np.bool_) for cell in filled)
    return kinds and 2 <= len(set(filled)) <= len(filled) // 2


def are_texts(cells: Sequence[Any]) -> bool:
    """Return whether cells are texts, not names of files.

    >>> are_texts(["a dog runs", "yes"]), are_texts(["a.png", "b.png"])
    (True, False)
    """
    return _texts(cells) is not None and not are_files(cells)


def are_questions(cells: Sequence[Any]) -> bool:
    """Return whether most cells end with a question mark.

    >>> are_questions(["is it red?", "what is it?"])
    True
    """
    texts = _texts(cells)
    return texts is not None and 2 * sum(text.rstrip().endswith(("?", "\uff1f")) for text in texts) > len(texts)


def are_files(cells: Sequence[Any]) -> bool:
    """Return whether cells are names of files with suffixes.

    >>> are_files(["photos/a.jpg", "b.PNG"]), are_files(["a dog runs.", "yes"])
    (True, False)
    """
    texts = _texts(cells)
    return texts is not None and all(1 < len(PurePath(text.strip()).suffix) <= 6 and len(text) < 4096 for text in texts)
