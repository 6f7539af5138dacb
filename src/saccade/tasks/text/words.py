"""Texts cut into words, lower-cased, of which the frequent ones are known."""

import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

from saccade.data.cleaning import composed
from saccade.errors import ArgumentError
from saccade.tasks.text.special import SPECIAL, UNKNOWN

__all__ = ["LONE", "Words"]

LONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Kana and ideographs, as a range of a regular expression: no space says where words end, so each is one."""


class Words:
    """One token a word, a mark of punctuation, an ideograph; whatever its case.

    English contractions are two words, as the Penn Treebank has them: "don't" is "do" and "n't", "it's" is "it" and
    "'s". So a text is the same tokens whether it comes cut into words or not.

    Args:
        words: all that are known, in the order of their ids, from 4 on; any other is 3.

    Example:
        >>> tokenizer = Words.learn(["It's good.", "It is not."], 100, 1)
        >>> tokenizer.pieces("It isn't good!"), tokenizer.encode("It isn't good!")
        (['It', 'is', "n't", 'good', '!'], [5, 8, 3, 7, 3])

    Source:
        The treatment of contractions: Penn Treebank tokenization, Marcus et al. 1993
        (https://aclanthology.org/J93-2004).
    """

    unknowns: ClassVar[bool] = True
    joint: ClassVar[str] = " "

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)
        self._ids = {word: number for number, word in enumerate(self.words, SPECIAL)}

    @classmethod
    def learn(cls, texts: Iterable[str], size: int, least: int) -> "Words":
        """Know the words of some texts: the most frequent, so that there are at most `size` ids.

        Args:
            texts: the texts.
            size: how many ids there may be, 4 special ones among them.
            least: how often a word has to be there.
        """
        counts = Counter(_key(piece) for text in texts for piece in _cut(text))
        ranked = sorted((word for word in counts if counts[word] >= least), key=lambda word: (-counts[word], word))
        return cls(ranked[: max(0, size - SPECIAL)])

    def __len__(self) -> int:
        """How many ids there are."""
        return len(self.words) + SPECIAL

    def pieces(self, text: str) -> list[str]:
        """Return the text of each token of a text, as it was written."""
        return _cut(text)

    def encode(self, text: str) -> list[int]:
        """Return token ids."""
        return self.numbers(_cut(text))

    def numbers(self, pieces: Iterable[str]) -> list[int]:
        """Return the ids of words as `pieces` has them."""
        return [self._ids.get(_key(piece), UNKNOWN) for piece in pieces]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text."""
        return [self.encode(text) for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the words of token ids with a space between; unknown is the replacement character."""
        return " ".join(filter(None, map(self.piece, ids)))

    def piece(self, number: int) -> str:
        """Return the text of one token, "" for a special one."""
        if number >= SPECIAL:
            return self.words[number - SPECIAL]
        return "\N{REPLACEMENT CHARACTER}" if number == UNKNOWN else ""

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return {"kind": "words", "normalization": "NFC, lower case", "words": self.words}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Words":
        """Return the tokenizer that a part of tokenizer.json describes.

        Raises:
            ArgumentError: if it is not whole.
        """
        words = content["words"]
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ArgumentError("tokenizer.json: expected words, as a list of strings")
        if len(set(words)) != len(words):
            raise ArgumentError("tokenizer.json: expected each word once, got one twice")
        return cls(words)


def _cut(text: str) -> list[str]:
    return _pattern().findall(composed(text))


def _key(piece: str) -> str:
    """What a word is known by. Lower case may be several code points, which are composed anew."""
    return composed(piece.lower().replace("\u2019", "'"))


@cache
def _pattern() -> re.Pattern[str]:
    """A contraction, an ideograph, a word, or any other character.

    Python's word characters leave out the marks that are part of words in most scripts of India and elsewhere.
    """
    marks = "".join(c for c in map(chr, range(min(sys.maxunicode, 0x20000))) if unicodedata.category(c)[0] == "M")
    letter = f"[\\w{re.escape(marks)}\u200c\u200d]"
    short = f"['\u2019](?:s|re|ve|ll|d|m|t)(?!{letter})"
    word = f"(?:(?!n['\u2019]t(?!{letter}))(?![{LONE}]){letter})+"
    return re.compile(
        f"n['\u2019]t(?!{letter})|(?<={letter}){short}|(?<=\\s){short}|^{short}|[{LONE}]|{word}|\\S", re.I
    )
