"""Images with captions as tensors and token ids."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn

from saccade._system.files import write_json
from saccade.errors import ArgumentError
from saccade.models.image_encoder import Visual
from saccade.tasks.caption.data.corpus import Captioned, Corpus
from saccade.tasks.generate.batch import Batch, target_ids
from saccade.tasks.image.augment import check_shift
from saccade.tasks.image.features.store import Features, FeatureStore
from saccade.tasks.image.images import encode_png, image_of
from saccade.tasks.image.shown import Shown, featured, shown
from saccade.tasks.image.sight import Sight, visual
from saccade.tasks.image.texts import seen_together, training_texts
from saccade.tasks.saved import TOKENIZER, reading, whole_number
from saccade.tasks.text.tokenizer import from_json
from saccade.tasks.text.words import Words
from saccade.train.options import select
from saccade.train.task import Example

__all__ = ["Captions", "Encoded"]

_ENDLESS, _FILES = 2_000, 1_000_000  # to learn from: images of an endless split, and captions of others


class Encoded(NamedTuple):
    """An image or its features, and the ids of a caption.

    The image is `(channels, height, width)`, uint8. The ids have no begin and no end.
    """

    seen: Tensor | Features | None
    """The image for all its captions.

    None stands for features of a store, read when a batch is made.
    """
    ids: list[int]
    name: str = ""
    """Name of the image, equal for all its captions.

    "" stands for an image without another caption.
    """
    size: int = 1
    """Captions count alike in a batch."""
    order: int = 0
    """Constant, unlike the length. Batches by length would bias batch normalization.

    Images with long captions have more in them.
    """


@dataclass(frozen=True)
class Captions:
    """Codec of images with captions.

    Args:
        target: the words.
        longest: words of the longest training caption.
        sight: sizes of images or features.
        options: of the run.
        store: of features, if they take the place of images.
    """

    target: Any
    longest: int
    sight: Sight
    options: Any = field(default=None, compare=False)
    store: FeatureStore | None = field(default=None, compare=False)

    @property
    def limit(self) -> int:
        """Largest number of words of an output, twice that in training."""
        return 2 * self.longest

    @property
    def blank(self) -> Shown:
        """An image of zeros."""
        return Shown("", self.sight.blank())

    @classmethod
    def fit(cls, data: Corpus, options: Any) -> tuple[Self, Iterable[str]]:
        """Learn words of training captions and statistics of their images."""
        texts = [data.text("train", index) for index in training_texts(data, _FILES, _ENDLESS)]
        target = Words.learn(texts, options.vocabulary_size, options.min_count)
        if not target.words:
            raise ArgumentError(f"--min-count: no word of the captions is there {options.min_count} times; lower it")
        lengths = [len(ids) for ids in target.encode_batch(texts)]
        fitting = [length for length in lengths if length <= options.max_length]
        if not fitting:
            expected = f"each training caption has more than {options.max_length} words; raise it"
            raise ArgumentError(f"--max-length: {expected}")
        out, store = len(lengths) - len(fitting), options.open_features()
        long = f"{out} of {len(lengths)} training captions have more than {options.max_length} words: left out"
        codec = cls(target, max(1, *fitting), Sight.learn(data, store), options, store)
        if codec.sight.shape is not None:
            check_shift(options.shift, codec.sight.shape)
        return codec, (long if out else "",)

    def save(self, folder: Path) -> None:
        """Write tokenizer.json."""
        sizes = {"longest_target": self.longest, "sight": self.sight.to_json()}
        write_json(folder / TOKENIZER, {"target": self.target.to_json(), **sizes})

    @classmethod
    def restore(cls, folder: Path, options: Any) -> Self:
        """Read tokenizer.json.

        Raises `ArgumentError` if it is damaged, or features are missing or others.
        """
        with reading(folder / TOKENIZER, "the words") as content:
            longest = whole_number(content, "longest_target")
            target, sight = from_json(content["target"]), Sight.restore(content["sight"])
        return cls(target, longest, sight, options, sight.open_store(folder, options))

    def opening(self) -> dict[str, Any]:
        """Return options to open other data."""
        return self.sight.opening()

    def adapted(self, data: Corpus) -> Any:
        """Return other data as this codec reads them."""
        return self.sight.adapted(data)

    def encode(self, examples: Sequence[Captioned], split: str) -> list[Shown]:
        """Return the images of examples, or their features."""
        return [shown(self.store, example) for example in examples]

    def learned(self, data: Corpus, indices: Sequence[int]) -> list[Encoded]:
        """Return training captions of one image.

        The image is made or decoded once for all of them.
        """
        first = data.example("train", indices[0])
        texts = [data.text("train", index) for index in indices]
        return [Encoded(first.image, ids, first.name) for ids in self.target.encode_batch(texts)]

    def fits(self, data: Corpus, index: int) -> bool:
        """Return whether a training caption is not too long."""
        return len(self.target.encode(data.text("train", index))) <= int(self.options.max_length)

    def collate(self, samples: Sequence[Encoded], step: int | None = None) -> Batch:
        """Return a batch, with every image once.

        A training step mirrors and shifts images at random.
        """
        options = self.options
        changes = {} if step is None else {"step": step, "mirrored": options.flip, "shifted": options.shift}
        source = seen_together(samples, self.store, options.seed, **changes)
        return Batch(source, target_ids([sample.ids for sample in samples]))

    def inputs(self, samples: Sequence[Shown]) -> Visual:
        """Return images or features as models take them."""
        return visual([sample.seen for sample in samples])

    def size(self, sample: Shown) -> int:
        """Return 1: images count alike."""
        return 1

    def limits(self, sizes: Tensor) -> Tensor:
        """Return the most words of each output."""
        return torch.full_like(sizes, self.limit)

    def width(self, sample: Shown) -> int | None:
        """Return the number of features, or None for all cells of an image."""
        return len(sample.seen.values) if isinstance(sample.seen, Features) else None

    def build(self, model: Any) -> nn.Module:
        """Return a model for these images and words."""
        options = select(self.options, model.Options)
        return model(self.sight.encoder(options), len(self.target), options)  # type: ignore[no-any-return]

    def show(self, example: Captioned, name: str) -> Example:
        """Return an image, as a PNG file too, and its caption."""
        image = shown(self.store, example)
        if not isinstance(image.seen, Tensor):
            return Example(image, example.name, example.caption)
        file = (".png", encode_png(image.seen))
        return Example(image._replace(name=f"{name}.png"), name, example.caption, file)

    def read(self, line: str, number: int) -> Shown:
        """Read the image file of a path, or find its features.

        An image is scaled to the size of the training images.
        """
        if self.sight.shape is not None:
            return Shown(line, image_of(line, self.sight.shape[0], self.sight.size).image, number=number)
        assert self.store is not None
        return featured(self.store, line, number)

    @property
    def parts(self) -> dict[str, tuple[object, str]]:
        """Words and sizes, equal for all members of an ensemble."""
        return {
            "the words": (self.target.to_json(), f"others, {len(self.target)} of them"),
            "what is seen": (self.sight, f"{self.sight.shape or self.sight.dim}"),
        }
