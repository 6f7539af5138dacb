"""The same sentences with the words of each source in another order."""

import re
from collections.abc import Sequence
from dataclasses import replace

import torch

from saccade.tasks.translate.data import BUILTIN
from saccade.tasks.translate.data.corpus import Pair
from saccade.tasks.translate.metrics import length_unit
from saccade.train.randomness import generator

__all__ = ["HOW", "how", "shuffled"]

_WORDS = "words, as white space separates them"
_CHARACTERS = "characters, of which runs of digits and of Latin letters stay together"
HOW = {
    "words": _WORDS,
    "characters": f"{_CHARACTERS}, for the language sets no space between words",
    "either": f"{_WORDS}, or, where a source has no white space (2019年2月15日, 15.03.1999), {_CHARACTERS}",
}
"""What is permuted, by the name of the rule."""
_WORD, _PIECE = re.compile(r"\S+"), re.compile(r"\d+|[a-zA-Z]+|\S")


def how(data: str, language: str | None) -> str:
    """Return the rule for a corpus: a key of `HOW`.

    >>> how("corpus", "de"), how("corpus", "ja"), how("dates", None)
    ('words', 'characters', 'either')
    """
    return "either" if data in BUILTIN else length_unit(language)


def shuffled(pairs: Sequence[Pair], rule: str) -> list[Pair]:
    """Return the pairs with the words of each source in another order, drawn evenly from all that change the text.

    The same pairs come out the same. A source of one word, or of the same one over and over, stays as it is.

    Args:
        pairs: the sentences with their references, which stay.
        rule: a key of `HOW`.

    Example:
        >>> shuffled([Pair("eins zwei", "one two", ""), Pair("2019年", "2019", "")], "either")
        [Pair(source='zwei eins', target='one two', group=''), Pair(source='年2019', target='2019', group='')]
    """
    return [replace(pair, source=_permuted(pair.source, rule, place)) for place, pair in enumerate(pairs)]


def _permuted(text: str, rule: str, place: int) -> str:
    pattern = _WORD if rule == "words" or (rule == "either" and len(text.split()) > 1) else _PIECE
    words = pattern.findall(text)
    if len(set(words)) < 2:
        return text
    drawn, order = generator(0, "shuffled", place), list(words)
    while order == words:
        order = [words[index] for index in torch.randperm(len(words), generator=drawn).tolist()]
    following = iter(order)
    return pattern.sub(lambda _: next(following), text)  # what is between them stays where it is
