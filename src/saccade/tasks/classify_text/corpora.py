"""Which corpora there are, and what they are called on the command line."""

import difflib
from pathlib import Path

from saccade.errors import ArgumentError
from saccade.tasks.classify_text.corpus import Corpus
from saccade.tasks.classify_text.folder import open_files
from saccade.tasks.classify_text.reviews import Reviews

__all__ = ["BUILTIN", "open_corpus"]

BUILTIN = {
    "reviews": "sentences about films, positive or negative; endless, made by a grammar in which the order decides",
}


def open_corpus(data: str) -> Corpus:
    """Return the corpus that --data names: the built-in one, a file, a folder, or what files' names begin with.

    Raises:
        ArgumentError: if there is none, or something is wrong with it.

    Example:
        >>> open_corpus("reviews").labels
        ('negative', 'positive')
    """
    if data in BUILTIN:
        return Reviews()
    found = open_files(Path(data))
    if found is not None:
        return found
    near = difflib.get_close_matches(data, BUILTIN, 1)
    hint = f"did you mean {near[0]}?" if near else f"built in: {', '.join(BUILTIN)}"
    raise ArgumentError(f"--data: no data set {data}, and no folder, file or files that begin so; {hint}")
