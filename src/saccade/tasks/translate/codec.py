"""Pairs of texts as token ids."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn

from saccade._system.files import write_json
from saccade._system.notes import say
from saccade.data.cleaning import WIDEST, composed, front
from saccade.data.dataset import training_sample
from saccade.errors import ArgumentError
from saccade.models.padded import Padded
from saccade.tasks.batches import rectangle
from saccade.tasks.generate.batch import Batch, target_ids
from saccade.tasks.saved import TOKENIZER, reading, whole_number
from saccade.tasks.text.bpe import BytePairs
from saccade.tasks.text.special import END
from saccade.tasks.text.tokenizer import Characters, SpacedWords, Tokenizer, from_json
from saccade.tasks.translate.data.corpus import Corpus, Pair
from saccade.train.options import select
from saccade.train.task import Example

__all__ = ["Encoded", "Pairs", "Source", "encode", "encode_fitting", "encode_sources", "pad", "padded"]

_ENDLESS, _FILES = 20_000, 100_000  # pairs to learn from: of an endless split, and spread over others
_PART = 1000  # pairs encoded at once
_SIDES = ("source", "target")


class Encoded(NamedTuple):
    """Token ids of a pair, without begin and end."""

    source: list[int]
    target: list[int]

    @property
    def size(self) -> int:
        """Number of tokens of the longer side, the end included."""
        return 1 + max(len(self.source), len(self.target))

    @property
    def order(self) -> tuple[int, int]:
        """Key for sorting pairs."""
        return self.size, len(self.source)


@dataclass(frozen=True)
class Source:
    """A text to translate.

    Args:
        text: the whole text, composed (NFC).
        ids: its tokens, without an end, at most as many as the model takes.
        whole: whether they are all of its tokens.
        number: of the line, from 1 on. Two equal lines have samples of their own.
        part: text of the tokens.
    """

    text: str
    ids: list[int]
    whole: bool
    number: int
    part: str

    @property
    def name(self) -> str:
        """The text."""
        return self.text

    def pieces(self, tokenizer: Tokenizer) -> list[str]:
        """Return the text of each token."""
        return tokenizer.pieces(self.part)[: len(self.ids)]


@dataclass(frozen=True)
class Pairs:
    """Codec of pairs of texts.

    Args:
        source: tokenizer of the sources.
        target: tokenizer of the targets, the same object if one serves both sides.
        longest: tokens of the longest training target.
        options: of the run.
    """

    source: Tokenizer
    target: Tokenizer
    longest: int
    options: Any = field(default=None, compare=False)

    @property
    def joint(self) -> bool:
        """Whether an id means the same token on both sides."""
        return self.source is self.target

    @property
    def most(self) -> int:
        """Largest number of tokens of a source, four times the limit in training."""
        return 4 * int(self.options.max_length)

    @property
    def blank(self) -> Source:
        """A source of its end alone."""
        return Source("", [], whole=True, number=1, part="")

    @classmethod
    def fit(cls, data: Corpus, options: Any) -> tuple[Self, Iterable[str]]:
        """Learn from the training split, or from a sample spread over it.

        Raises:
            ArgumentError: if every pair is too long.
        """
        pairs = training_sample(data, _ENDLESS, _FILES)
        source, target = _tokenizers(pairs, options)
        parts = (pairs[first : first + _PART] for first in range(0, len(pairs), _PART))
        encoded = (pair for part in parts for pair in encode_fitting(part, source, target, options.max_length))
        lengths = [len(pair.target) for pair in encoded]
        longest = f"a side of more than {options.max_length} tokens"
        if not lengths:
            raise ArgumentError(f"--max-length: each training pair has {longest}; raise it")
        left_out = f"{len(pairs) - len(lengths)} of {len(pairs)} training pairs looked at have {longest}"
        note = f"{left_out}, and such are left out (--max-length)" if len(lengths) < len(pairs) else ""
        return cls(source, target, max(1, *lengths), options), (note,)

    def save(self, folder: Path) -> None:
        """Write tokenizer.json."""
        sides = {"joint": self.source} if self.joint else {side: getattr(self, side) for side in _SIDES}
        described = {name: tokenizer.to_json() for name, tokenizer in sides.items()}
        write_json(folder / TOKENIZER, {**described, "longest_target": self.longest})

    @classmethod
    def restore(cls, folder: Path, options: Any) -> Self:
        """Read tokenizer.json, or raise an `ArgumentError` if it is missing or damaged."""
        with reading(folder / TOKENIZER, "the tokenizers") as content:
            names = ["joint"] if "joint" in content else _SIDES
            sides = [from_json(content[name]) for name in names]
            return cls(sides[0], sides[-1], whole_number(content, "longest_target"), options)

    def encode(self, examples: Sequence[Pair], split: str) -> list[Source]:
        """Return the sources of pairs."""
        return encode_sources([pair.source for pair in examples], self.source, self.most)

    def collate(self, samples: Sequence[Encoded], step: int | None = None) -> Batch:
        """Return a batch of pairs."""
        return pad(samples)

    def inputs(self, samples: Sequence[Source]) -> Padded:
        """Return padded sources."""
        return padded([sample.ids for sample in samples])

    def size(self, sample: Source) -> int:
        """Return the number of tokens of a source, its end included, or 0 for a blank one."""
        return 1 + len(sample.ids) if sample.text.strip() else 0

    def limits(self, sizes: Tensor) -> Tensor:
        """Return the largest number of tokens of each output.

        It is in proportion to the source, up to twice the longest target.
        """
        return (3 * sizes + 10).clamp(max=2 * self.longest)

    def width(self, sample: Source) -> int:
        """Return the number of tokens of a source, its end included."""
        return 1 + len(sample.ids)

    def build(self, model: Any) -> nn.Module:
        """Return a model for these tokenizers."""
        options = select(self.options, model.Options)
        return model(len(self.source), len(self.target), options, self.joint)  # type: ignore[no-any-return]

    def show(self, example: Pair, name: str) -> Example:
        """Return a pair of texts."""
        [source] = self.encode([example], "")
        return Example(source, example.source, example.target)

    def read(self, line: str, number: int) -> Source:
        """Return a text to translate, with a warning if it is too long."""
        [source] = encode_sources([line], self.source, self.most, number)
        self.warn(source, f"line {number}")
        return source

    def warn(self, source: Source, name: str) -> None:
        """Warn if a text is too long."""
        if not source.whole:
            limit = f"{self.most} tokens (of training pairs at most {self.options.max_length} were taken)"
            say(f"{name}: longer than {limit}; what follows them is not translated")

    @property
    def parts(self) -> dict[str, tuple[object, str]]:
        """Tokenizers, equal for all members of an ensemble."""
        sides = {f"the {side} tokenizer": getattr(self, side) for side in _SIDES}
        return {name: (side.to_json(), f"another, of {len(side)} tokens") for name, side in sides.items()}


def encode(pairs: Sequence[Pair], source: Tokenizer, target: Tokenizer) -> list[Encoded]:
    """Return the token ids of pairs."""
    sources = source.encode_batch([pair.source for pair in pairs])
    return list(map(Encoded, sources, target.encode_batch([pair.target for pair in pairs])))


def encode_fitting(pairs: Sequence[Pair], source: Tokenizer, target: Tokenizer, longest: int) -> list[Encoded]:
    """Return the token ids of pairs with at most `longest` tokens on each side.

    A side of more than 64 characters a token counts as longer, and is not tokenized.
    """
    short = [pair for pair in pairs if max(len(pair.source), len(pair.target)) <= WIDEST * longest]
    return [pair for pair in encode(short, source, target) if pair.size <= longest + 1]


def encode_sources(texts: Sequence[str], tokenizer: Tokenizer, limit: int, first: int = 1) -> list[Source]:
    """Return the tokens of texts, stripped and cut to the limit of a model.

    Args:
        texts: the texts.
        tokenizer: of the sources.
        limit: tokens that the model takes.
        first: number of the first line.
    """
    texts = list(map(composed, texts))
    parts = [text.strip()[: WIDEST * limit] for text in texts]
    rows = enumerate(zip(texts, parts, tokenizer.encode_batch(parts), strict=True), first)
    return [
        Source(text, ids[:limit], len(ids) <= limit and len(part) == len(text.strip()), number, part)
        for number, (text, part, ids) in rows
    ]


def padded(rows: Sequence[Sequence[int]]) -> Padded:
    """Return padded token ids of sources, each with its end."""
    ends = [[*ids, END] for ids in rows]
    return Padded(rectangle(ends), torch.tensor(list(map(len, ends))))


def pad(pairs: Sequence[Encoded]) -> Batch:
    """Return a batch of pairs.

    >>> pad([Encoded([7, 8], [9]), Encoded([7], [9, 9])]).target
    tensor([[1, 9, 2, 0],
            [1, 9, 9, 2]])
    """
    return Batch(padded([pair.source for pair in pairs]), target_ids([pair.target for pair in pairs]))


def _tokenizers(pairs: Sequence[Pair], options: Any) -> tuple[Tokenizer, Tokenizer]:
    sources, targets = ([front(getattr(pair, side), options.max_length) for pair in pairs] for side in _SIDES)
    if options.tokenizer == "bpe":  # names, numbers and cognates are then the same tokens on both sides
        joint = BytePairs.learn([*sources, *targets], options.vocabulary_size)
        return joint, joint
    units = Characters if options.tokenizer == "characters" else SpacedWords
    return units.learn(sources, options.vocabulary_size), units.learn(targets, options.vocabulary_size)
