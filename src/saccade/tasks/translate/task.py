"""The translation task: what `saccade.train` and the command line ask of it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch
from torch import nn

from saccade.errors import ArgumentError
from saccade.tasks import find
from saccade.tasks.batches import Sampler
from saccade.tasks.generate import Decoding, Ensemble
from saccade.tasks.modelled import Modelled
from saccade.tasks.text.tokenizer import PADDING, Tokenizer, from_json
from saccade.tasks.translate import asking, evaluation, translation
from saccade.tasks.translate.batches import Batch, Encoded, encode, pad
from saccade.tasks.translate.corpora import BUILTIN, open_corpus
from saccade.tasks.translate.corpus import Corpus
from saccade.tasks.translate.learning import learn
from saccade.tasks.translate.options import RECIPES, Options
from saccade.train import options as shared
from saccade.train.files import read_json, write_json
from saccade.train.notes import say
from saccade.train.task import Evaluation, Loss

if TYPE_CHECKING:
    from saccade.train.trained import Trained

__all__ = ["Translate"]


@dataclass(frozen=True)
class Translate(Modelled):
    """Learn to write a target text for a source text, from pairs.

    Args:
        settings: all options of the run.
        source: tokenizer of the sources.
        target: tokenizer of the targets.
        longest: tokens of the longest target seen when the tokenizers were learned.
        decoding: how outputs are written, beside what the settings say of their search.
    """

    settings: Any
    source: Tokenizer
    target: Tokenizer
    longest: int
    decoding: Decoding = Decoding()  # noqa: RUF009 (frozen)

    name: ClassVar[str] = "translate"
    Settings: ClassVar[type] = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES
    models: ClassVar[dict[str, str]] = {
        "rnnsearch": "saccade.models.rnnsearch:RNNSearch",
        "encoder-decoder": "saccade.models.encoder_decoder:EncoderDecoder",
        "luong": "saccade.models.luong:Luong",
        "transformer": "saccade.models.transformer:Transformer",
        "bytenet": "saccade.models.bytenet:ByteNet",
    }
    builtin: ClassVar[dict[str, str]] = BUILTIN

    @classmethod
    def prepare(cls, options: Any) -> Self:
        """Open the corpus and learn the tokenizers."""
        corpus = open_corpus(options.data, options.source, options.target)
        learned = learn(corpus, options)
        for note in filter(None, (corpus.note, learned.note)):
            say(note)
        task = cls(options, learned.source, learned.target, learned.longest)
        vars(task)["corpus"] = corpus  # the property of that name would read the files once more
        return task

    @classmethod
    def restore(cls, options: Any, folder: Path) -> Self:
        """Read the tokenizers back."""
        try:
            content = read_json(folder / "tokenizer.json")
            longest = content["longest_target"]
            if not isinstance(longest, int) or not 0 < longest < 2**31:
                raise ValueError(f"longest_target {longest!r}")
            if "joint" in content:
                joint = from_json(content["joint"])
                return cls(options, joint, joint, longest)
            return cls(options, from_json(content["source"]), from_json(content["target"]), longest)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            path = folder / "tokenizer.json"
            raise ArgumentError(f"{path}: expected the tokenizers of this run, got {error}") from error

    def save(self, folder: Path) -> None:
        """Write tokenizer.json."""
        sides = {"joint": self.source} if self.joint else {"source": self.source, "target": self.target}
        described = {name: tokenizer.to_json() for name, tokenizer in sides.items()}
        write_json(folder / "tokenizer.json", {**described, "longest_target": self.longest})

    @property
    def joint(self) -> bool:
        """Whether an id means the same token on both sides."""
        return self.source is self.target

    @property
    def headline(self) -> str:
        """The metric that counts: exact match of the built-in data, BLEU of all others."""
        return evaluation.headline(self.settings.data)

    @property
    def fingerprint(self) -> str:
        """What the corpus is, in one string."""
        return self.corpus.fingerprint

    @cached_property
    def corpus(self) -> Corpus:
        """The corpus, opened when it is first asked for: answering needs none."""
        return open_corpus(self.settings.data, self.settings.source, self.settings.target)

    @cached_property
    def sampler(self) -> Sampler[Encoded]:
        """What maps steps to batches."""
        size, settings = self.corpus.size("train"), self.settings
        return Sampler(self._encoded, size, settings.batch_tokens, settings.seed)

    def build(self) -> nn.Module:
        """Make the model."""
        kind = find(self.models[self.settings.model])
        model: nn.Module = kind(
            len(self.source), len(self.target), shared.select(self.settings, kind.Options), self.joint
        )
        return model

    def batch(self, step: int) -> Batch:
        """Return the batch of a training step."""
        return pad(self.sampler.batch(step))

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Return the cross-entropy of the true next tokens, the end among them."""
        before, wanted = batch.target[:, :-1], batch.target[:, 1:]
        total = model(batch.source, batch.lengths, before, wanted, self.settings.label_smoothing)
        return Loss(total, int((wanted != PADDING).sum()))

    def evaluate(self, model: nn.Module, split: str, limit: int | None = None) -> Evaluation:
        """Translate a split, or its first `limit` pairs, and measure it, as a whole and by groups."""
        return evaluation.evaluate(self, model, split, limit)

    def sample(self, model: nn.Module, step: int) -> str:
        """Show a sentence of the validation split, its translation and what it should be, in a line."""
        return evaluation.sample(self, model, step)

    def predict(
        self, model: nn.Module, inputs: Iterable[str], count: int, *, ahead: int | None = None
    ) -> Iterator[list[str]]:
        """Translate texts, so many at a time that memory does not grow; a blank one has a blank answer."""
        for outputs in translation.answers(self, model, inputs, count, ahead):
            yield [*(output.text for output in outputs), *[""] * (count - len(outputs))]

    def align(
        self, model: nn.Module, inputs: Iterable[str], count: int, *, ahead: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """Translate texts and say which source tokens each target token attended to, in constant memory."""
        return translation.alignments(self, model, inputs, count, ahead)

    def asked(self, model: nn.Module, decoding: Decoding, count: int) -> Self:
        """Return the task that writes as it is asked to, if that means anything for it, the model and n best."""
        asking.check(self, model, decoding, count)
        return replace(self, decoding=decoding)

    def join(self, model: nn.Module, others: Sequence["Trained"]) -> tuple[Self, nn.Module]:
        """Return the task and the model of an ensemble, whose texts are as long as every member takes them."""
        asking.check_alike(self, others)
        members: list[Any] = [self, *(other.task for other in others)]
        settings = replace(self.settings, max_length=min(member.settings.max_length for member in members))
        longest = min(member.longest for member in members)
        return replace(self, settings=settings, longest=longest), Ensemble([model, *(each.model for each in others)])

    def look(self, model: nn.Module, inputs: Iterable[str], folder: Path) -> Iterator[Path]:
        """Draw the alignment of each text that is not blank with its best translation."""
        from saccade.tasks.translate.look import draw

        for number, text in enumerate(inputs, 1):
            if text.strip():
                yield from draw(self, model, text, folder, f"line {number}")

    @cached_property
    def prefix(self) -> list[int]:
        """The tokens that every output begins with."""
        return [] if self.decoding.prefix is None else self.target.encode(self.decoding.prefix.strip())

    @property
    def most(self) -> int:
        """How many tokens of a source are translated: four times what training took, far beyond what was learned."""
        return 4 * int(self.settings.max_length)

    def limits(self, lengths: torch.Tensor) -> torch.Tensor:
        """Return how many tokens an output may have, `(batch,)`: a model that never ends stops here.

        In proportion to the source (lengths, ends included), but never beyond twice the longest target known.
        """
        return (3 * lengths + 10).clamp(max=2 * self.longest)

    def _encoded(self, indices: Sequence[int]) -> list[Encoded]:
        """The training pairs at some indices but for those that are too long."""
        texts = [self.corpus.example("train", index) for index in indices]
        longest = self.settings.max_length
        pairs = [pair for pair in encode(texts, self.source, self.target) if pair.size <= longest + 1]
        if not pairs:
            seen = f"all of {len(indices)} training pairs have a side of more than {longest} tokens"
            raise ArgumentError(f"--max-length: {seen}; a larger one, or a larger --vocabulary-size, takes them in")
        return pairs
