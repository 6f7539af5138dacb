"""Speech recognition, as a task."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from torch import Tensor, nn

from saccade.data.dataset import Lazy, sampled, spread
from saccade.data.naming import Names
from saccade.errors import ArgumentError
from saccade.tasks.batches import Cache, Sampler
from saccade.tasks.explaining import Subject
from saccade.tasks.generate import Ensemble, Hypotheses
from saccade.tasks.generate.baselines import most_frequent
from saccade.tasks.generate.batch import Batch
from saccade.tasks.generate.generate import Output, Search, best_texts
from saccade.tasks.generate.predictor import Block, Generates, evaluate, shortest
from saccade.tasks.generate.request import check_prefix
from saccade.tasks.looking import Moved
from saccade.tasks.request import completed
from saccade.tasks.task import Job, Task
from saccade.tasks.transcribe import slots
from saccade.tasks.transcribe.alignment_metrics import AlignmentMetrics, alignment_metrics, mean_metrics, sounding
from saccade.tasks.transcribe.codec import Recordings, Utterance
from saccade.tasks.transcribe.data import BUILTIN, open_corpus
from saccade.tasks.transcribe.data.corpus import Corpus
from saccade.tasks.transcribe.data.recordings import COLUMNS, RATE
from saccade.tasks.transcribe.data.recordings import Recordings as Files
from saccade.tasks.transcribe.metrics import HEADLINE, measured, word_errors
from saccade.tasks.transcribe.options import (
    RECIPES,
    REQUESTS,
    WAVEFORM,
    LookRequest,
    Options,
    Request,
    check_rescoring,
)
from saccade.tasks.transcribe.recipes import advice, hear, smaller, suited
from saccade.tasks.transcribe.transcription import Times, Transcription, alignments_of, ranked_by_ctc, subject, with_ctc
from saccade.train.task import Baseline, Evaluation, Form, Loss, Metric, Suited, Unreadable

__all__ = ["TRANSCRIBE", "Transcribes"]

_CACHED = 1 << 30  # bytes of features in the cache for the next epoch
_ALIGNED = 50  # utterances whose alignments are measured, enough to see a collapse
_ENDLESS, _LEARNED = 1_000, 100_000  # training texts of a baseline: of an endless and of a finite split


@dataclass(frozen=True)
class Transcribes(Generates):
    """Predictor of transcriptions."""

    codec: Recordings

    decoded, read, attended = 100_000, 400, "the recording"
    request, look = Request, LookRequest

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Return the cross-entropy of the next tokens, ends included, counted in frames."""
        return Loss(super().loss(model, batch).total, int(batch.source.lengths.sum()))

    def predict(self, model: Any, samples: Sequence[Any], request: Any, form: Form = "lines") -> list[Sequence[Output]]:
        """Return the outputs of each sample.

        Outputs of an example begin with the words that the model is given.
        """
        request, prompts = completed(self.request, request), list(map(self.codec.prompt, samples))
        outputs = dict[int, Sequence[Output]]()
        for prompt in dict.fromkeys(prompts):
            indices = [index for index, other in enumerate(prompts) if other == prompt]
            chosen = replace(request, prefix=prompt) if prompt else request
            written = super().predict(model, [samples[index] for index in indices], chosen, form)
            outputs |= dict(zip(indices, written, strict=True))
        return [outputs[index] for index in range(len(samples))]

    def answer(self, model: nn.Module, inputs: Sequence[Any], request: Any, form: Form = "lines") -> list[Any]:
        """Transcribe recordings. A picture may be of a text with a prefix."""
        if not isinstance(request, LookRequest) or request.prefix is None:
            return super().answer(model, inputs, request, form)
        outputs = self.predict(model, inputs, Request(prefix=request.prefix), form)
        return [self.describe(model, *pair, 1, form, request) for pair in zip(inputs, outputs, strict=True)]

    def measure(self, model: nn.Module, blocks: Iterable[Block], size: int) -> Evaluation:
        """Return word and character errors, and metrics of the true texts' alignments.

        The errors are also by speaker. Words that the model is given count in none of them.
        """
        aligned, frames, seconds = set(sampled(size, _ALIGNED)), 0, 0.0
        groups, references, outputs, runs = list[str](), list[str](), list[str](), list[AlignmentMetrics]()
        for block in blocks:
            chosen = [sample for number, sample in enumerate(block.samples, len(outputs)) if number in aligned]
            groups += [recording.group for recording in block.examples]
            references += [self._written(recording.text) for recording in block.examples]
            outputs += map(self._written, best_texts(block.outputs))
            frames += sum(sample.size for sample in block.samples)
            seconds += block.seconds
            pairs = zip(chosen, alignments_of(model, chosen), strict=True)
            runs += [
                alignment_metrics(weights[self.codec.prompt_words :], self._sound(sample)) for sample, weights in pairs
            ]
        metrics, parts = measured(outputs, references, groups)
        means = mean_metrics(runs)._asdict().items()
        metrics |= {f"alignment_{name}": number for name, number in means if number is not None}
        ratio = sum(map(len, outputs)) / max(1, sum(map(len, references)))
        return Evaluation(metrics, parts, len(outputs), frames, seconds, ratio)

    def baselines(self, data: Corpus, split: str) -> dict[str, Baseline]:
        """Measure the most frequent text, and a classifier of time slots if texts are few."""
        size = data.size("train")
        learned = range(_ENDLESS) if size is None else spread(size, _LEARNED)
        texts = [self._written(data.text("train", index)) for index in learned]
        references = [self._written(data.text(split, index)) for index in range(data.size(split) or 0)]

        def measure(outputs: Sequence[str]) -> dict[str, Metric]:
            errors = word_errors(outputs, references)
            return {HEADLINE: 1 - errors, "wer": errors}

        baselines = {"majority": most_frequent(texts, lambda text: measure([text] * len(references)))}
        if size is not None and slots.suits(texts):
            began = time.perf_counter()
            metrics = measure(self._by_slots(data, split))
            about = f"logistic regression on {slots.SLOTS} time slots"
            seconds = round(time.perf_counter() - began, 3)
            baselines["slots"] = Baseline(metrics, about, seconds, advice(self.codec.options))
        return baselines

    def _by_slots(self, data: Corpus, split: str) -> list[str]:
        """Texts of a split by a classifier of time slots."""
        signals = replace(self.codec.signals, normalization="recording")

        def frames(split: str, indices: Iterable[int]) -> Iterator[Tensor]:
            return (signals.frames(data.example(split, index).signal).values for index in indices)

        learned = spread(data.size("train") or 0, slots.RECORDINGS)
        model = slots.learn(frames("train", learned), [data.text("train", index) for index in learned])
        held_out = [slots.slots(values) for values in frames(split, range(data.size(split) or 0))]
        return model.predict(held_out).tolist() if held_out else []

    def check_request(self, model: nn.Module, request: Request) -> None:
        """Reject an impossible ranking by CTC.

        It needs a beam search without sampling, a single model, and a run with a loss of CTC.
        """
        share, weight = self._share(request), self.codec.options.ctc_weight
        if share and request.sample:
            raise ArgumentError(f"--sample: expected with --ctc-rescoring 0, as draws are not ranked, got {share}")
        if share and isinstance(model, Ensemble):
            got = f"as each model has its own, got {share}"
            raise ArgumentError(f"--ensemble: expected with --ctc-rescoring 0, {got}")
        check_rescoring(share, self.search(request).beam_size)
        if share and not weight:
            raise ArgumentError(f"--ctc-rescoring: expected a run with a --ctc-weight above 0, got {weight}")

    def check_look(self, model: nn.Module, look: LookRequest) -> None:
        """Reject a prefix that cannot be written, and a method without a meaning.

        Every model attends. Its steps are fewer than frames, so gradients of weights do not explain frames.
        """
        of_one = [] if hasattr(model, "members") else ["gradient", "jacobian", "integrated-gradients"]
        look.check_method(model, ["attention", *of_one], attends=True)
        check_prefix(Request(prefix=look.prefix), self.codec.target, 2 * self.codec.longest, self.units)

    def ranks(self, request: Request) -> bool:
        """Return whether CTC ranks outputs after the search."""
        return self._share(request) > 0

    def reads(self, request: Request) -> bool:
        """Return False: no output depends on attention weights."""
        return False

    def rescore(self, model: Any, state: Any, hypotheses: Hypotheses, search: Search, request: Request) -> Hypotheses:
        """Rank hypotheses of a search by CTC too."""
        share = self._share(request)
        return ranked_by_ctc(model, state, hypotheses, share, search) if share and not request.sample else hypotheses

    def describe(
        self,
        model: Any,
        sample: Utterance | Unreadable,
        outputs: Sequence[Output],
        count: int,
        form: Form,
        look: LookRequest,
    ) -> Transcription:
        """Return the transcriptions of a recording."""
        sound = self._sound(sample) if isinstance(sample, Utterance) and form != "lines" else None
        times = Times(self.codec.signals.frame_seconds, self.codec.step_seconds)
        answer = Transcription(sample, outputs, count, times, sound)
        if form == "pictures" and outputs and isinstance(sample, Utterance) and look.by not in (None, "attention"):
            scores = self.explained(model, sample, outputs[0]).scores(look.by, signed=look.signed)
            return replace(answer, moved=Moved.by(look.by, scores.values, scores.method, signed=look.signed))
        return with_ctc(model, answer) if form == "pictures" else answer

    def explained(self, model: Any, sample: Utterance, output: Output) -> Subject:
        """Return a recording and its text."""
        return subject(model, sample, output, self.codec.signals.frame_seconds)

    def _sound(self, utterance: Utterance) -> Tensor | None:
        """Steps louder than the mean of the recording, or None without loudness."""
        loudness = utterance.loudness
        return None if loudness is None else sounding(loudness, self.codec.options.step_frames)

    def _written(self, text: str) -> str:
        """Words of a text behind those that the model is given."""
        return " ".join(text.split()[self.codec.prompt_words :])

    def _share(self, request: Request) -> float:
        """Share of CTC in the ranking."""
        return float(self.codec.options.ctc_rescoring if request.ctc_rescoring is None else request.ctc_rescoring)


