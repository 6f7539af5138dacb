"""The task that classifies texts: what `saccade.train` and whoever asks a run want of it."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import torch
from torch import nn
from torch.nn import functional as F

from saccade._system.notes import say
from saccade.data.cleaning import composed, front
from saccade.data.dataset import Lazy, opened, take, training_sample
from saccade.data.splits import SplitNames
from saccade.models.classifier import Classifier
from saccade.tasks.batches import Cache, Sampler
from saccade.tasks.classify_text import tfidf
from saccade.tasks.classify_text.batches import Batch, Encoded, pad
from saccade.tasks.classify_text.classification import Classification, Text, classify, read_texts
from saccade.tasks.classify_text.data import BUILTIN, open_corpus
from saccade.tasks.classify_text.data.corpus import Corpus
from saccade.tasks.classify_text.data.corpus import Example as Labelled
from saccade.tasks.classify_text.looking import LookRequest
from saccade.tasks.classify_text.options import RECIPES, REQUESTS, Options
from saccade.tasks.classify_text.recipes import suited
from saccade.tasks.classify_text.vocabulary import Vocabulary, learn
from saccade.tasks.ensembles import check_alike
from saccade.tasks.labels import Ensemble
from saccade.tasks.labels.baselines import majority, timed
from saccade.tasks.labels.metrics import HEADLINE, measured
from saccade.tasks.labels.ranking import label_numbers
from saccade.tasks.labels.request import Request, check_count
from saccade.tasks.request import completed
from saccade.tasks.stream import texts
from saccade.tasks.text.markup import without_markup
from saccade.tasks.text.special import SPECIAL
from saccade.tasks.text.vectors import Vectors
from saccade.tasks.text.words import Words
from saccade.train import options as shared
from saccade.train.task import Baseline, Evaluation, Example, Form, Loss, Suited, model_class, options_class, recipe

if TYPE_CHECKING:
    from saccade.train.trained import Trained

__all__ = ["ClassifyText"]

_ENDLESS = 1_000  # training texts that a baseline learns from where there is no end of them
_LOOKED_AT = 500  # training texts whose lengths say what suits
_LONG = 10_000  # words of a text that are counted
_CACHED = 50_000  # training texts whose words are kept in memory: cutting them anew takes a third of a model's step


@dataclass(frozen=True)
class ClassifyText:
    """Learn which label a text has, from texts with their labels.

    Args:
        settings: all options of the run.
        vocabulary: words, labels and vectors.
        corpus: the texts.
    """

    settings: Any
    vocabulary: Vocabulary
    corpus: Lazy[Corpus]

    name: ClassVar[str] = "classify-text"
    headline: ClassVar[str] = HEADLINE
    Options: ClassVar[type] = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES
    requests: ClassVar[Mapping[str, type]] = REQUESTS
    inputs: ClassVar[Literal["lines", "files"]] = "lines"
    suffixes: ClassVar[tuple[str, ...]] = ()
    unit: ClassVar[str] = "words"
    lines = staticmethod(partial(texts, columns=(("text", "sentence"),)))
    models: ClassVar[dict[str, str]] = {
        "rnn-attention": "saccade.models.rnn_attention:RNNAttention",
        "self-attention": "saccade.models.self_attention:SelfAttention",
        "fixed": "saccade.models.fixed:Fixed",
        "sum": "saccade.models.bag:Bag",
        "hierarchical": "saccade.models.hierarchical:Hierarchical",
    }
    builtin: ClassVar[dict[str, str]] = BUILTIN

    @classmethod
    def suited(cls, model: str, given: Mapping[str, Any], objects: Any = None) -> Suited:
        """Return the recipe for texts that are one's own, by their number and the median of their words."""
        texts = _opened(options_class(cls, model, checked=False)(**given), objects)
        corpus, usual = texts.get(), recipe(cls, model, given["data"])
        seen = [front(one.text, _LONG) for one in training_sample(corpus, _ENDLESS, _LOOKED_AT)]
        lengths = [len(Words([]).pieces(text)) for text in seen]
        options, reason = suited(corpus.size("train") or _ENDLESS, median(lengths), model)
        return Suited({**usual, **options}, reason, texts)

    @classmethod
    def prepare(cls, options: Any, objects: Any = None) -> Self:
        """Open the corpus and learn its words."""
        corpus = _opened(options, objects).get()
        vocabulary, notes = learn(corpus, options)
        for note in filter(None, (corpus.note, *notes)):
            say(note)
        return cls(options, vocabulary, Lazy(lambda: corpus))

    @classmethod
    def restore(cls, options: Any, folder: Path, objects: Any = None) -> Self:
        """Read words and labels back."""
        vocabulary = Vocabulary.restore(folder, vectors=options.vectors is not None)
        return cls(options, vocabulary, _opened(options, objects))

    def save(self, folder: Path) -> None:
        """Write tokenizer.json, and the vectors that training begins with."""
        self.vocabulary.save(folder)

    @property
    def data(self) -> Corpus:
        """The texts, opened when they are first asked for."""
        return self.corpus.get()

    @cached_property
    def sampler(self) -> Sampler[Encoded]:
        """What maps steps to batches."""
        settings, size = self.settings, self.data.size("train")
        kept = 0 if size is None or size > _CACHED else size
        cache = Cache(lambda index: self._encoded([self.data.example("train", index)], "train")[0], kept, lambda _: 1)
        return Sampler(lambda indices: list(map(cache.get, indices)), size, settings.batch_tokens, settings.seed)

    def build(self) -> nn.Module:
        """Make the model, with the vectors that words begin with."""
        kind, known = model_class(type(self), self.settings.model), self.vocabulary
        options = replace(shared.select(self.settings, kind.Options), embedding_dim=known.dim)
        model: Classifier = kind(len(known.words), len(known.labels), options)
        model.name_words(known.words.words)
        if known.vectors is not None:
            _begin(model.words.embedding, known.vectors, learned=not self.settings.freeze_vectors)
        return model

    def batch(self, step: int) -> Batch:
        """Return the batch of a training step."""
        return pad(self.sampler.batch(step))

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Return the cross-entropy of the labels."""
        logits = model(batch.source)
        total = F.cross_entropy(logits.float(), batch.labels, label_smoothing=self.settings.label_smoothing)
        return Loss(total, int(batch.source.lengths.sum()))

    def example(self, split: str, index: int) -> Example:
        """Return a text and its label."""
        example = self.data.example(split, index)
        return Example(self._text(example.text)[0], example.text, example.label)

    def evaluate(self, model: nn.Module, split: str, limit: int | None = None, request: Any = None) -> Evaluation:
        """Classify a split, or `limit` texts spread over it, and measure it, as a whole, by class and by group."""
        texts, groups = self._measured(split)
        chosen = take(self.data, split, limit)
        texts, groups = [texts[place] for place in chosen], [groups[place] for place in chosen]
        began = time.perf_counter()
        found = [int(read.probable.argmax()) for read in read_texts(model, texts)]
        seconds = time.perf_counter() - began
        result = measured(found, [text.label for text in texts], self.vocabulary.labels, groups)
        return Evaluation(*result, len(texts), sum(text.size for text in texts), seconds)

    def baselines(self, split: str) -> dict[str, Baseline]:
        """Measure the most frequent label, and logistic regression on TF-IDF of 64 · --max-length characters a text."""
        (texts, _), known, train = self._measured(split), self.vocabulary.labels, self._plain
        wanted = [text.label for text in texts]
        plain = timed(lambda: train.model.predict(self._texts[split]), wanted, known, train.about)
        plain = replace(plain, seconds=round(train.seconds + plain.seconds, 3))
        return {"majority": majority(train.labels, wanted, known), "TF-IDF": plain}

    def read(self, line: str, number: int) -> Text:
        """Return a text to classify; one that is too long is said."""
        text, whole = self._text(without_markup(line) if self.settings.strip_markup else line)
        if not whole:
            most = f"{self.settings.max_length} words (--max-length)"
            say(f"line {number}: longer than {most}; what follows them is not read")
        return text

    def check(self, model: nn.Module, request: Any) -> None:
        """Refuse more classes than there are, and a layer that there is not."""
        if isinstance(request, LookRequest):
            request.check(model)
        else:
            check_count(completed(Request, request), len(self.vocabulary.labels))

    def answer(
        self, model: nn.Module, inputs: Sequence[Text], request: Any, form: Form = "lines"
    ) -> list[Classification]:
        """Classify texts; a blank one has a blank answer."""
        looked = request if isinstance(request, LookRequest) else LookRequest()
        count = 1 if isinstance(request, LookRequest) else completed(Request, request).nbest
        return classify(model, inputs, self.vocabulary.labels, count, form, looked)

    def join(self, model: nn.Module, others: Sequence["Trained"]) -> tuple[Self, nn.Module]:
        """Return the task and the model of an ensemble, which reads as much of a text as every member does."""
        check_alike(self, others, _shared_parts)
        longest = min(self.settings.max_length, *(other.options.max_length for other in others))
        joined = replace(self, settings=replace(self.settings, max_length=longest))
        return joined, Ensemble([model, *(each.model for each in others)])

    def _text(self, text: str) -> tuple[Text, bool]:
        """A text as it is read, and whether all of it is."""
        text = composed(text)
        tokens, whole = self.vocabulary.tokens(text, int(self.settings.max_length))
        return Text(text, tokens, self.vocabulary.words.numbers(tokens)), whole

    def _encoded(self, examples: Sequence[Labelled], split: str) -> list[Encoded]:
        numbers = label_numbers(self.vocabulary.labels, [example.label for example in examples], split)
        return [Encoded(self._text(one.text)[0].ids, number) for one, number in zip(examples, numbers, strict=True)]

    def _measured(self, split: str) -> tuple[list[Encoded], list[str]]:
        """The texts of a split and their groups, encoded once."""
        if split not in self._splits:
            examples = [self.data.example(split, index) for index in range(self.data.size(split) or 0)]
            long = sum(not self._text(example.text)[1] for example in examples)
            if long:
                most = f"{self.settings.max_length} words (--max-length); what follows these is not read"
                say(f"{split}: {long} of {len(examples)} texts have more than {most}")
            self._splits[split] = self._encoded(examples, split), [example.group for example in examples]
            self._texts[split] = self._fronts(examples)
        return self._splits[split]

    @cached_property
    def _plain(self) -> "_Plain":
        """A classifier by TF-IDF, learned once for all splits."""
        began = time.perf_counter()
        learned, known = training_sample(self.data, _ENDLESS, tfidf.MOST), self.vocabulary.labels
        labels = label_numbers(known, [example.label for example in learned], "train")
        model = tfidf.fit(self._fronts(learned), labels, len(known))
        about = f"logistic regression on the words of {len(learned):,} texts"
        return _Plain(model, labels, about, time.perf_counter() - began)

    def _fronts(self, examples: Sequence[Labelled]) -> list[str]:
        return [front(example.text, int(self.settings.max_length)) for example in examples]

    @cached_property
    def _texts(self) -> dict[str, list[str]]:
        return {}

    @cached_property
    def _splits(self) -> dict[str, tuple[list[Encoded], list[str]]]:
        return {}


def _opened(options: Any, objects: Any) -> Lazy[Corpus]:
    names = SplitNames.of_options(options)
    return opened(objects, lambda texts: open_corpus(options.data, texts, names, strip_markup=options.strip_markup))


class _Plain(NamedTuple):
    """The baseline of all splits, and how long it took to learn."""

    model: tfidf.Model
    labels: list[int]
    about: str
    seconds: float


def _shared_parts(task: ClassifyText) -> dict[str, tuple[object, str]]:
    known = task.vocabulary
    got = "others; train both on the same data with the same --vocabulary-size and --min-count"
    return {"the labels": (known.labels, f"{', '.join(known.labels):.80}"), "the words": (known.words.words, got)}


def _begin(embedding: nn.Embedding, vectors: Vectors, *, learned: bool) -> None:
    """Give words their vectors; those that have none are drawn at the same scale (Kim 2014, section 4.3)."""
    with torch.no_grad():
        drawn = embedding.weight[SPECIAL:].std()
        embedding.weight *= vectors.values.std(correction=0) / drawn if bool(drawn > 0) else 1.0
        embedding.weight[vectors.numbers + SPECIAL] = vectors.values
    embedding.weight.requires_grad_(learned)
