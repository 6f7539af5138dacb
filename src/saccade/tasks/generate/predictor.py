"""Predictor of texts: decoding, ranking, and attention of outputs."""

import time
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from saccade.errors import ArgumentError
from saccade.tasks.batches import in_batches
from saccade.tasks.explaining import Subject
from saccade.tasks.generate.attention import attended, ranked_by_coverage
from saccade.tasks.generate.batch import Batch
from saccade.tasks.generate.coverage import check_coverage
from saccade.tasks.generate.ensemble import Ensemble
from saccade.tasks.generate.generate import Output, Search, generate, outputs_of
from saccade.tasks.generate.model import Hypotheses
from saccade.tasks.generate.request import check_prefix, search_of
from saccade.tasks.generate.writable import Rules, Writer
from saccade.tasks.predictor import Predictor
from saccade.tasks.request import completed
from saccade.tasks.text.special import BEGIN, PADDING
from saccade.train.task import Answer, Evaluation, Form, Loss, Unreadable

__all__ = ["Block", "Generates", "evaluate", "shortest"]


class Block(NamedTuple):
    """Examples of a split with their samples, outputs, and seconds of decoding."""

    split: str
    indices: Sequence[int]
    examples: Sequence[Any]
    samples: Sequence[Any]
    outputs: Sequence[Sequence[Output]]
    seconds: float


