"""Examples of texts with labels."""

from typing import NamedTuple

__all__ = ["LabelledText"]


class LabelledText(NamedTuple):
    """A text with its label, or the labels of its words.

    Args:
        text: the text.
        label: its label, or a label for each word, with spaces between.
        group: to measure it in beside its label, "" for none.

    Example:
        >>> LabelledText("Ada lives in Rome", "PERSON O O PLACE").group
        ''
    """

    text: str
    label: str
    group: str = ""
