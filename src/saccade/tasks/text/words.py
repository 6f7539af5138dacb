"""Frequent words of texts, in lower case."""

import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, ClassVar

from saccade.data.cleaning import composed
from saccade.errors import ArgumentError
from saccade.tasks.text.special import SPECIAL, UNKNOWN

__all__ = ["LONE", "Words"]

LONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Kana and ideographs, as a range of a regular expression.

Their words have no spaces between, so each character is a word.
"""


class Words:
    """A token for each word, mark of punctuation and ideograph, in any case.

    English contractions are two words, as the Penn Treebank has them: "don't" is "do" and "n't", "it's" is "it" and
    "'s". So a text is the same tokens whether it comes cut into words or not.

    Args:
        words: the vocabulary, in the order of ids from 4 on. Another word is 3.

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
        """Learn the most frequent words of texts, for at most `size` ids.

        Args:
            texts: the texts.
            size: the most ids, 4 special ones included.
            least: fewest occurrences of a word.
        """
        counts = Counter[str]()
        for piece, count in Counter(piece for text in texts for piece in _cut(text)).items():
            counts[_key(piece)] += count
        ranked = sorted((word for word in counts if counts[word] >= least), key=lambda word: (-counts[word], word))
        return cls(ranked[: max(0, size - SPECIAL)])

    def __len__(self) -> int:
        """Return the number of ids."""
        return len(self.words) + SPECIAL

    @property
    def pattern(self) -> str:
        """Regular expression of a word in a text in NFC, in any case."""
        return _pattern(True).pattern

    def pieces(self, text: str) -> list[str]:
        """Return the words of a text, in their case."""
        return _cut(text)

    def encode(self, text: str) -> list[int]:
        """Return token ids."""
        return self.numbers(_cut(text))

    def numbers(self, pieces: Iterable[str]) -> list[int]:
        """Return the ids of words."""
        return [self._ids.get(_key(piece), UNKNOWN) for piece in pieces]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text."""
        return [self.encode(text) for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the words of token ids with spaces between, U+FFFD if unknown."""
        return " ".join(filter(None, map(self.piece, ids)))

    def piece(self, number: int) -> str:
        """Return the text of a token, "" for a special one."""
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
    text = composed(text)
    return _pattern(_beyond_words().search(text) is not None).findall(text)


@lru_cache(1 << 16)
def _key(piece: str) -> str:
    """Return the key of a word. Lower case may be several code points."""
    return composed(piece.lower().replace("\u2019", "'"))


@cache
def _pattern(beyond: bool) -> re.Pattern[str]:
    """A contraction, an ideograph, a word, or any other character.

    Without characters of `_beyond_words` a simpler pattern has the same matches in a tenth of the time.
    """
    letter = f"[\\w{re.escape(_marks())}]" if beyond else "\\w"
    short = f"['\u2019](?:s|re|ve|ll|d|m|t)(?!{letter})"
    negation = f"n['\u2019]t(?!{letter})"
    word = f"(?:(?!{negation})(?![{LONE}]){letter})+" if beyond else f"\\w+?(?={negation})|\\w+"
    return re.compile(f"{negation}|(?<={letter}){short}|(?<=\\s){short}|^{short}|[{LONE}]|{word}|\\S", re.I)


@cache
def _beyond_words() -> re.Pattern[str]:
    """Ideographs, marks within words, and the higher planes.

    Python does not count these marks as word characters. The planes are one range, since its regular expressions try
    the characters beyond U+FFFF one after another.
    """
    marks = "".join(re.escape(mark) for mark in _marks() if mark <= "\uffff")
    return re.compile(f"[{LONE}{marks}\U00010000-\U0010ffff]")


@cache
def _marks() -> str:
    """Marks within words of most scripts of India and elsewhere, and joiners."""
    marks = "".join(c for c in map(chr, range(min(sys.maxunicode, 0x20000))) if unicodedata.category(c)[0] == "M")
    return f"{marks}\u200c\u200d"