@dataclass(frozen=True)
class Generates(Predictor):
    """Predictor of texts. A task defines `measure`, `baselines` and `describe`.

    Args:
        codec: with the tokenizer `target` and the tokens of the `longest` training target. Its samples have a `number`
            and a `name`. `inputs` makes the input of a model from samples. A sample has a `size` in a batch, 0 if
            there is nothing to write about, and a `width`, the positions that a model may attend to, or None for all.
            `limits` leads from sizes to the most tokens of each output. `blank` is a sample.
    """

    ensemble = Ensemble

    decoded: ClassVar[int]
    """Size of a batch of decoding, padding included, times the search width."""

    read: ClassVar[int] = 4000
    """Tokens of outputs in a batch of attention weights."""

    attended: ClassVar[str]
    """The input, in messages."""

    ended: ClassVar[bool] = False
    """Whether coverage leaves out the last position of an input, its end."""

    units: ClassVar[str] = "words"
    """Parts of a text, in messages."""

    request: ClassVar[Any]
    """Dataclass of the options of "predict"."""

    look: ClassVar[Any]
    """Dataclass of the options of "look"."""

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Return the cross-entropy of the next tokens, ends included."""
        inputs, targets = batch.target[:, :-1], batch.target[:, 1:]
        total = model(batch.source, inputs, targets, self.codec.options.label_smoothing)
        return Loss(total, int((targets != PADDING).sum()))

    def predict(self, model: Any, samples: Sequence[Any], request: Any, form: Form = "lines") -> list[Sequence[Output]]:
        """Return the outputs of each sample, decoded in batches of like sizes.

        Outputs have attention weights if the form or the request needs them. An unreadable input has no outputs.
        """
        request, codec, device = completed(self.request, request), self.codec, next(model.parameters()).device
        search, reads = self.search(request), form != "lines" or self.reads(request)
        written = [sample for sample in samples if self._size(sample)]
        writer = Writer(model, self._rules(getattr(request, "replace_unknown", False)).to(device))

        def decode(indices: Sequence[int]) -> Sequence[Sequence[Output]]:
            chosen = [written[index] for index in indices]
            limits = codec.limits(torch.tensor([codec.size(sample) for sample in chosen], device=device))
            state = model.encode(codec.inputs(chosen).to(device))
            names = [(sample.number, sample.name) for sample in chosen]
            hypotheses = generate(writer, writer.start(state, limits), limits, search, names)
            hypotheses = self.rescore(model, state, hypotheses, search, request)
            outputs = outputs_of(hypotheses, codec.target)
            if not reads:
                return outputs
            outputs = attended(
                model, state, outputs, codec.target, [codec.width(sample) for sample in chosen], self.read
            )
            return [self.rank(*pair, request) for pair in zip(chosen, outputs, strict=True)]

        sizes = [codec.size(sample) for sample in written]
        outputs = iter(in_batches(sizes, max(1, self.decoded // search.width), decode))
        return [next(outputs) if self._size(sample) else [] for sample in samples]

    @cached_property
    def _rules(self) -> Any:
        return cache(lambda unknown: Rules.of(self.codec.target, unknown=unknown))

    def encode(self, inputs: Sequence[Any]) -> tuple[Any, Tensor]:
        """Return inputs, and the begin token of each text to write."""
        return self.codec.inputs(inputs), torch.full((len(inputs), 1), BEGIN)

    @abstractmethod
    def measure(self, model: nn.Module, blocks: Iterable[Block], size: int) -> Evaluation:
        """Compare the outputs of blocks with their `size` targets."""

    @abstractmethod
    def describe(self, model: Any, sample: Any, outputs: Sequence[Output], count: int, form: Form, look: Any) -> Answer:
        """Return the answer to an input."""

    def check(self, model: nn.Module, request: Any) -> None:
        """Reject a request that does not fit the model."""
        if isinstance(request, self.look):
            self.check_look(model, request)
            return
        request = completed(self.request, request)
        self.check_request(model, request)
        check_prefix(request, self.codec.target, 2 * self.codec.longest, self.units)

    def check_request(self, model: nn.Module, request: Any) -> None:
        """Reject a coverage penalty without attention, or with one output."""
        if request.coverage_penalty and not self.attends(model):
            expected = f"a model that attends to {self.attended}, got {self.codec.options.model}"
            raise ArgumentError(f"--coverage-penalty: expected {expected}")
        check_coverage(request.coverage_penalty, self.search(request).width)

    @abstractmethod
    def check_look(self, model: nn.Module, look: Any) -> None:
        """Reject a picture that the model does not have."""

    def answer(self, model: nn.Module, inputs: Sequence[Any], request: Any, form: Form = "lines") -> list[Answer]:
        """Write about inputs. One that is blank or could not be read has a blank answer."""
        look = request if isinstance(request, self.look) else self.look()
        request = completed(self.request, None if request is look else request)
        outputs = self.predict(model, inputs, request, form)
        return [self.describe(model, *pair, request.nbest, form, look) for pair in zip(inputs, outputs, strict=True)]

    def subjects(self, model: Any, inputs: Sequence[Any], request: Any) -> list[Subject]:
        """Return inputs with their best texts."""
        outputs = self.predict(model, inputs, None, "pictures")
        return [self.explained(model, sample, best[0]) for sample, best in zip(inputs, outputs, strict=True)]

    def explained(self, model: Any, sample: Any, output: Output) -> Subject:
        """Return an input with its text, for the methods of `--by`."""
        raise NotImplementedError

    def attends(self, model: Any) -> bool:
        """Return whether a model attends to its input, by a trial with a blank one."""
        with torch.inference_mode():
            [[output]] = self.attend(model, self.codec.blank, [Output("", [], 0.0)])
        return output.weights is not None

    def attend(self, model: Any, sample: Any, outputs: Sequence[Output]) -> list[list[Output]]:
        """Return outputs of a sample with attention weights and tokens, as the only row."""
        state = model.encode(self.codec.inputs([sample]).to(next(model.parameters()).device))
        return attended(model, state, [outputs], self.codec.target, [self.codec.width(sample)], self.read)

    def search(self, request: Any) -> Search:
        """Return the search of a request, with all outputs for ranking."""
        return search_of(self.codec.options, request, self.codec.target, rank_all=self.ranks(request))

    def ranks(self, request: Any) -> bool:
        """Return whether outputs are ranked again after the search."""
        return bool(request.coverage_penalty)

    def reads(self, request: Any) -> bool:
        """Return whether outputs depend on attention weights."""
        return bool(request.coverage_penalty)

    def rescore(self, model: Any, state: Any, hypotheses: Hypotheses, search: Search, request: Any) -> Hypotheses:
        """Rank hypotheses by other scores than those of the search."""
        return hypotheses

    def rank(self, sample: Any, outputs: Sequence[Output], request: Any) -> Sequence[Output]:
        """Rank the outputs of a sample by coverage, if a request has a penalty."""
        if not self.reads(request) or not request.coverage_penalty:
            return outputs
        return ranked_by_coverage(outputs, request.coverage_penalty, request.nbest, ended=self.ended)

    def _size(self, sample: Any) -> int:
        return 0 if isinstance(sample, Unreadable) else int(self.codec.size(sample))


def evaluate(job: Any, model: nn.Module, split: str, indices: Sequence[int], request: Any) -> Evaluation:
    """Decode examples of a split, block by block, and measure the outputs."""

    def block(chosen: Sequence[int]) -> Block:
        examples = [job.data.example(split, index) for index in chosen]
        samples = job.codec.encode(examples, split)
        began = time.perf_counter()
        outputs = job.predictor.predict(model, samples, request)
        return Block(split, chosen, examples, samples, outputs, time.perf_counter() - began)

    def blocks() -> Iterator[Block]:
        for first in range(0, len(indices), job.at_once):
            yield block(indices[first : first + job.at_once])

    evaluation: Evaluation = job.predictor.measure(model, blocks(), len(indices))
    return evaluation


def shortest(job: Any, model: nn.Module, others: Sequence[Any]) -> Any:
    """Return the codec of an ensemble, with the least length of outputs."""
    codecs = [job.codec, *(other.task.codec for other in others)]
    return replace(job.codec, longest=min(codec.longest for codec in codecs))
