"""Options of tasks that read texts by words."""

from dataclasses import dataclass

from saccade._definitions.checks import in_ranges
from saccade.data.splits import SplitOptions

__all__ = ["TextOptions"]

_RANGES = (
    ("batch_tokens", 1, 10_000_000),
    ("vocabulary_size", 5, 10_000_000),  # 4 special ids, and a word
    ("max_length", 1, 100_000),
)


@dataclass(frozen=True, kw_only=True)
class TextOptions(SplitOptions):
    """Vocabulary, length and batches.

    >>> TextOptions(max_length=50).vocabulary_size
    30000
    """

    vocabulary_size: int = 30_000
    """Most words of the vocabulary: the most frequent of the training split."""

    max_length: int = 400
    """Most words of a text. Later words are not read."""

    batch_tokens: int = 1000
    """Approximate number of words per batch, padding included."""

    def __post_init__(self) -> None:
        super().__post_init__()
        in_ranges(self, _RANGES)
