"""Which data sets of numbers there are, and what they are called on the command line."""

from typing import Any

from saccade.data.dataset import data_path, no_such_data
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.arrow import is_arrow, read_arrow
from saccade.tasks.objects import OBJECTS, rows_of
from saccade.tasks.regress.data.builtin import Maximum, Sine
from saccade.tasks.regress.data.dataset import Numbers, Table
from saccade.tasks.regress.data.files import is_numbers, read_sheets, read_sklearn
from saccade.tasks.regress.data.objects import read_objects
from saccade.tasks.regress.data.sheet import Row, Sheet, Wanted, check_size, chosen, differing, rows_by_split

__all__ = ["BUILTIN", "open_numbers"]

BUILTIN = {
    "sine": "points on a sine with constant noise: one number in, one out",
    "heteroscedastic": "points on a sine, with more noise for larger inputs",
    "maximum": "sets of 1 to 10 numbers and their maximum (Lee et al. 2019); generated on the fly",
}
_SKLEARN = "sklearn:"


def open_numbers(
    data: str, objects: Any = None, names: SplitNames | None = None, wanted: Wanted | None = None
) -> Numbers:
    """Return the data set that --data names: a built-in one, a table, a folder of tables, or one of scikit-learn's.

    Args:
        data: a key of `BUILTIN`, a path, or "sklearn:" and a name.
        objects: the rows themselves, where `data` says that they are Python objects.
        names: what splits are called.
        wanted: which columns are asked and answered.

    Raises:
        ArgumentError: if there is none, or something is wrong with it.
        OSError: if a file cannot be read.

    Example:
        >>> open_numbers("sine").size("train"), open_numbers("sklearn:diabetes").targets
        (512, ('target',))
    """
    path, names, wanted = data_path(data), names or SplitNames(), wanted or Wanted()
    if data in BUILTIN:
        names.refuse(data)
        _refuse(data, wanted)
        return Maximum() if data == "maximum" else Sine(growing=data == "heteroscedastic")
    if data == OBJECTS:
        return read_objects(objects, wanted, names)
    if data.startswith(_SKLEARN):
        return _of_sheets({"": read_sklearn(data.removeprefix(_SKLEARN))}, wanted, names)
    if is_arrow(path):
        tables = read_arrow(path, names)
        for table in tables.values():
            check_size(*table.shape, str(path))
        return read_objects(tables, wanted, names)
    if is_numbers(path, names):
        return _of_sheets(read_sheets(path, names), wanted, names)
    raise no_such_data(data, BUILTIN, holds=_holds(names))


def _holds(names: SplitNames) -> str:
    """What is read of a folder."""
    files = " or ".join(f"{name}.csv" for name in names.of("train"))
    return f"{files} (.tsv, .npy, .npz), or tables (.parquet, .arrow); of a single table give its own path"


def _refuse(data: str, wanted: Wanted) -> None:
    """Refuse to choose among columns of what has none to choose from."""
    given = (("target", wanted.target), ("features", wanted.features), ("sets", "it" if wanted.sets else None))
    for option, found in given:
        if found is not None:
            raise ArgumentError(f"--{option}: expected none for {data}, whose columns are known; leave {found} out")


def _of_sheets(sheets: dict[str, Sheet], wanted: Wanted, names: SplitNames) -> Table:
    first, found = next(iter(sheets.values())), dict[str, list[Row]]()
    columns, alone = chosen(first.names, wanted, first.where), len(sheets) == 1
    for called, sheet in sheets.items():
        if others := differing(sheet.names, first.names, columns, wanted):
            raise ArgumentError(f"{sheet.where}: expected the columns of {first.where}, got others: {others}")
        for split, part in rows_by_split(sheet, columns, wanted, names, "" if alone else called).items():
            found.setdefault(split or called or names.of("train")[0], []).extend(part)
    rows = rows_of(found, lambda row, _: row, lambda row: str(row[0]), names)
    return Table(rows, () if wanted.sets else columns.features, columns.targets)
