"""The speech task: what `saccade.train` and whoever asks a run want of it."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from torch import Tensor, nn

from saccade.data.dataset import Lazy, opened, sampled, spread, take
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.audio.signals import Signals
from saccade.tasks.batches import Cache, Sampler
from saccade.tasks.ensembles import check_alike
from saccade.tasks.generate import Ensemble
from saccade.tasks.generate.generate import Search, best_texts
from saccade.tasks.generate.request import check_prefix, search_of
from saccade.tasks.looking import LookRequest
from saccade.tasks.request import completed
from saccade.tasks.stream import texts
from saccade.tasks.transcribe.alignment_metrics import AlignmentMetrics, alignment_metrics, mean_metrics, sounding
from saccade.tasks.transcribe.batches import Batch, Utterance, pad, stretched
from saccade.tasks.transcribe.data import BUILTIN, open_corpus
from saccade.tasks.transcribe.data.corpus import Corpus, Recording
from saccade.tasks.transcribe.metrics import HEADLINE, baseline, measured
from saccade.tasks.transcribe.options import RECIPES, REQUESTS, Options, Request, check_rescoring
from saccade.tasks.transcribe.recipes import hear, smaller, suited
from saccade.tasks.transcribe.transcription import Times, Transcription, alignments_of, moved, transcribe
from saccade.tasks.transcribe.vocabulary import Vocabulary, learn
from saccade.train import options as shared
from saccade.train.notes import Once, say
from saccade.train.randomness import generator
from saccade.train.task import (
    Baseline,
    Evaluation,
    Example,
    Form,
    Loss,
    Suited,
    Unreadable,
    find,
    options_class,
    recipe,
)

if TYPE_CHECKING:
    from saccade.train.trained import Trained

__all__ = ["Transcribe"]

_CACHED = 1 << 30  # bytes of features that are not computed again in the next epoch
_FASTEST = 0.04  # seconds a token: nobody speaks faster, characters included
_ALIGNED = 50  # utterances whose alignments are looked at: enough to see a collapse
_ENDLESS, _LEARNED = 1_000, 100_000  # training texts that are counted: of those without end, and of others
_AT_ONCE = 512  # utterances of a split in memory


@dataclass(frozen=True)
class Transcribe:
    """Learn to write down what is said, from recordings and their texts.

    Args:
        settings: all options of the run.
        vocabulary: tokenizer of the texts, and what recordings are taken as.
        corpus: the recordings.
    """

    settings: Any
    vocabulary: Vocabulary
    corpus: Lazy[Corpus]

    name: ClassVar[str] = "transcribe"
    headline: ClassVar[str] = HEADLINE
    Options: ClassVar[type] = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES
    requests: ClassVar[Mapping[str, type]] = REQUESTS
    inputs: ClassVar[Literal["lines", "files"]] = "files"
    unit: ClassVar[str] = "frames"
    lines = staticmethod(texts)
    models: ClassVar[dict[str, str]] = {"las": "saccade.models.las:Las"}
    builtin: ClassVar[dict[str, str]] = BUILTIN

    @classmethod
    def suited(cls, model: str, given: Mapping[str, Any], objects: Any = None) -> Suited:
        """Return the recipe for as much speech as there is, and one with a smaller model for few minutes."""
        corpus = _opened(options_class(cls, model, checked=False)(**given), objects)
        options, reason = suited(hear(corpus.get()), recipe(cls, model, given["data"]))
        less = smaller(options)
        return Suited(options, reason, corpus, less and Suited(*less, corpus))

    @classmethod
    def prepare(cls, options: Any, objects: Any = None) -> Self:
        """Open the corpus and learn the tokenizer."""
        corpus = _opened(options, objects).get()
        vocabulary, note = learn(corpus, options)
        for line in filter(None, (corpus.note, note)):
            say(line)
        task = cls(options, vocabulary, Lazy(lambda: corpus))
        task.sampler  # noqa: B018 (whose first look at the data may refuse them: before a run is made of them)
        return task

    @classmethod
    def restore(cls, options: Any, folder: Path, objects: Any = None) -> Self:
        """Read the tokenizer back, and what recordings are taken as."""
        return cls(options, Vocabulary.restore(folder, options), _opened(options, objects))

    def save(self, folder: Path) -> None:
        """Write tokenizer.json."""
        self.vocabulary.save(folder)

    @property
    def data(self) -> Corpus:
        """The recordings, opened when they are first asked for."""
        return self.corpus.get()

    @property
    def signals(self) -> Signals:
        """What recordings are taken as."""
        return self.vocabulary.signals

    @property
    def suffixes(self) -> tuple[str, ...]:
        """What the names of files end in that are taken from a folder."""
        return self.signals.suffixes

    @property
    def times(self) -> Times:
        """Seconds of a frame, and of a step that the model attends to."""
        frame = self.signals.frame_seconds
        return Times(frame, float(self.settings.step_frames * frame))

    @cached_property
    def sampler(self) -> Sampler[Utterance]:
        """What maps steps to batches."""
        settings, size = self.settings, self.data.size("train")
        return Sampler(self._fitting, size, settings.batch_tokens, settings.seed)

    def build(self) -> nn.Module:
        """Make the model."""
        kind, words = find(self.models[self.settings.model]), self.vocabulary
        sizes = shared.select(self.settings, kind.Options)
        if self.settings.ctc_rescoring and not sizes.ctc_weight:
            raise ArgumentError(f"--ctc-rescoring: expected a --ctc-weight above 0, got {sizes.ctc_weight}")
        model: nn.Module = kind(words.signals.width, len(words.target), sizes)
        return model

    def batch(self, step: int) -> Batch:
        """Return the batch of a training step, each utterance a little slower or faster than it was."""
        utterances, settings = self.sampler.batch(step), self.settings
        if settings.stretch:
            utterances = stretched(utterances, settings.stretch, generator(settings.seed, "stretch", step))
        return pad(utterances)

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Return what the true next tokens cost, the end among them; it is counted in frames."""
        before, wanted = batch.target[:, :-1], batch.target[:, 1:]
        total = model(batch.source, before, wanted, self.settings.label_smoothing)
        return Loss(total, int(batch.source.lengths.sum()))

    def example(self, split: str, index: int) -> Example:
        """Return a recording and its text."""
        recording = self.data.example(split, index)
        return Example(self.utterance(recording), recording.name, recording.text, self.signals.file(recording.signal))

    def evaluate(self, model: nn.Module, split: str, limit: int | None = None, request: Any = None) -> Evaluation:
        """Transcribe a split, or `limit` utterances spread over it, and measure it, as a whole and by speaker.

        The metric that counts is word accuracy, 1 − WER. Beside it how the alignments of the true texts run: see
        `AlignmentMetrics`.
        """
        indices = take(self.data, split, limit)
        looked = set(sampled(len(indices), _ALIGNED))
        groups, references, outputs, runs = list[str](), list[str](), list[str](), list[AlignmentMetrics]()
        frames, seconds = 0, 0.0
        for first in range(0, len(indices), _AT_ONCE):  # no more of a large split is in memory
            recordings = [self.data.example(split, index) for index in indices[first : first + _AT_ONCE]]
            utterances = [self.utterance(one, number) for number, one in enumerate(recordings, first + 1)]
            groups += [recording.group for recording in recordings]
            references += [" ".join(recording.text.split()) for recording in recordings]
            began = time.perf_counter()
            outputs += best_texts(self._transcribed(model, utterances, completed(Request, request)))
            seconds += time.perf_counter() - began
            frames += sum(one.size for one in utterances)
            seen = [one for place, one in enumerate(utterances, first) if place in looked]
            aligned = zip(seen, alignments_of(model, seen), strict=True)
            runs += [alignment_metrics(weights, self._sound(one)) for one, weights in aligned]
        metrics, parts = measured(outputs, references, groups)
        means = mean_metrics(runs)._asdict().items()
        metrics |= {f"alignment_{name}": number for name, number in means if number is not None}
        ratio = sum(map(len, outputs)) / max(1, sum(map(len, references)))
        return Evaluation(metrics, parts, len(outputs), frames, seconds, ratio)

    def baselines(self, split: str) -> dict[str, Baseline]:
        """Measure the most frequent text of the training split."""
        data, known = self.data, self.data.size("train")
        learned = range(_ENDLESS) if known is None else spread(known, _LEARNED)
        references = [data.text(split, index) for index in range(data.size(split) or 0)]
        return {"majority": baseline([data.text("train", index) for index in learned], references)}

    def read(self, line: str, number: int) -> Utterance:
        """Read a file, "-" being standard input, and say what of it was changed."""
        frames, loudness, notes = self.signals.read(line)
        for note in notes:
            say(note)
        return Utterance(line, frames, [], number, loudness)

    def check(self, model: nn.Module, request: Any) -> None:
        """Refuse what means nothing for the run, the model and so many answers."""
        if isinstance(request, LookRequest):
            return  # every transcriber attends
        asked, target = completed(Request, request), self.vocabulary.target
        share, how = self._share(asked), search_of(self.settings, asked, target)
        if share and asked.sample:
            raise ArgumentError(f"--sample: expected with --ctc-rescoring 0, as draws are not ranked, got {share}")
        if share and isinstance(model, Ensemble):
            got = f"as each model has its own, got {share}"
            raise ArgumentError(f"--ensemble: expected with --ctc-rescoring 0, {got}")
        check_rescoring(share, how.beam_size)
        if share and not self.settings.ctc_weight:
            got = self.settings.ctc_weight
            raise ArgumentError(f"--ctc-rescoring: expected a run with a --ctc-weight above 0, got {got}")
        check_prefix(asked, target, 2 * self.vocabulary.longest, "words")

    def answer(
        self, model: nn.Module, inputs: Sequence[Utterance | Unreadable], request: Any, form: Form = "lines"
    ) -> list[Transcription]:
        """Transcribe recordings; one that could not be read has no text."""
        look = request if isinstance(request, LookRequest) else LookRequest()
        asked = completed(Request, None if request is look else request)
        found = iter(self._transcribed(model, [one for one in inputs if isinstance(one, Utterance)], asked, form))
        outputs = [next(found) if isinstance(one, Utterance) else [] for one in inputs]
        pairs = zip(inputs, outputs, strict=True)
        sounds = [self._sound(one) if isinstance(one, Utterance) and form != "lines" else None for one in inputs]
        answers = [
            Transcription(one, own, asked.nbest, self.times, sound)
            for (one, own), sound in zip(pairs, sounds, strict=True)
        ]
        return [moved(model, answer) for answer in answers] if look.by == "jacobian" else answers

    def join(self, model: nn.Module, others: Sequence["Trained"]) -> tuple[Self, nn.Module]:
        """Return the task and the model of an ensemble."""
        check_alike(self, others, _shared_parts)
        longest = min(self.vocabulary.longest, *(other.task.vocabulary.longest for other in others))  # type: ignore[attr-defined]
        joined = replace(self, vocabulary=replace(self.vocabulary, longest=longest))
        return joined, Ensemble([model, *(each.model for each in others)])

    def utterance(self, recording: Recording, number: int = 1) -> Utterance:
        """Return a recording as the model takes it; the first that had to be changed is said."""
        for note in recording.notes[:1]:
            self._once.say("changed", f"{note}; so may others be, which is not said again")
        frames, loudness = self.signals.frames(recording.signal)
        return Utterance(recording.name, frames, self.vocabulary.target.encode(recording.text), number, loudness)

    def limits(self, lengths: Tensor) -> Tensor:
        """Return how many tokens an output may have, `(batch,)`: a model that never ends stops here.

        One for each 40 ms (lengths, in frames), and twice as long a text as is known at the most.
        """
        most = (lengths * (self.signals.frame_seconds / _FASTEST)).long() + 1
        return most.clamp(max=2 * self.vocabulary.longest)

    def _sound(self, utterance: Utterance) -> Tensor | None:
        """At which steps that the model attends to a recording is louder than its mean; None if that is not known."""
        loudness = utterance.loudness
        return None if loudness is None else sounding(loudness, self.settings.step_frames)

    def _share(self, request: Request) -> float:
        """The share of CTC in the ranking."""
        return float(self.settings.ctc_rescoring if request.ctc_rescoring is None else request.ctc_rescoring)

    def _transcribed(
        self, model: nn.Module, utterances: Sequence[Utterance], request: Request, form: Form = "lines"
    ) -> Any:
        share, target = self._share(request), self.vocabulary.target
        how: Search = search_of(self.settings, request, target, rank_all=share > 0)
        return transcribe(model, utterances, target, how, self.limits, self.settings.step_frames, share, form)

    @cached_property
    def _once(self) -> Once:
        return Once()

    @cached_property
    def _cache(self) -> Cache[Utterance | None]:
        return Cache(self._training, _CACHED, lambda one: 0 if one is None else one.frames.nbytes)

    def _training(self, index: int) -> Utterance | None:
        """A training utterance, None if it is too long."""
        one, settings = self.utterance(self.data.example("train", index)), self.settings
        fits = one.size * self.signals.frame_seconds <= settings.max_seconds and len(one.ids) <= settings.max_length
        if not fits:
            limits = f"--max-seconds {settings.max_seconds:g} or --max-length {settings.max_length}"
            self._once.say("long", f"{one.name}: left out, longer than {limits}; so may others be")
        return one if fits else None

    def _fitting(self, indices: Sequence[int]) -> list[Utterance]:
        """The training utterances at some indices but for those that are too long, of which there is at least one."""
        made = self._training if self.data.size("train") is None else self._cache.get  # what comes again is kept
        settings, every = self.settings, list(map(made, indices))
        found = [one for one in every if one is not None]
        if not found:
            seen = f"all of {len(indices)} training utterances are longer than {settings.max_seconds:g} s"
            raise ArgumentError(f"--max-seconds: {seen}, or than --max-length {settings.max_length} tokens; raise it")
        return found


def _opened(options: Any, objects: Any) -> Lazy[Corpus]:
    data, names = (options.data, options.rate), SplitNames.of_options(options)
    return opened(objects, lambda recordings: open_corpus(*data, recordings, names, options.language))


def _shared_parts(task: Transcribe) -> dict[str, tuple[object, str]]:
    target, frames = task.vocabulary.target, task.settings.step_frames
    return {
        "the tokenizer": (target.to_json(), f"another, of {len(target)} tokens"),
        "the frames a step (--pyramid)": (frames, f"{frames}"),
        "the features": (task.signals, "others"),
    }
