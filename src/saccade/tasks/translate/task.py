"""The translation task: what `saccade.train` and whoever asks a run want of it."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from torch import Tensor, nn

from saccade.data.cleaning import LONGEST
from saccade.data.dataset import Lazy, opened, take, training_sample
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.batches import Sampler
from saccade.tasks.ensembles import check_alike, check_drawn
from saccade.tasks.generate import Ensemble
from saccade.tasks.generate.coverage import check_coverage
from saccade.tasks.generate.generate import best_texts
from saccade.tasks.generate.request import check_prefix, search_of
from saccade.tasks.looking import LookRequest
from saccade.tasks.request import completed
from saccade.tasks.stream import texts
from saccade.tasks.text.special import PADDING
from saccade.tasks.translate import metrics
from saccade.tasks.translate.baselines import baselines
from saccade.tasks.translate.batches import Batch, Encoded, encode_fitting, pad
from saccade.tasks.translate.data import BUILTIN, group_names, open_corpus
from saccade.tasks.translate.data.corpus import Corpus, Pair
from saccade.tasks.translate.options import RECIPES, REQUESTS, Options, Request
from saccade.tasks.translate.recipes import read, smaller, suited
from saccade.tasks.translate.source import Source, encode_sources
from saccade.tasks.translate.translation import Translation, attends, translate
from saccade.tasks.translate.vocabulary import Vocabulary, learn
from saccade.train import options as shared
from saccade.train.notes import say
from saccade.train.task import Baseline, Evaluation, Example, Form, Loss, Metric, Suited, find, options_class

if TYPE_CHECKING:
    from saccade.train.trained import Trained

__all__ = ["Translate"]

_ENDLESS, _LEARNED = 1_000, 20_000  # training pairs that a baseline takes: of those without end, and of others


@dataclass(frozen=True)
class Translate:
    """Learn to write a target text for a source text, from pairs.

    Args:
        settings: all options of the run.
        vocabulary: the tokenizers.
        corpus: the pairs.
    """

    settings: Any
    vocabulary: Vocabulary
    corpus: Lazy[Corpus]

    name: ClassVar[str] = "translate"
    Options: ClassVar[type] = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES
    requests: ClassVar[Mapping[str, type]] = REQUESTS
    inputs: ClassVar[Literal["lines", "files"]] = "lines"
    suffixes: ClassVar[tuple[str, ...]] = ()
    unit: ClassVar[str] = "tokens"
    lines = staticmethod(texts)
    models: ClassVar[dict[str, str]] = {
        "rnnsearch": "saccade.models.rnnsearch:RNNSearch",
        "encoder-decoder": "saccade.models.encoder_decoder:EncoderDecoder",
        "luong": "saccade.models.luong:Luong",
        "transformer": "saccade.models.transformer:Transformer",
        "bytenet": "saccade.models.bytenet:ByteNet",
    }
    builtin: ClassVar[dict[str, str]] = BUILTIN

    @classmethod
    def suited(cls, model: str, given: Mapping[str, Any], objects: Any = None) -> Suited:
        """Return the recipe for as many pairs as there are, of their length."""
        corpus = _opened(options_class(cls, model, checked=False)(**given), objects)
        seen, own = read(corpus.get()), find(cls.models[model]).recipes
        less: Suited | None = None
        for options, reason in reversed(smaller(*seen, own)):
            less = Suited(options, reason, corpus, less)
        return Suited(*suited(*seen, own), corpus, less)

    @classmethod
    def prepare(cls, options: Any, objects: Any = None) -> Self:
        """Open the corpus and learn the tokenizers."""
        corpus = _opened(options, objects).get()
        vocabulary, note = learn(corpus, options)
        for line in filter(None, (corpus.note, note)):
            say(line)
        return cls(options, vocabulary, Lazy(lambda: corpus))

    @classmethod
    def restore(cls, options: Any, folder: Path, objects: Any = None) -> Self:
        """Read the tokenizers back."""
        return cls(options, Vocabulary.restore(folder), _opened(options, objects))

    def save(self, folder: Path) -> None:
        """Write tokenizer.json."""
        self.vocabulary.save(folder)

    @property
    def headline(self) -> str:
        """The metric that counts: exact match of the built-in data, BLEU of all others."""
        return metrics.headline(self.settings.data)

    @property
    def data(self) -> Corpus:
        """The pairs, opened when they are first asked for."""
        return self.corpus.get()

    @cached_property
    def sampler(self) -> Sampler[Encoded]:
        """What maps steps to batches."""
        settings = self.settings
        return Sampler(self._encoded, self.data.size("train"), settings.batch_tokens, settings.seed)

    def build(self) -> nn.Module:
        """Make the model."""
        kind, words = find(self.models[self.settings.model]), self.vocabulary
        options = shared.select(self.settings, kind.Options)
        model: nn.Module = kind(len(words.source), len(words.target), options, words.joint)
        return model

    def batch(self, step: int) -> Batch:
        """Return the batch of a training step."""
        return pad(self.sampler.batch(step))

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Return the cross-entropy of the true next tokens, the end among them."""
        before, wanted = batch.target[:, :-1], batch.target[:, 1:]
        total = model(batch.source, before, wanted, self.settings.label_smoothing)
        return Loss(total, int((wanted != PADDING).sum()))

    def example(self, split: str, index: int) -> Example:
        """Return a pair of texts."""
        pair = self.data.example(split, index)
        [source] = encode_sources([pair.source], self.vocabulary.source, self.most)
        return Example(source, pair.source, pair.target)

    def evaluate(self, model: nn.Module, split: str, limit: int | None = None, request: Any = None) -> Evaluation:
        """Translate a split, or `limit` pairs spread over it, and measure it, as a whole and by groups."""
        indices = take(self.data, split, limit)
        pairs = [self.data.example(split, index) for index in indices]
        sources = encode_sources([pair.source for pair in pairs], self.vocabulary.source, self.most)
        for source, index in zip(sources, indices, strict=True):
            self._mention(source, f"{split}, pair {index + 1}")  # blank lines of files are none
        began = time.perf_counter()
        outputs = [translation.outputs for translation in self.answer(model, sources, request)]
        seconds = time.perf_counter() - began
        references, groups = [pair.target for pair in pairs], self.groups(pairs)
        settings, tokens = self.settings, sum(1 + len(best[0].ids) if best else 1 for best in outputs)
        found = metrics.measured(best_texts(outputs), references, groups, settings.data, settings.target)
        compared = self.vocabulary.target.encode_batch([text[:LONGEST] for text in references])
        wanted = sum(1 + len(ids) for ids in compared)
        return Evaluation(*found, len(pairs), tokens, seconds, tokens / max(1, wanted))

    def baselines(self, split: str) -> dict[str, Baseline]:
        """Measure copies of the sources, and the targets of training sources that are as long."""
        pairs, settings = [self.data.example(split, index) for index in take(self.data, split, None)], self.settings
        learned = training_sample(self.data, _ENDLESS, _LEARNED)
        references = [pair.target for pair in pairs]

        def scored(outputs: Sequence[str]) -> Metric:
            return metrics.score(outputs, references, settings.data, settings.target)

        return baselines(learned, [pair.source for pair in pairs], scored, self.headline, settings.source)

    def read(self, line: str, number: int) -> Source:
        """Return a text to translate; one that is too long is said."""
        [source] = encode_sources([line], self.vocabulary.source, self.most, number)
        self._mention(source, f"line {number}")
        return source

    def check(self, model: nn.Module, request: Any) -> None:
        """Refuse what means nothing for these tokenizers, the model and so many answers."""
        if isinstance(request, LookRequest):
            looks = attends(model)
            request.check_attends(looks)
            check_drawn(model, request.by, attends=looks)
            return
        asked, target = completed(Request, request), self.vocabulary.target
        if asked.replace_unknown and not target.unknowns:
            got = f"--tokenizer {self.settings.tokenizer}, whose tokens can write any text"
            raise ArgumentError(f"--replace-unknown: expected a tokenizer that does not know every text, got {got}")
        if asked.attends and not attends(model):
            option = "--replace-unknown" if asked.replace_unknown else "--coverage-penalty"
            raise ArgumentError(f"{option}: expected a model that attends to the source, got {self.settings.model}")
        check_coverage(asked.coverage_penalty, search_of(self.settings, asked, target).width)
        check_prefix(asked, target, 2 * self.vocabulary.longest, "characters")

    def answer(
        self, model: nn.Module, inputs: Sequence[Source], request: Any, form: Form = "lines"
    ) -> list[Translation]:
        """Translate texts; a blank one has a blank answer."""
        look = request if isinstance(request, LookRequest) else LookRequest()
        asked = completed(Request, None if request is look else request)
        rank_all = bool(asked.coverage_penalty)  # what has read more may come to be the best
        how = search_of(self.settings, asked, self.vocabulary.target, rank_all=rank_all)
        return translate(model, inputs, self.vocabulary, how, asked, self.limits, form, look.by)

    def join(self, model: nn.Module, others: Sequence["Trained"]) -> tuple[Self, nn.Module]:
        """Return the task and the model of an ensemble, whose texts are as long as every member takes them."""
        check_alike(self, others, _tokenizers)
        members: list[Any] = [self, *(other.task for other in others)]
        settings = replace(self.settings, max_length=min(member.settings.max_length for member in members))
        vocabulary = replace(self.vocabulary, longest=min(member.vocabulary.longest for member in members))
        joined = replace(self, settings=settings, vocabulary=vocabulary)
        return joined, Ensemble([model, *(each.model for each in others)])

    @property
    def most(self) -> int:
        """How many tokens of a source are translated: four times what training took, far beyond what was learned."""
        return 4 * int(self.settings.max_length)

    def limits(self, lengths: Tensor) -> Tensor:
        """Return how many tokens an output may have, `(batch,)`: a model that never ends stops here.

        In proportion to the source (lengths, ends included), but never beyond twice the longest target known.
        """
        return (3 * lengths + 10).clamp(max=2 * self.vocabulary.longest)

    def groups(self, pairs: Sequence[Pair]) -> list[str]:
        """The group of each pair: the one that it carries, else by the length of its source."""
        names = group_names(self.settings.data)
        if names is not None:
            return [names.get(pair.group, pair.group) for pair in pairs]
        unit = metrics.length_unit(self.settings.source)
        return metrics.length_groups([pair.source for pair in pairs], unit)

    def _mention(self, source: Source, name: str) -> None:
        if not source.whole:
            most = f"{self.most} tokens (of training pairs at most {self.settings.max_length} were taken)"
            say(f"{name}: longer than {most}; what follows them is not translated")

    def _encoded(self, indices: Sequence[int]) -> list[Encoded]:
        """The training pairs at some indices but for those that are too long."""
        texts = [self.data.example("train", index) for index in indices]
        longest, words = self.settings.max_length, self.vocabulary
        pairs = encode_fitting(texts, words.source, words.target, longest)
        if not pairs:
            seen = f"all of {len(indices)} training pairs have a side of more than {longest} tokens"
            raise ArgumentError(f"--max-length: {seen}; a larger one, or a larger --vocabulary-size, takes them in")
        return pairs


def _opened(options: Any, objects: Any) -> Lazy[Corpus]:
    sides, names = (options.data, options.source, options.target), SplitNames.of_options(options)
    return opened(objects, lambda pairs: open_corpus(*sides, pairs, names))


def _tokenizers(task: Translate) -> dict[str, tuple[object, str]]:
    words = task.vocabulary
    sides = {"the source tokenizer": words.source, "the target tokenizer": words.target}
    return {name: (side.to_json(), f"another, of {len(side)} tokens") for name, side in sides.items()}
