"""The task that classifies texts: what `saccade.train` and the command line ask of it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch
from torch import nn
from torch.nn import functional as F

from saccade.errors import ArgumentError
from saccade.tasks import find
from saccade.tasks.batches import Sampler
from saccade.tasks.classify_text import answers, asking, evaluation
from saccade.tasks.classify_text.batches import Batch, Encoded, pad
from saccade.tasks.classify_text.corpora import BUILTIN, open_corpus
from saccade.tasks.classify_text.corpus import Corpus, Example
from saccade.tasks.classify_text.ensemble import Ensemble
from saccade.tasks.classify_text.learning import learn
from saccade.tasks.classify_text.options import RECIPES, Options
from saccade.tasks.generate import Decoding
from saccade.tasks.modelled import Modelled
from saccade.tasks.text.tokenizer import SPECIAL
from saccade.tasks.text.vectors import Vectors
from saccade.tasks.text.words import Words
from saccade.train import options as shared
from saccade.train.files import read_json, write, write_json
from saccade.train.notes import say
from saccade.train.task import Evaluation, Loss

if TYPE_CHECKING:
    from saccade.train.trained import Trained

__all__ = ["ClassifyText"]

_VECTORS = "vectors.safetensors"
_KEPT = 50_000  # training texts whose words are kept in memory: cutting them anew takes a third of a small model's step


@dataclass(frozen=True)
class ClassifyText(Modelled):
    """Learn which label a text has, from texts with their labels.

    Args:
        settings: all options of the run.
        words: the tokenizer.
        labels: all labels, sorted; a label's number is its place.
        dim: features of a word's vector, None for the model's own.
        vectors: the vectors that words begin with, None where all are drawn.
    """

    settings: Any
    words: Words
    labels: tuple[str, ...]
    dim: int | None
    vectors: Vectors | None

    name: ClassVar[str] = "classify-text"
    headline: ClassVar[str] = "accuracy"
    Settings: ClassVar[type] = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES
    models: ClassVar[dict[str, str]] = {
        "rnn-attention": "saccade.models.rnn_attention:RNNAttention",
        "self-attention": "saccade.models.self_attention:SelfAttention",
        "fixed": "saccade.models.fixed:Fixed",
        "sum": "saccade.models.bag:Bag",
    }
    builtin: ClassVar[dict[str, str]] = BUILTIN

    @classmethod
    def prepare(cls, options: Any) -> Self:
        """Open the corpus and learn its words."""
        corpus = open_corpus(options.data)
        learned = learn(corpus, options)
        for note in filter(None, (corpus.note, *learned.notes)):
            say(note)
        task = cls(options, learned.words, tuple(corpus.labels), learned.dim, learned.vectors)
        vars(task)["corpus"] = corpus  # the property of that name would read the files once more
        return task

    @classmethod
    def restore(cls, options: Any, folder: Path) -> Self:
        """Read words and labels back, and the vectors that training began with: it may have to begin again."""
        path = folder / "tokenizer.json"
        try:
            content = read_json(path)
            labels, dim = content["labels"], content["embedding_dim"]
            if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels) or len(labels) < 2:
                raise ValueError(f"labels {labels!r:.60}")
            if dim is not None and (not isinstance(dim, int) or not 0 < dim < 2**31):
                raise ValueError(f"embedding_dim {dim!r:.60}")
            words = Words.from_json(content["words"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ArgumentError(f"{path}: expected the words and labels of this run, got {error}") from error
        vectors = None if options.vectors is None else _read_vectors(folder / _VECTORS)
        return cls(options, words, tuple(labels), dim, vectors)

    def save(self, folder: Path) -> None:
        """Write tokenizer.json, and the vectors that training begins with."""
        described = {"words": self.words.to_json(), "labels": list(self.labels), "embedding_dim": self.dim}
        write_json(folder / "tokenizer.json", described)
        if self.vectors is not None:
            from safetensors.torch import save

            write(folder / _VECTORS, save({"numbers": self.vectors.numbers, "values": self.vectors.values}))

    @property
    def fingerprint(self) -> str:
        """What the corpus is, in one string."""
        return self.corpus.fingerprint

    @cached_property
    def corpus(self) -> Corpus:
        """The corpus, opened when it is first asked for: answering needs none."""
        return open_corpus(self.settings.data)

    @cached_property
    def sampler(self) -> Sampler[Encoded]:
        """What maps steps to batches."""
        settings, size = self.settings, self.corpus.size("train")
        return Sampler(self._encoded, size, settings.batch_tokens, settings.seed)

    def build(self) -> nn.Module:
        """Make the model, with the vectors that words begin with."""
        kind = find(self.models[self.settings.model])
        options = replace(shared.select(self.settings, kind.Options), embedding_dim=self.dim)
        model: nn.Module = kind(len(self.words), len(self.labels), options)
        if self.vectors is not None:
            self._begin(model.words.embedding, self.vectors)  # type: ignore[union-attr, arg-type]
        return model

    def batch(self, step: int) -> Batch:
        """Return the batch of a training step."""
        return pad(self.sampler.batch(step))

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Return the cross-entropy of the labels."""
        logits = model(batch.tokens, batch.lengths)
        total = F.cross_entropy(logits.float(), batch.labels, label_smoothing=self.settings.label_smoothing)
        return Loss(total, int(batch.lengths.sum()))

    def evaluate(self, model: nn.Module, split: str, limit: int | None = None) -> Evaluation:
        """Classify a split, or `limit` texts of it, and measure it, as a whole and by class."""
        return evaluation.evaluate(self, model, split, limit)

    def sample(self, model: nn.Module, step: int) -> str:
        """Show a text of the validation split, its label and what it should be, in a line."""
        return evaluation.sample(self, model, step)

    def predict(
        self, model: nn.Module, inputs: Iterable[str], count: int, *, ahead: int | None = None
    ) -> Iterator[list[str]]:
        """Classify texts, so many at a time that memory does not grow; a blank one has a blank answer."""
        for _, answer in answers.answers(self, model, inputs, ahead):
            yield answers.written(self, answer, count)

    def align(
        self, model: nn.Module, inputs: Iterable[str], count: int, *, ahead: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """Classify texts and say which words were attended to, in constant memory."""
        for text, answer in answers.answers(self, model, inputs, ahead, attended=True):
            yield answers.described(self, text, answer, count)

    def asked(self, model: nn.Module, decoding: Decoding, count: int) -> Self:
        """Return the task itself, if what is asked means anything here."""
        asking.check(self, decoding, count)
        return self

    def join(self, model: nn.Module, others: Sequence["Trained"]) -> tuple[Self, nn.Module]:
        """Return the task and the model of an ensemble, which reads as much of a text as every member does."""
        asking.check_alike(self, others)
        longest = min(other.options.max_length for other in others)
        settings = replace(self.settings, max_length=min(self.settings.max_length, longest))
        return replace(self, settings=settings), Ensemble([model, *(each.model for each in others)])

    def look(self, model: nn.Module, inputs: Iterable[str], folder: Path) -> Iterator[Path]:
        """Colour the words of each text that is not blank."""
        from saccade.tasks.classify_text.look import draw

        for number, text in enumerate(inputs, 1):
            if text.strip():
                yield from draw(self, model, text, folder, f"line {number}")

    def held(self, split: str) -> tuple[list[Encoded], list[str]]:
        """Return the texts of a split and their groups, encoded once."""
        if split not in self._held:
            examples = [self.corpus.example(split, index) for index in range(self.corpus.size(split) or 0)]
            long = sum(not answers.read(self, example.text)[1] for example in examples)
            if long:
                most = f"{self.settings.max_length} words (--max-length); what follows these is not read"
                say(f"{split}: {long} of {len(examples)} texts have more than {most}")
            self._held[split] = self._labelled(examples, split), [example.group for example in examples]
        return self._held[split]

    @cached_property
    def _held(self) -> dict[str, tuple[list[Encoded], list[str]]]:
        return {}

    def _encoded(self, indices: Sequence[int]) -> list[Encoded]:
        """The training examples at some indices; those of a small corpus are cut into words once."""
        size = self.corpus.size("train")
        if size is None or size > _KEPT:
            return self._labelled([self.corpus.example("train", index) for index in indices], "train")
        if missing := [index for index in dict.fromkeys(indices) if index not in self._known]:
            found = self._labelled([self.corpus.example("train", index) for index in missing], "train")
            self._known.update(zip(missing, found, strict=True))
        return [self._known[index] for index in indices]

    @cached_property
    def _known(self) -> dict[int, Encoded]:
        return {}

    def _labelled(self, examples: Sequence[Example], split: str) -> list[Encoded]:
        numbers = {label: number for number, label in enumerate(self.labels)}
        for example in examples:
            if example.label not in numbers:
                known = ", ".join(self.labels)
                raise ArgumentError(
                    f"--data: the label {example.label!r:.60} of the {split} split is none of the run's: {known:.80}"
                )
        tokens = [answers.read(self, example.text)[0] for example in examples]
        return [
            Encoded(self.words.numbers(own), numbers[example.label])
            for own, example in zip(tokens, examples, strict=True)
        ]

    def _begin(self, embedding: nn.Embedding, vectors: Vectors) -> None:
        """Give words their vectors; those that have none are drawn at the same scale (Kim 2014, section 3.1)."""
        with torch.no_grad():
            drawn = embedding.weight[SPECIAL:].std()
            embedding.weight *= vectors.values.std(correction=0) / drawn if bool(drawn > 0) else 1.0
            embedding.weight[vectors.numbers + SPECIAL] = vectors.values
        embedding.weight.requires_grad_(not self.settings.freeze_vectors)


def _read_vectors(path: Path) -> Vectors:
    """The vectors that a run keeps.

    Raises:
        ArgumentError: if they are not there or not whole.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        found = load(path.read_bytes())
        return Vectors(found["numbers"], found["values"])
    except (SafetensorError, KeyError) as error:
        raise ArgumentError(f"{path}: expected the word vectors of this run, got {error}") from error
