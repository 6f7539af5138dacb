"""Which images there are to look at, and what they are called on the command line."""

from pathlib import Path
from typing import Any

from saccade.data.dataset import no_such_data
from saccade.data.layouts.idx import idx
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.image.dataset import Dataset
from saccade.tasks.image.digits import Clutter, DigitRow, open_digits
from saccade.tasks.image.sources import open_files

__all__ = ["BUILTIN", "longest_label", "open_data"]

BUILTIN = {
    "digits": "handwritten digits, 28 × 28 pixels, of scikit-learn, or of MNIST with --digits",
    "translated": "a digit anywhere on a black image of 60 × 60 pixels; generated on the fly",
    "cluttered": "a digit among pieces of other digits; generated on the fly",
    "row": "several digits in a row on 100 × 100 pixels; the label is their string; generated on the fly",
}


def open_data(options: Any, objects: Any = None) -> Dataset:
    """Return the data set that --data names: digits, digits on a canvas, or images of one's own.

    Args:
        options: of the run.
        objects: the images and labels themselves, where they are Python objects.

    Raises:
        ArgumentError: if there is none, something is wrong with it, or an option means nothing for it.
        OSError: if a file cannot be read.

    Example:
        >>> from saccade.tasks.glimpse import GLIMPSE
        >>> from saccade.train.task import options_class
        >>> open_data(options_class(GLIMPSE, "ram")(model="ram", data="cluttered", distractors=4)).shape
        (1, 60, 60)
    """
    names = SplitNames.of_options(options)
    _refuse_ignored(options)
    if options.data not in BUILTIN:
        found = open_files(options.data, options.size, objects, names)
        if found is None:
            raise no_such_data(options.data, BUILTIN, "folder or archive")
        return found
    names.refuse(options.data)
    digits = open_digits() if options.digits is None else _mnist(Path(options.digits))
    if options.data == "digits":
        return digits
    if options.data == "row":
        return DigitRow(digits, options.canvas, options.data_seed, options.shortest, options.longest)
    return Clutter(digits, options.canvas, options.data_seed, options.distractors, options.distractor_size)


def longest_label(data: Dataset) -> int:
    """Return how many symbols the longest label has, 1 where labels are classes."""
    return data.longest if isinstance(data, DigitRow) else 1


def _mnist(folder: Path) -> Any:
    if idx(folder, SplitNames()) is None:
        raise ArgumentError(f"--digits: expected a folder with MNIST's files (train-images-idx3-ubyte), got {folder}")
    return open_files(str(folder), None, None, SplitNames())


def _refuse_ignored(options: Any) -> None:
    """Refuse what the data that are named would ignore."""
    usual, built_in = type(options).__dataclass_fields__, options.data in BUILTIN
    own = {"digits": built_in, "size": not built_in}
    own |= dict.fromkeys(("canvas", "data_seed"), options.data in ("translated", "cluttered", "row"))
    own |= dict.fromkeys(("shortest", "longest"), options.data == "row")
    own |= dict.fromkeys(("distractors", "distractor_size"), options.data == "cluttered")
    for name, means in own.items():
        if not means and (value := getattr(options, name)) != usual[name].default:
            raise ArgumentError(f"--{name.replace('_', '-')}: expected none with --data {options.data}, got {value}")
