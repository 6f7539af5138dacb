"""Python objects as tables: lists, mappings, arrays, data frames, `datasets`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from saccade.data.arrow import pyarrow_modules
from saccade.data.columns import check_once
from saccade.data.dataset import inventory
from saccade.data.splits import SplitNames, spelled_splits
from saccade.data.table import Table
from saccade.errors import ArgumentError

__all__ = ["OBJECTS", "array_of", "kept", "object_tables", "table_rows"]

#: Value of `data` for Python objects.
OBJECTS = "objects"


def object_tables(objects: Any, names: SplitNames) -> dict[str, Table]:
    """Return the tables of Python objects by split, a single table by "".

    Args:
        objects: an iterable of rows, a data frame of pandas or polars, an Arrow table, a mapping of columns, a pair
            `(X, y)` of arrays, frames or series, or a mapping from splits to such objects.
        names: the names of splits.

    Raises:
        ArgumentError: if there are no objects, or columns have different lengths.

    Example:
        >>> tables = object_tables({"train": [("a", "b")], "dev": [("c", "d")]}, SplitNames())
        >>> list(tables), tables["dev"].where(0)
        (['train', 'dev'], 'data: dev, row 1')
    """
    if objects is None:
        way_out = "Hand them over again as data=."
        raise ArgumentError(f"data: expected the Python objects that this run was trained on, got none. {way_out}")
    if isinstance(objects, Mapping) and not _are_columns(objects, names):
        parts = {str(name): part for name, part in objects.items() if part is not None}
        spelled = spelled_splits(Path("data"), parts, names)
        return {
            name: _table(parts[part], name) if name in names.all else Table((), str) for part, name in spelled.items()
        }
    return {"": _table(objects, "train")}


def table_rows(part: Any, where: str) -> list[Mapping[Any, Any]] | None:
    """Return the rows of a data frame, an Arrow table or a mapping of columns.

    Other objects return None.

    Args:
        part: the object.
        where: its name in messages.

    Raises:
        ArgumentError: if the columns have different lengths.

    Example:
        >>> table_rows({"x": [1, 2], "y": np.zeros(2)}, "data")[0]
        {'x': 1, 'y': np.float64(0.0)}
    """
    if hasattr(part, "to_dicts"):  # polars
        records: list[Mapping[Any, Any]] = part.to_dicts()
        return records
    if hasattr(part, "to_dict") and hasattr(part, "columns"):  # pandas
        try:
            check_once(list(part.columns))
        except ValueError as error:
            raise ArgumentError(f"{where}: {error}; rename one") from error
        return list(part.to_dict("records"))
    if hasattr(part, "__arrow_c_stream__") and (hasattr(part, "columns") or hasattr(part, "schema")):  # Arrow, DuckDB
        arrow, _ = pyarrow_modules()
        return _rows_of_arrow(arrow.table(part), where)
    if not isinstance(part, Mapping):
        return None
    lengths = {name: _length(column) for name, column in part.items()}
    if None in lengths.values() or len(set(lengths.values())) > 1:
        got = inventory(f"{length or 'none'} of {name}" for name, length in lengths.items())
        way_out = "a mapping of splits needs one called train"
        raise ArgumentError(f"{where}: expected columns of as many cells each, got {got}; {way_out}")
    return [dict(zip(part, cells, strict=True)) for cells in zip(*part.values(), strict=True)]


def _rows_of_arrow(table: Any, where: str) -> list[Mapping[Any, Any]]:
    try:
        check_once(table.column_names)
    except ValueError as error:
        raise ArgumentError(f"{where}: {error}; rename one") from error
    rows: list[Mapping[Any, Any]] = table.to_pylist()
    return rows


def array_of(part: Any) -> np.ndarray:
    """Return an array. A tensor may be on any device and have a gradient.

    Raises:
        ValueError: if NumPy cannot convert the tensors of a list.

    Example:
        >>> array_of(torch.ones(2, requires_grad=True))
        array([1., 1.], dtype=float32)
    """
    if isinstance(part, torch.Tensor):
        return part.numpy(force=True)
    try:
        return np.asarray(part)
    except RuntimeError as error:  # of a tensor in a list, with the way out in its message
        raise ValueError(error) from error


def _table(part: Any, split: str) -> Table:
    features = getattr(part, "features", None) or {}
    described = ((name, getattr(kind, "names", None)) for name, kind in features.items())
    labels = {str(name): names for name, names in described if names}
    return Table(_rows(part), lambda index: f"data: {split}, row {index + 1}", labels)


def _rows(part: Any) -> Iterable[Any]:
    if isinstance(part, tuple | list) and any(map(_is_column_or_frame, part)):
        return _pairs(part)
    if isinstance(part, tuple) and len(part) == 2 and all(isinstance(cell, np.ndarray | torch.Tensor) for cell in part):
        return _pairs(part)
    rows = table_rows(part, "data")
    if rows is None and not isinstance(part, Iterable | Sequence | torch.Tensor):
        way_out = "; collect() computes it" if hasattr(part, "collect") else ""
        raise ArgumentError(f"data: expected rows, got {type(part).__name__}{way_out}")
    return part if rows is None else rows


def _is_column_or_frame(part: Any) -> bool:
    """Whether it is a frame or a series of pandas or polars, or an Arrow table."""
    return (hasattr(part, "to_list") and hasattr(part, "name")) or (
        hasattr(part, "columns") and any(hasattr(part, name) for name in ("to_dict", "to_dicts", "__arrow_c_stream__"))
    )


def _pairs(part: Sequence[Any]) -> list[Any]:
    """Return the rows of X and y. If X has named columns, that of y follows them."""
    kinds = inventory(type(item).__name__ for item in part)
    if not isinstance(part, tuple) or len(part) != 2 or any(_length(item) is None for item in part):
        way_out = "{'train': frame, 'test': frame} names splits"
        raise ArgumentError(f"data: expected rows, or (X, y), got a {type(part).__name__} of {kinds}; {way_out}")
    x, y = part
    if len(x) != len(y):
        raise ArgumentError(f"data: expected as many rows in X and y, got {len(x)} and {len(y)}")
    name, rows, answers = getattr(y, "name", None) or "y", *(table_rows(item, "data") for item in part)
    if answers is not None:
        names = list(answers[0]) if answers else []
        if len(names) != 1:
            way_out = "hand over one frame"
            raise ArgumentError(f"data: expected a y of one column, got {len(names)} ({inventory(names)}); {way_out}")
        name, y = names[0], [row[names[0]] for row in answers]
    y = y.to_pylist() if hasattr(y, "to_pylist") else y
    if rows is None:
        return list(zip(x, y, strict=True))
    if rows and name in rows[0]:
        raise ArgumentError(f"data: expected a y of another name than those of X, got {name} in both. Rename it.")
    return [{**row, name: answer} for row, answer in zip(rows, y, strict=True)]


def _length(column: Any) -> int | None:
    try:
        return None if isinstance(column, str | bytes) else len(column)
    except TypeError:
        return None


def _are_columns(objects: Mapping[Any, Any], names: SplitNames) -> bool:
    """Return whether a mapping is a table of columns, not a mapping of splits."""
    sized = bool(objects) and all(_length(part) is not None for part in objects.values())
    return sized and not any(names.split(str(name)) for name in objects)


def kept(data: Any) -> Any:
    """Copy iterators among Python objects: training and measuring both read them."""
    if isinstance(data, Mapping) and any(isinstance(part, Iterator) for part in data.values()):
        return {name: kept(part) for name, part in data.items()}
    return list(data) if isinstance(data, Iterator) else data
