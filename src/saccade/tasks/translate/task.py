"""Translation, as a task."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import nn

from saccade.data.cleaning import LONGEST
from saccade.data.dataset import take, training_sample
from saccade.data.naming import Names
from saccade.errors import ArgumentError
from saccade.tasks.batches import Sampler
from saccade.tasks.ensembles import shortest_texts
from saccade.tasks.explaining import Subject, text_methods
from saccade.tasks.generate.generate import Output, best_texts
from saccade.tasks.generate.predictor import Block, Generates, evaluate, shortest
from saccade.tasks.looking import LookRequest
from saccade.tasks.task import Job, Task
from saccade.tasks.translate import metrics
from saccade.tasks.translate.baselines import baselines
from saccade.tasks.translate.codec import Encoded, Pairs, Source, encode_fitting
from saccade.tasks.translate.data import BUILTIN, COLUMNS, group_names, open_corpus
from saccade.tasks.translate.data.corpus import Corpus, Pair
from saccade.tasks.translate.gradients import layer_of, subject
from saccade.tasks.translate.options import RECIPES, REQUESTS, Options, Request
from saccade.tasks.translate.recipes import read, smaller, suited
from saccade.tasks.translate.translation import Translation, described, replaced, tokens_of, without_space
from saccade.train.task import Baseline, Evaluation, Form, Metric, Suited, recipes_of

__all__ = ["TRANSLATE", "Translates"]

_ENDLESS, _LEARNED = 1_000, 100_000  # training pairs of a baseline: of an endless split, and of others


@dataclass(frozen=True)
class Translates(Generates):
    """Predictor of translations."""

    codec: Pairs

    decoded, attended, ended, units = 20_000, "the source", True, "characters"
    request, look = Request, LookRequest

    def measure(self, model: nn.Module, blocks: Iterable[Block], size: int) -> Evaluation:
        """Return exact match or BLEU and chrF, as a whole and by groups."""
        pairs, outputs, seconds, options = list[Pair](), list[Sequence[Output]](), 0.0, self.codec.options
        for block in blocks:
            for source, index in zip(block.samples, block.indices, strict=True):
                self.codec.warn(source, f"{block.split}, pair {index + 1}")  # blank lines of files do not count
            pairs += block.examples
            outputs += block.outputs
            seconds += block.seconds
        references = [pair.target for pair in pairs]
        tokens = sum(1 + len(best[0].ids) if best else 1 for best in outputs)
        results = metrics.measured(best_texts(outputs), references, self.groups(pairs), options.data, options.target)
        encoded = self.codec.target.encode_batch([text[:LONGEST] for text in references])
        ratio = tokens / max(1, sum(1 + len(ids) for ids in encoded))
        return Evaluation(*results, len(pairs), tokens, seconds, ratio)

    def baselines(self, data: Corpus, split: str) -> dict[str, Baseline]:
        """Measure copies of the sources, and targets of similar training sources."""
        pairs, options = [data.example(split, index) for index in take(data, split, None)], self.codec.options
        references = [pair.target for pair in pairs]

        def scored(outputs: Sequence[str]) -> Metric:
            return metrics.score(outputs, references, options.data, options.target)

        learned, name = training_sample(data, _ENDLESS, _LEARNED), metrics.headline(options.data)
        return baselines(learned, [pair.source for pair in pairs], scored, name, options.source)

    def check_request(self, model: nn.Module, request: Request) -> None:
        """Reject options without the attention or unknown tokens that they need."""
        options = self.codec.options
        if request.replace_unknown and not self.codec.target.unknowns:
            got = f"--tokenizer {options.tokenizer}, whose tokens can write any text"
            raise ArgumentError(f"--replace-unknown: expected a tokenizer that does not know every text, got {got}")
        if request.replace_unknown and not self.attends(model):
            raise ArgumentError(f"--replace-unknown: expected a model that attends to the source, got {options.model}")
        super().check_request(model, request)

    def check_look(self, model: nn.Module, look: LookRequest) -> None:
        """Reject methods that the model does not have."""
        attends = self.attends(model)
        look.check_method(model, text_methods(model, layer_of(model), attends=attends), attends=attends)

    def reads(self, request: Request) -> bool:
        """Return whether outputs depend on attention weights."""
        return request.attends

    def rank(self, sample: Source, outputs: Sequence[Output], request: Request) -> Sequence[Output]:
        """Rank outputs by coverage, and replace unknown tokens on request."""
        ranked = super().rank(sample, outputs, request)
        return [replaced(output, sample, self.codec) for output in ranked] if request.replace_unknown else ranked

    def describe(
        self, model: Any, sample: Source, outputs: Sequence[Output], count: int, form: Form, look: LookRequest
    ) -> Translation:
        """Return the translations of a text."""
        answer = Translation(sample, outputs, count)
        return answer if form == "lines" or not outputs else described(model, answer, self.codec, form, look)

    def explained(self, model: Any, sample: Source, output: Output) -> Subject:
        """Return a text and its translation."""
        texts = tokens_of(sample, self.codec), without_space(*output.tokens)
        return subject(model, sample.ids, output.ids, texts, output.weights)

    def groups(self, pairs: Sequence[Pair]) -> list[str]:
        """Return the group of each pair, by default the length of its source."""
        names = group_names(self.codec.options.data)
        if names is not None:
            return [names.get(pair.group, pair.group) for pair in pairs]
        unit = metrics.length_unit(self.codec.options.source)
        return metrics.length_groups([pair.source for pair in pairs], unit)


def _suited(task: Task, model: str, explicit: Mapping[str, Any], objects: Any) -> Suited:
    """Recipe for the number and length of pairs."""
    corpus = task.rows(model, explicit, objects)
    sizes, recipes, less = read(corpus.get()), recipes_of(task, model), None
    for options, reason in reversed(smaller(*sizes, recipes)):
        less = Suited(options, reason, corpus, less)
    return Suited(*suited(*sizes, recipes), corpus, less)


def _sampler(job: Job) -> Sampler[Encoded]:
    """Training batches of like numbers of tokens, without too long pairs."""
    codec, data, options = job.codec, job.data, job.settings

    def encoded(indices: Sequence[int]) -> list[Encoded]:
        examples = [data.example("train", index) for index in indices]
        pairs = encode_fitting(examples, codec.source, codec.target, options.max_length)
        if not pairs:
            reason = f"all of {len(indices)} training pairs have a side of more than {options.max_length} tokens"
            raise ArgumentError(f"--max-length: {reason}; a larger one, or a larger --vocabulary-size, takes them in")
        return pairs

    return Sampler(encoded, data.size("train"), options.batch_tokens, options.seed)


def _joined(job: Job, model: nn.Module, others: Sequence[Any]) -> Pairs:
    """Codec of an ensemble.

    Its limit of tokens is the smallest of its members.
    """
    options = shortest_texts(job, model, others).options
    return replace(shortest(job, model, others), options=options)  # type: ignore[no-any-return]


TRANSLATE = Task(
    name="translate",
    summary="Translation: a text in, its translation out; learned from pairs of texts.",
    unit="tokens",
    headline=lambda options: metrics.headline(options.data),
    columns=COLUMNS,
    models={
        "rnnsearch": "saccade.models.rnnsearch:RNNSearch",
        "encoder-decoder": "saccade.models.encoder_decoder:EncoderDecoder",
        "luong": "saccade.models.luong:Luong",
        "transformer": "saccade.models.transformer:Transformer",
        "bytenet": "saccade.models.bytenet:ByteNet",
    },
    builtin=BUILTIN,
    open=lambda options, objects: open_corpus(
        options.data, options.source, options.target, objects, Names.of_options(options)
    ),
    codec=Pairs,
    predictor=Translates,
    Options=Options,
    recipes=RECIPES,
    requests=REQUESTS,
    suit=_suited,
    sampler=_sampler,
    evaluate=evaluate,
    joined=_joined,
    at_once=1 << 30,
)
"""The task of docs/translate.md.

Batches of like lengths are made of all sources of a split.
"""
