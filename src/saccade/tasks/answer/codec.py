"""Questions about images as tensors: learned words and answers, and batches."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn

from saccade._system.files import write_json
from saccade._system.notes import say
from saccade.data.cleaning import composed
from saccade.data.media import attachment
from saccade.errors import ArgumentError
from saccade.models.generative import Answers
from saccade.models.image_encoder import Options as SightOptions
from saccade.models.image_encoder import Visual
from saccade.models.padded import Padded
from saccade.tasks.answer.data import Asked, Corpus, Posed
from saccade.tasks.answer.data.table import asked_in
from saccade.tasks.answer.outputs import LabelAnswers, WrittenAnswers
from saccade.tasks.batches import rectangle
from saccade.tasks.image.augment import check_shift
from saccade.tasks.image.features.store import Features, FeatureStore
from saccade.tasks.image.images import encode_png, read_image
from saccade.tasks.image.shown import Shown, featured, shown
from saccade.tasks.image.sight import Sight
from saccade.tasks.image.texts import seen_together
from saccade.tasks.saved import TOKENIZER, reading
from saccade.tasks.text.special import UNKNOWN
from saccade.tasks.text.words import Words
from saccade.train.options import select
from saccade.train.task import Example

__all__ = ["Batch", "Encoded", "Query", "Questions"]

_ENDLESS = 2_000  # questions of an endless split to learn from


class Query(NamedTuple):
    """A question about an image, its words and their ids."""

    shown: Shown
    question: str
    tokens: list[str]
    ids: list[int]


class Encoded(NamedTuple):
    """An image `(3, height, width)`, uint8, or its features, with a question.

    `shares` are those of people by their answers.
    """

    seen: Tensor | Features | None
    """Shared by all questions about an image. None: features of a store."""
    ids: list[int]
    shares: Mapping[str, float]
    name: str = ""
    """Of the image. "" stands for an image without another question."""
    size: int = 1
    """Questions count alike in a batch."""
    order: int = 0


class Batch(NamedTuple):
    """Images, padded questions and answers. Questions may share an image.

    Targets are the probability of each label, `(batch, labels)`, or the words of answers.
    """

    visual: Visual
    question: Padded
    target: Tensor | Answers

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on a device."""
        return Batch(self.visual.to(device), self.question.to(device), self.target.to(device))


