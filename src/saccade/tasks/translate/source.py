"""A text to translate, as tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

from saccade.data.cleaning import WIDEST, composed
from saccade.tasks.text.tokenizer import Tokenizer

__all__ = ["Source", "encode_sources"]


@dataclass(frozen=True)
class Source:
    """A text to translate.

    Args:
        text: as it was given, composed (NFC).
        ids: its tokens, without an end, at most as many as the model takes.
        whole: whether they are all of its tokens.
        number: of the line, from 1 on: of two lines that are alike, each is sampled for itself.
        part: what of the text was looked at.
    """

    text: str
    ids: list[int]
    whole: bool
    number: int
    part: str

    @property
    def blank(self) -> bool:
        """Whether there is nothing to translate."""
        return not self.text.strip()

    def pieces(self, tokenizer: Tokenizer) -> list[str]:
        """Return the text of each of its tokens."""
        return tokenizer.pieces(self.part)[: len(self.ids)]


def encode_sources(texts: Sequence[str], tokenizer: Tokenizer, most: int, first: int = 1) -> list[Source]:
    """Return the tokens of texts, space around them taken off as in every corpus, cut to what a model takes.

    Args:
        texts: the texts.
        tokenizer: of the sources.
        most: tokens that the model takes.
        first: number of the first line.
    """
    texts = list(map(composed, texts))
    parts = [text.strip()[: WIDEST * most] for text in texts]
    found = enumerate(zip(texts, parts, tokenizer.encode_batch(parts), strict=True), first)
    return [
        Source(text, ids[:most], len(ids) <= most and len(part) == len(text.strip()), number, part)
        for number, (text, part, ids) in found
    ]