def _open(options: Any, objects: Any) -> Corpus:
    return open_corpus(options.data, options.rate, objects, Names.of_options(options), options.language)


def _suited(task: Task, model: str, explicit: Mapping[str, Any], objects: Any) -> Suited:
    """Recipe for the amount of speech, and one with a smaller model for few minutes."""
    rows = task.rows(model, explicit, objects)
    corpus = rows.get()
    options, reason = suited(hear(corpus), task.recipe(model, explicit["data"]))
    if corpus.rate is None:
        options = {name: value for name, value in options.items() if name not in (*WAVEFORM, "attend_to")}
    if explicit.get("rate") is None and isinstance(corpus, Files) and (rate := corpus.file_rate()) < RATE:
        options["rate"] = rate  # higher bands would be empty
        rows = Lazy(partial(Files, corpus.rows, rate))
    less = smaller(options)
    return Suited(options, reason, rows, less and Suited(*less, rows))


def _sampler(job: Job) -> Sampler[Utterance]:
    """Training batches of similar numbers of frames, without too long utterances."""
    codec, data, options = job.codec, job.data, job.settings

    def fitting(index: int) -> Utterance | None:
        utterance: Utterance | None = codec.fitting(data.example("train", index))
        return utterance

    cache = Cache(fitting, _CACHED, lambda utterance: 0 if utterance is None else utterance.frames.nbytes)
    made = fitting if data.size("train") is None else cache.get

    def encoded(indices: Sequence[int]) -> list[Utterance]:
        utterances = [utterance for utterance in map(made, indices) if utterance is not None]
        if not utterances:
            reason = f"all of {len(indices)} training utterances are longer than {options.max_seconds:g} s"
            raise ArgumentError(f"--max-seconds: {reason}, or than --max-length {options.max_length} tokens; raise it")
        return utterances

    return Sampler(encoded, data.size("train"), options.batch_tokens, options.seed)


TRANSCRIBE = Task(
    name="transcribe",
    summary="Speech recognition: a recording in, its text out; learned from transcribed recordings.",
    unit="frames",
    headline=HEADLINE,
    models={"las": "saccade.models.las:Las"},
    builtin=BUILTIN,
    open=_open,
    codec=Recordings,
    predictor=Transcribes,
    Options=Options,
    recipes=RECIPES,
    requests=REQUESTS,
    inputs="files",
    columns=COLUMNS,
    suffixes=lambda codec: codec.signals.suffixes,
    suit=_suited,
    sampler=_sampler,
    evaluate=evaluate,
    joined=shortest,
    at_once=512,
)
"""The task, see docs/transcribe.md."""