@dataclass(frozen=True)
class Questions:
    """Codec of questions about images.

    Args:
        words: the tokenizer of questions.
        output: the answers.
        sight: sizes of images or features.
        options: of the run.
        store: of features, if they take the place of images.
    """

    words: Words
    output: LabelAnswers | WrittenAnswers
    sight: Sight
    options: Any = field(default=None, compare=False)
    store: FeatureStore | None = field(default=None, compare=False)

    @classmethod
    def fit(cls, data: Corpus, options: Any) -> tuple[Self, Iterable[str]]:
        """Learn from the questions, answers and images of the training split.

        Raises:
            ArgumentError: if no word is frequent enough, or there are fewer than two answers.
        """
        if options.shift and not isinstance(options, SightOptions):
            expected = f"expected none with --model {options.model}, which sees no image"
            raise ArgumentError(f"--shift: {expected}, got {options.shift}; leave it out")
        size, store = data.size("train"), options.open_features()
        questions = [data.posed("train", index) for index in range(_ENDLESS if size is None else size)]
        words = Words.learn((posed.question for posed in questions), options.vocabulary_size, options.min_count)
        if not words.words:
            raise ArgumentError(f"--min-count: no word is {options.min_count} times in the training split; lower it")
        counts = Counter(answer for posed in questions for answer in posed.answers)
        if len(counts) < 2:
            raise ArgumentError(f"--data: expected two different answers or more to train on, got {', '.join(counts)}")
        kind: type[LabelAnswers | WrittenAnswers] = WrittenAnswers if options.generate else LabelAnswers
        codec = cls(words, kind.fit(counts, options), Sight.learn(data, store), options, store)
        if codec.sight.shape is not None:
            check_shift(options.shift, codec.sight.shape)
        lost, among = sum(map(codec.lacks, questions)), codec.output.described
        if lost == len(questions):
            raise ArgumentError(f"--data: none of {lost} training questions has an answer among {among}; raise that")
        note = f"train: {lost} of {len(questions)} questions have no answer among {among}; nothing is learned of them"
        return codec, (note if lost else "",)

    def save(self, folder: Path) -> None:
        """Write tokenizer.json."""
        parts = {"words": self.words.to_json(), "sight": self.sight.to_json()}
        write_json(folder / TOKENIZER, {**parts, **self.output.to_json()})

    @classmethod
    def restore(cls, folder: Path, options: Any) -> Self:
        """Read tokenizer.json.

        Raises:
            ArgumentError: if it is damaged, or features are missing or others.
        """
        with reading(folder / TOKENIZER, "the words and answers") as content:
            kind: type[LabelAnswers | WrittenAnswers] = WrittenAnswers if "target" in content else LabelAnswers
            output = kind.restore(content, options)
            words, sight = Words.from_json(content["words"]), Sight.restore(content["sight"])
        return cls(words, output, sight, options, sight.open_store(folder, options))

    def opening(self) -> dict[str, Any]:
        """Return options to open other data."""
        return self.sight.opening()

    def adapted(self, data: Corpus) -> Any:
        """Return other data as this codec reads them."""
        return self.sight.adapted(data)

    def encode(self, examples: Sequence[Asked], split: str) -> list[Encoded]:
        """Return questions with the shares of known answers."""
        samples = list[Encoded]()
        for example in examples:
            answers = [answer for answer in example.posed.answers if answer in self.output]
            shares = {answer: answers.count(answer) / len(answers) for answer in answers}
            ids = self._read(example.posed.question)[1]
            samples.append(Encoded(example.image, ids, shares, example.name))
        return samples

    def learned(self, data: Corpus, indices: Sequence[int]) -> list[Encoded]:
        """Return training questions about an image, decoded once."""
        first = data.example("train", indices[0])
        return self.encode([first._replace(posed=data.posed("train", index)) for index in indices], "train")

    def fits(self, data: Corpus, index: int) -> bool:
        """Return whether a training question has an answer that can be learned."""
        return not self.lacks(data.posed("train", index))

    def lacks(self, posed: Posed) -> bool:
        """Return whether no answer to a question is one of the run."""
        return not any(answer in self.output for answer in posed.answers)

    def collate(self, samples: Sequence[Encoded], step: int | None = None) -> Batch:
        """Return a batch, with every image once.

        Images are shifted at random in a training step. Features stay as they are.

        Example:
            >>> codec = Questions(Words(["is", "it"]), LabelAnswers(("no", "yes", "2")), Sight())
            >>> sample = Encoded(torch.full((3, 8, 8), 255, dtype=torch.uint8), [7, 8], {"yes": 1.0}, name="a.png")
            >>> batch = codec.collate([sample, sample._replace(ids=[9])])
            >>> batch.visual.values.shape, batch.visual.about.tolist(), batch.question.lengths.tolist()
            (torch.Size([1, 3, 8, 8]), [0, 0], [2, 1])
            >>> batch.target[0].tolist()
            [0.0, 1.0, 0.0]
        """
        changes = {} if step is None else {"seed": self.options.seed, "step": step, "shifted": self.options.shift}
        ids = [sample.ids for sample in samples]
        question = Padded(rectangle(ids), torch.tensor([len(row) for row in ids]))
        target = self.output.targets([sample.shares for sample in samples])
        return Batch(seen_together(samples, self.store, **changes), question, target)

    def build(self, model: Any) -> nn.Module:
        """Return a model for these images, words and answers."""
        options = select(self.options, model.Options)
        encoder = self.sight.encoder(options) if isinstance(options, SightOptions) else None
        return self.output.build(model, encoder, len(self.words), options)

    def show(self, example: Asked, name: str) -> Example:
        """Return a question with its image and the answer of most people."""
        image, question, best = shown(self.store, example), example.posed.question, example.posed.best
        if not isinstance(image.seen, Tensor):
            return Example(self.query(image, question), f"{example.name}\t{question}", best)
        query = self.query(image._replace(name=f"{name}.png"), question)
        return Example(query, question, best, (".png", encode_png(image.seen)))

    def read(self, line: str, number: int) -> Query:
        """Read a line: the path of an image, a tab and the question."""
        path, question = asked_in(line, number)
        if self.store is None:
            assert self.sight.shape is not None
            source = attachment(path) or Path(path)
            image = Shown(path, read_image(source, path, channels=self.sight.shape[0], size=self.sight.size))
        else:
            image = featured(self.store, path)
        if len(self.words.pieces(composed(question))) > self.options.max_length:
            limit = f"{self.options.max_length} words (--max-length)"
            say(f"line {number}: longer than {limit}; what follows them is not read")
        return self.query(image, question)

    def query(self, image: Shown, question: str) -> Query:
        """Return a question as it is read."""
        text = composed(" ".join(question.split()))
        return Query(image, text, *self._read(text))

    @property
    def parts(self) -> dict[str, tuple[object, str]]:
        """Parts that members of an ensemble share."""
        trained = "others; train both on the same data with the same --vocabulary-size and --min-count"
        return {
            "the answers": self.output.shared,
            "the words": (self.words.words, trained),
            "what is seen": (self.sight, f"{self.sight.shape or self.sight.dim}"),
        }

    def _read(self, question: str) -> tuple[list[str], list[int]]:
        """Words of a question, at least one and at most `max_length`, and their ids."""
        tokens = (self.words.pieces(question) or [question])[: self.options.max_length]
        return tokens, self.words.numbers(tokens) or [UNKNOWN]
