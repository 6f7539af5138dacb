"""Data of glimpses: digits, digits on a canvas, and images of files."""

from pathlib import Path
from typing import Any

from saccade.data.dataset import no_such_data
from saccade.data.layouts.idx import idx
from saccade.data.naming import Names
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
    """Open the images of a run's options, or Python objects.

    Example:
        >>> from saccade.tasks.glimpse import GLIMPSE
        >>> from saccade.train.task import options_class
        >>> open_data(options_class(GLIMPSE, "ram")(model="ram", data="cluttered", distractors=4)).shape
        (1, 60, 60)
    """
    names = Names.of_options(options)
    _refuse_ignored(options)
    if options.data not in BUILTIN:
        if (images := open_files(options.data, options.size, objects, names)) is None:
            raise no_such_data(options.data, BUILTIN, "folder or archive")
        return images
    names.refuse(options.data)
    digits = open_digits()
    if options.digits is not None:
        if idx(Path(options.digits), SplitNames()) is None:
            expected = "expected a folder with MNIST's files (train-images-idx3-ubyte)"
            raise ArgumentError(f"--digits: {expected}, got {options.digits}")
        opened: Any = open_files(options.digits, None, None, SplitNames())
        digits = opened
    if options.data == "digits":
        return digits
    if options.data == "row":
        return DigitRow(digits, options.canvas, options.data_seed, options.shortest, options.longest)
    return Clutter(digits, options.canvas, options.data_seed, options.distractors, options.distractor_size)


def longest_label(data: Dataset) -> int:
    """Return the number of symbols of the longest label, 1 of classes."""
    return data.longest if isinstance(data, DigitRow) else 1


def _refuse_ignored(options: Any) -> None:
    """Reject options without effect on the data."""
    usual, built_in = type(options).__dataclass_fields__, options.data in BUILTIN
    relevant = {"digits": built_in, "size": not built_in}
    relevant |= dict.fromkeys(("canvas", "data_seed"), options.data in ("translated", "cluttered", "row"))
    relevant |= dict.fromkeys(("shortest", "longest"), options.data == "row")
    relevant |= dict.fromkeys(("distractors", "distractor_size"), options.data == "cluttered")
    for name, means in relevant.items():
        if not means and (value := getattr(options, name)) != usual[name].default:
            raise ArgumentError(f"--{name.replace('_', '-')}: expected none with --data {options.data}, got {value}")
