"""Texts with labels as ids of words: saved, encoded and padded."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import torch
from torch import nn

from saccade._system.files import write_json
from saccade._system.notes import Once, say
from saccade.data.cleaning import WIDEST, composed
from saccade.data.dataset import training_sample
from saccade.models.padded import Padded
from saccade.tasks.batches import rectangle
from saccade.tasks.labels.ranking import label_numbers
from saccade.tasks.labels.ranks import Batch
from saccade.tasks.saved import TOKENIZER, labels_from, reading
from saccade.tasks.text.tokenizer import SpacedWords, from_json
from saccade.train.options import select
from saccade.train.task import Example

__all__ = ["Text", "TextCodec", "WordLabelsCodec", "pad"]

_CACHED = 50_000  # texts whose ids are kept: to cut them anew takes a third of a training step


class Text(NamedTuple):
    """A text as a model reads it.

    Args:
        ids: of its words.
        labels: numbers of its labels.
        text: the whole text, composed (NFC), of an input.
        tokens: the words as they are written, of an input.
    """

    ids: Sequence[int]
    labels: Sequence[int] = ()
    text: str = ""
    tokens: Sequence[str] = ()

    @property
    def size(self) -> int:
        """Number of words."""
        return len(self.ids)

    @property
    def order(self) -> int:
        """Sort key of texts of like length."""
        return len(self.ids)


@dataclass(frozen=True)
class TextCodec:
    """Codec of texts with one label each, or several.

    Args:
        labels: all labels, sorted. The number of a label is its index.
        words: the tokenizer.
        options: of the run (`saccade.tasks.text.options.TextOptions`).

    Example:
        >>> from saccade.tasks.labels.labelled import LabelledText
        >>> from saccade.tasks.text.options import TextOptions
        >>> codec = WordLabelsCodec(("O", "PLACE"), SpacedWords(["in", "Rome"]), options=TextOptions())
        >>> codec.encode([LabelledText("in Rome", "O PLACE")], "train")
        [Text(ids=[4, 5], labels=[0, 1], text='', tokens=())]
    """

    labels: tuple[str, ...]
    words: Any
    options: Any = field(default=None, compare=False, kw_only=True)

    by_word: ClassVar[bool] = False
    """Whether each word has a label. Labels of words beyond `max_length` are left out."""

    endless: ClassVar[int] = 5_000
    """Texts of an endless training split to learn from."""

    learned: ClassVar[int] = 200_000
    """Texts of other training splits to learn from, at most."""

    @classmethod
    def fit(cls, data: Any, options: Any) -> tuple[Self, Iterable[str]]:
        """Learn the most frequent words between spaces, and all labels.

        They come from the training split, or a sample of it.
        """
        examples = training_sample(data, cls.endless, cls.learned)
        words = SpacedWords.learn((example.text for example in examples), options.vocabulary_size)
        codec = cls((), words, options=options)
        whole = training_sample(data, cls.endless, 1 << 62)  # a rare label may be outside of the sample
        labels = {label for example in whole for label in codec.labels_of(example)}
        return replace(codec, labels=tuple(sorted(labels))), []

    def save(self, folder: Path) -> None:
        """Write tokenizer.json."""
        described = {"words": self.words.to_json(), "labels": list(self.labels), **self.more()}
        write_json(folder / TOKENIZER, described)

    def more(self) -> dict[str, Any]:
        """Return further numbers or texts to save, by the names of fields."""
        return {}

    @classmethod
    def restore(cls, folder: Path, options: Any) -> Self:
        """Read tokenizer.json.

        Raises:
            ArgumentError: if it is missing or damaged.
        """
        with reading(folder / TOKENIZER, "the words and labels") as content:
            return cls(labels_from(content), from_json(content["words"]), options=options, **cls.fields(content))

    @classmethod
    def fields(cls, content: Any) -> dict[str, Any]:
        """Return further fields from the content of tokenizer.json."""
        return {}

    def labels_of(self, example: Any) -> Sequence[str]:
        """Return the label of an example, or those of its words."""
        return example.label.split() if self.by_word else (example.label,)

    def encode(self, examples: Sequence[Any], split: str) -> list[Text]:
        """Return texts with the numbers of their labels.

        A note tells how many texts are too long. `fit` has counted those of the training split.

        Raises:
            ArgumentError: for an unknown label.
        """
        numbers = [label_numbers(self.labels, self.labels_of(example), split) for example in examples]
        cut = [self._ids(example.text) for example in examples]
        if split != "train" and (long := sum(not whole for _, whole in cut)):
            self._once.say(split, f"{split}: {long} of {len(cut)} texts have more than {self.limit}")
        pairs = zip((ids for ids, _ in cut), numbers, strict=True)
        return [Text(ids, labels[: len(ids)] if self.by_word else labels) for ids, labels in pairs]

    def collate(self, samples: Sequence[Text], step: int | None = None) -> Batch:
        """Return padded texts, and their labels one after another."""
        return Batch(pad(samples), torch.tensor([label for sample in samples for label in sample.labels]))

    def build(self, model: Any) -> nn.Module:
        """Return a model of these words and labels."""
        return model(len(self.words), len(self.labels), select(self.options, model.Options))  # type: ignore[no-any-return]

    def show(self, example: Any, name: str) -> Example:
        """Return a text and its labels."""
        return Example(self._text(example.text)[0], example.text, " ".join(self.labels_of(example)))

    def read(self, line: str, number: int) -> Text:
        """Return a text, with a note if it is too long."""
        text, whole = self._text(line)
        if not whole:
            say(f"line {number}: longer than {self.limit}")
        return text

    def tokens(self, text: str) -> tuple[list[str], bool]:
        """Return the first words of a text, and whether these are all of its words."""
        limit, stripped = self.options.max_length, text.strip()
        part = stripped[: WIDEST * limit]
        tokens = self.words.pieces(part)
        return tokens[:limit], len(tokens) <= limit and len(part) == len(stripped)

    @property
    def parts(self) -> dict[str, tuple[object, str]]:
        """Labels and words, alike in all members of an ensemble."""
        got = "others; train both on the same data with the same --vocabulary-size and --min-count"
        return {"the labels": (self.labels, f"{', '.join(self.labels):.80}"), "the words": (self.words.to_json(), got)}

    def _text(self, text: str) -> tuple[Text, bool]:
        """Return a text with its words, and whether these are all of its words."""
        text = composed(text)
        tokens, whole = self.tokens(text)
        return Text(self.words.numbers(tokens), text=text, tokens=tokens), whole

    @cached_property
    def _ids(self) -> Callable[[str], tuple[Sequence[int], bool]]:
        def ids(text: str) -> tuple[Sequence[int], bool]:
            read, whole = self._text(text)
            return read.ids, whole

        return lru_cache(_CACHED)(ids)

    @cached_property
    def _once(self) -> Once:
        return Once()

    @property
    def limit(self) -> str:
        """The greatest length of a text, for messages."""
        return f"{self.options.max_length} words (--max-length), and later words are not read"


class WordLabelsCodec(TextCodec):
    """Codec of texts with a label for each word between spaces."""

    by_word = True


def pad(texts: Sequence[Text]) -> Padded:
    """Return padded ids of words.

    >>> pad([Text([7, 8]), Text([9])]).values
    tensor([[7, 8],
            [9, 0]])
    """
    return Padded(rectangle([text.ids for text in texts]), torch.tensor([text.size for text in texts]))
