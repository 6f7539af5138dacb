"""The speech task: what `saccade.train` and the command line ask of it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from torch import Tensor, nn

from saccade.errors import ArgumentError
from saccade.tasks import find
from saccade.tasks.batches import Sampler
from saccade.tasks.generate import Decoding, Ensemble
from saccade.tasks.modelled import Modelled
from saccade.tasks.text.tokenizer import Tokenizer, from_json
from saccade.tasks.transcribe import asking, evaluation, transcription
from saccade.tasks.transcribe.batches import Batch, Heard, Kept, pad, stretched
from saccade.tasks.transcribe.corpora import BUILTIN, open_corpus
from saccade.tasks.transcribe.corpus import Corpus, Utterance
from saccade.tasks.transcribe.learning import learn
from saccade.tasks.transcribe.options import RECIPES, Options
from saccade.tasks.transcribe.signals import Signals, suffixes
from saccade.train import options as shared
from saccade.train.files import read_json, write_json
from saccade.train.notes import say
from saccade.train.randomness import generator
from saccade.train.task import Evaluation, Loss

if TYPE_CHECKING:
    from saccade.train.trained import Trained

__all__ = ["Transcribe"]


@dataclass(frozen=True)
class Transcribe(Modelled):
    """Learn to write down what is said, from recordings and their texts.

    Args:
        settings: all options of the run.
        target: tokenizer of the texts.
        longest: tokens of the longest text seen when the tokenizer was learned.
        signals: what recordings are taken as.
        decoding: how outputs are written, beside what the settings say of their search.
    """

    settings: Any
    target: Tokenizer
    longest: int
    signals: Signals
    decoding: Decoding = Decoding()  # noqa: RUF009 (frozen)

    name: ClassVar[str] = "transcribe"
    Settings: ClassVar[type] = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES
    models: ClassVar[dict[str, str]] = {"las": "saccade.models.las:Las"}
    builtin: ClassVar[dict[str, str]] = BUILTIN
    inputs: ClassVar[Literal["lines", "files"]] = "files"

    @classmethod
    def prepare(cls, options: Any) -> Self:
        """Open the corpus and learn the tokenizer."""
        corpus = open_corpus(options.data, options.rate)
        learned = learn(corpus, options)
        for note in filter(None, (corpus.note, learned.note)):
            say(note)
        asking.check_features(corpus.dim, options)
        task = cls(options, learned.target, learned.longest, _signals(corpus.rate, corpus.dim, options))
        vars(task)["corpus"] = corpus  # the property of that name would read the files once more
        task.signals.check()
        task.sampler  # noqa: B018 (whose first look at the data may refuse them: before a run is made of them)
        return task

    @classmethod
    def restore(cls, options: Any, folder: Path) -> Self:
        """Read the tokenizer back, and what recordings are taken as."""
        path = folder / "tokenizer.json"
        try:
            content = read_json(path)
            numbers = [content["longest_target"], content["rate"], content["dim"]]
            if not all(number is None or (type(number) is int and 0 < number < 2**31) for number in numbers):
                raise ValueError(f"longest_target, rate, dim {numbers}")
            longest, rate, dim = numbers
            if (rate is None) == (dim is None) or longest is None:
                raise ValueError(f"rate {rate} and dim {dim}, of which one is null")
            return cls(options, from_json(content["target"]), longest, _signals(rate, dim, options))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ArgumentError(f"{path}: expected the tokenizer of this run, got {error}") from error

    def save(self, folder: Path) -> None:
        """Write tokenizer.json."""
        known = {"longest_target": self.longest, "rate": self.signals.rate, "dim": self.signals.dim}
        write_json(folder / "tokenizer.json", {"target": self.target.to_json(), **known})

    @property
    def headline(self) -> str:
        """The metric that counts: word accuracy, 1 − WER."""
        return evaluation.HEADLINE

    @property
    def fingerprint(self) -> str:
        """What the corpus is, in one string."""
        return self.corpus.fingerprint

    @cached_property
    def corpus(self) -> Corpus:
        """The corpus, opened when it is first asked for: answering needs none."""
        return open_corpus(self.settings.data, self.settings.rate)

    @cached_property
    def sampler(self) -> Sampler[Heard]:
        """What maps steps to batches."""
        settings = self.settings
        return Sampler(self._fitting, self.corpus.size("train"), settings.batch_tokens, settings.seed)

    def build(self) -> nn.Module:
        """Make the model."""
        kind = find(self.models[self.settings.model])
        sizes = shared.select(self.settings, kind.Options)
        asking.check_settings(self.settings, sizes)
        model: nn.Module = kind(self.signals.width, len(self.target), sizes)
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
        total = model(batch.frames, batch.lengths, before, wanted, self.settings.label_smoothing)
        return Loss(total, int(batch.lengths.sum()))

    def evaluate(self, model: nn.Module, split: str, limit: int | None = None) -> Evaluation:
        """Transcribe a split, or its first `limit` utterances, and measure it, as a whole and by speaker."""
        return evaluation.evaluate(self, model, split, limit)

    def sample(self, model: nn.Module, step: int) -> str:
        """Show an utterance of the validation split, its text, and what it should be, in a line."""
        return evaluation.sample(self, model, step)

    def predict(
        self, model: nn.Module, inputs: Iterable[str], count: int, *, ahead: int | None = None
    ) -> Iterator[list[str]]:
        """Transcribe files, so many at a time that memory does not grow; one that cannot be read has no text."""
        for outputs in transcription.answers(self, model, inputs, count, ahead):
            yield [*(output.text for output in outputs), *[""] * (count - len(outputs))]

    def align(
        self, model: nn.Module, inputs: Iterable[str], count: int, *, ahead: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """Transcribe files and say where in each of them each token was heard, in constant memory."""
        return transcription.alignments(self, model, inputs, count, ahead)

    def asked(self, model: nn.Module, decoding: Decoding, count: int) -> Self:
        """Return the task that writes as it is asked to, if that means anything for it and the model."""
        asking.check(self, decoding)
        return replace(self, decoding=decoding)

    def join(self, model: nn.Module, others: Sequence["Trained"]) -> tuple[Self, nn.Module]:
        """Return the task and the model of an ensemble."""
        asking.check_alike(self, others)
        longest = min(self.longest, *(other.task.longest for other in others))  # type: ignore[attr-defined]
        return replace(self, longest=longest), Ensemble([model, *(each.model for each in others)])

    def look(self, model: nn.Module, inputs: Iterable[str], folder: Path) -> Iterator[Path]:
        """Draw where in each file each token of its best text was heard, over its spectrogram."""
        from saccade.tasks.transcribe.look import draw

        return draw(self, model, inputs, folder)

    @property
    def suffixes(self) -> tuple[str, ...]:  # type: ignore[override] # those of a run depend on what it hears
        """What the names of files end in that are taken from a folder."""
        return suffixes(self.signals)

    @property
    def step_seconds(self) -> float:
        """Seconds of a step that the model attends to."""
        return float(self.settings.step_frames * self.signals.frame_seconds)

    def listen(self, path: str) -> Heard:
        """Read a file, "-" being standard input, and say what of it was changed.

        Raises:
            ArgumentError: naming the file, if it cannot be read.
        """
        frames, notes = self.signals.read(path)
        for note in notes:
            say(note)
        return Heard(path, frames, [])

    def heard(self, utterance: Utterance) -> Heard:
        """Return an utterance of the corpus as the model takes it; the first that had to be changed is said."""
        for note in utterance.notes[:1]:
            self._say_once("changed", f"{note}; so may others be, which is not said again")
        return Heard(utterance.name, self.signals.frames(utterance.signal), self.target.encode(utterance.text))

    @cached_property
    def prefix(self) -> list[int]:
        """The tokens that every output begins with."""
        return [] if self.decoding.prefix is None else self.target.encode(self.decoding.prefix.strip())

    def limits(self, lengths: Tensor) -> Tensor:
        """Return how many tokens an output may have, `(batch,)`: a model that never ends stops here.

        One for each 40 ms (lengths, in frames), and twice as long a text as is known at the most.
        """
        most = (lengths * (self.signals.frame_seconds / _FASTEST)).long() + 1
        return most.clamp(max=2 * self.longest)

    @cached_property
    def _kept(self) -> Kept:
        return Kept(_KEPT)

    def _training(self, index: int) -> Heard | None:
        """A training utterance, None if it is too long; what comes again is kept."""
        return self._made(index) if self.corpus.size("train") is None else self._kept.get(index, self._made)

    def _made(self, index: int) -> Heard | None:
        heard, settings = self.heard(self.corpus.example("train", index)), self.settings
        fits = heard.size * self.signals.frame_seconds <= settings.max_seconds and len(heard.ids) <= settings.max_length
        if not fits:
            limits = f"--max-seconds {settings.max_seconds:g} or --max-length {settings.max_length}"
            self._say_once("long", f"{heard.name}: left out, longer than {limits}; so may others be")
        return heard if fits else None

    def _say_once(self, what: str, note: str) -> None:
        told = vars(self).setdefault("told", set())
        if what not in told:
            told.add(what)
            say(note)

    def _fitting(self, indices: Sequence[int]) -> list[Heard]:
        """The training utterances at some indices but for those that are too long, of which there is at least one."""
        settings, every = self.settings, [self._training(index) for index in indices]
        found = [one for one in every if one is not None]
        if not found:
            seen = f"all of {len(indices)} training utterances are longer than {settings.max_seconds:g} s"
            raise ArgumentError(f"--max-seconds: {seen}, or than --max-length {settings.max_length} tokens; raise it")
        return found


_KEPT = 1 << 30  # bytes of features that are not computed again in the next epoch
_FASTEST = 0.04  # seconds a token: nobody speaks faster, characters included


def _signals(rate: int | None, dim: int | None, options: Any) -> Signals:
    if dim is not None:
        return Signals(rate, dim)
    return Signals(rate, dim, options.mels, options.window_ms, options.hop_ms)
