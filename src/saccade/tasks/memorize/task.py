"""The task that memorizes: what `saccade.train` and whoever asks a run want of it."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

from torch import nn

from saccade.data.dataset import Lazy, counted, opened, take, training_sample
from saccade.data.layouts.babi import is_babi
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.models.memorizer import Memorizer
from saccade.tasks.batches import POOL, Sampler
from saccade.tasks.ensembles import check_alike
from saccade.tasks.memorize.answer import Asked, MemoryAnswer, answers, logits_of, memories
from saccade.tasks.memorize.baselines import baselines
from saccade.tasks.memorize.data import BUILTIN, Corpus, open_corpus
from saccade.tasks.memorize.data.episode import Batch, Episode, pad
from saccade.tasks.memorize.ensemble import Ensemble
from saccade.tasks.memorize.languages import Language, learn, restored
from saccade.tasks.memorize.measures import HEADLINE, cost, judged, measured
from saccade.tasks.memorize.options import RECIPES, REQUESTS, STORIES, EvalRequest, LookRequest, Options, Request
from saccade.tasks.memorize.room import check_answering, check_cells, check_training
from saccade.tasks.request import completed
from saccade.tasks.saved import TOKENIZER
from saccade.tasks.stream import texts
from saccade.train import options as shared
from saccade.train.files import write_json
from saccade.train.notes import say
from saccade.train.task import Baseline, Evaluation, Example, Form, Loss, Suited, Unreadable, find, recipe

if TYPE_CHECKING:
    from saccade.train.trained import Trained

__all__ = ["Memorize"]

_ENDLESS, _LEARNED = 500, 5_000  # questions of training that a baseline learns from: without end, and of others


@dataclass(frozen=True)
class Memorize:
    """Learn to say what was read, from sequences and what is to be said of them.

    Args:
        settings: all options of the run.
        language: how questions are read and answers written.
        corpus: the sequences.
    """

    settings: Any
    language: Language
    corpus: Lazy[Corpus]

    name: ClassVar[str] = "memorize"
    headline: ClassVar[str] = HEADLINE
    Options: ClassVar[type] = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES
    requests: ClassVar[Mapping[str, type]] = REQUESTS
    inputs: ClassVar[Literal["lines", "files"]] = "lines"
    suffixes: ClassVar[tuple[str, ...]] = ()
    unit: ClassVar[str] = "steps"
    lines = staticmethod(texts)
    models: ClassVar[dict[str, str]] = {
        "ntm": "saccade.models.ntm:NTM",
        "dnc": "saccade.models.dnc:DNC",
        "lstm": "saccade.models.lstm:LSTM",
        "past-attention": "saccade.models.past_attention:PastAttention",
        "transformer": "saccade.models.causal_transformer:CausalTransformer",
    }
    builtin: ClassVar[dict[str, str]] = BUILTIN

    @classmethod
    def suited(cls, model: str, given: Mapping[str, Any], objects: Any = None) -> Suited:
        """Return the recipe of all sequences that are one's own, or that of stories."""
        usual = recipe(cls, model, given["data"])
        if not is_babi(Path(given["data"])):
            return Suited(usual, data=objects)
        own = find(cls.models[model]).recipes.get("stories", {})
        how = "a word a step" if given.get("sentences") is False else "a sentence a step"
        return Suited({**usual, **STORIES, **own}, f"stories, which are read {how}", objects)

    @classmethod
    def prepare(cls, options: Any, objects: Any = None) -> Self:
        """Open the sequences and learn their symbols."""
        corpus = _opened(options, objects).get()
        language = learn(corpus, sentences=options.sentences)
        check_cells(language, options)
        found = cls(options, language, Lazy(lambda: corpus))
        steps = range(min(POOL, options.max_steps or POOL))  # which have the longest of a stretch among them
        check_training(find(cls.models[options.model]), options, map(found.sampler.batch, steps))
        if corpus.note:
            say(corpus.note)
        return found

    @classmethod
    def restore(cls, options: Any, folder: Path, objects: Any = None) -> Self:
        """Read the symbols back."""
        return cls(options, restored(folder), _opened(options, objects))

    def save(self, folder: Path) -> None:
        """Write tokenizer.json."""
        write_json(folder / TOKENIZER, self.language.to_json())

    @property
    def data(self) -> Corpus:
        """The sequences, opened when they are first asked for."""
        return self.corpus.get()

    @cached_property
    def sampler(self) -> Sampler[Episode]:
        """What maps steps to batches."""
        settings = self.settings
        return Sampler(self._episodes, self.data.size("train"), settings.batch_size, settings.seed, count=len)

    def build(self) -> nn.Module:
        """Make the model."""
        kind = find(self.models[self.settings.model])
        model: nn.Module = kind(self.language.sizes, shared.select(self.settings, kind.Options))
        return model

    def batch(self, step: int) -> Batch:
        """Return the batch of a training step."""
        return pad(self.sampler.batch(step))

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Return what the right bits or symbols of a sequence cost, the mean over sequences, in nats.

        As Graves et al. measure it: a long sequence weighs more than a short one, by what is asked in it.
        """
        logits = model(batch.source)[batch.asked].float()
        total = cost(logits, batch.targets[batch.asked]).sum() / len(batch.asked)
        return Loss(total, int(batch.source.lengths.sum()))

    def example(self, split: str, index: int) -> Example:
        """Return a question and its answer."""
        item = self.data.example(split, index)
        return Example(self.read(item.text, 1), item.text, item.answer)

    def evaluate(self, model: nn.Module, split: str, limit: int | None = None, request: Any = None) -> Evaluation:
        """Answer a split, or `limit` questions spread over it, and measure it, as a whole and by length or task."""
        items = [self.data.example(split, index) for index in take(self.data, split, limit)]
        episodes = [self.language.episode(item) for item in items]
        began = time.perf_counter()
        with _with_cells(model, completed(EvalRequest, request)):
            logits = logits_of(cast("Memorizer", model), episodes)
        seconds = time.perf_counter() - began
        if split == "test":  # validations come again and again
            self._say_room(model, [item.text for item in items])
        said = [judged(each, episode.wanted) for each, episode in zip(logits, episodes, strict=True)]
        groups, vectors = [item.group for item in items], not self.language.sizes.symbols
        found = measured(said, groups, vectors=vectors)
        return Evaluation(*found, len(items), sum(episode.order for episode in episodes), seconds)

    def baselines(self, split: str) -> dict[str, Baseline]:
        """Measure the most frequent answer, and of bits that are foretold the counts of what followed what."""
        items = [self.data.example(split, index) for index in range(self.data.size(split) or 0)]
        return baselines(self.language, training_sample(self.data, _ENDLESS, _LEARNED), items)

    def read(self, line: str, number: int) -> Asked:
        """Return a question; a blank line asks nothing."""
        if not line.strip():
            return Asked(line, None)
        try:
            return Asked(line.strip(), self.language.read(line))
        except ArgumentError as error:
            raise ArgumentError(f"line {number}: {error}") from error

    def check(self, model: nn.Module, request: Any) -> None:
        """Refuse cells of a model that has none, and more than there is memory for."""
        if (cells := completed(EvalRequest, request).cells) is None:
            return
        if not (found := memories(model)):
            raise ArgumentError("--cells: expected only of a model with an external memory (ntm, dnc), got another")
        check_answering(max(found, key=lambda memory: memory.nbytes(cells)), cells)

    def answer(
        self, model: nn.Module, inputs: Sequence[Asked | Unreadable], request: Any, form: Form = "lines"
    ) -> list[MemoryAnswer]:
        """Answer questions; a blank one has a blank answer."""
        look = request if isinstance(request, LookRequest) else LookRequest()
        asked = Request(cells=look.cells) if request is look else completed(Request, request)
        with _with_cells(model, asked):
            self._say_room(
                model, [each.text for each in inputs if isinstance(each, Asked) and each.episode is not None]
            )
            return answers(cast("Memorizer", model), inputs, self.language, asked.nbest, form, look.by)

    def join(self, model: nn.Module, others: Sequence["Trained"]) -> tuple[Self, nn.Module]:
        """Return the task and the model of an ensemble."""
        check_alike(self, others, _shared_parts)
        return self, Ensemble([model, *(each.model for each in others)])

    def _episodes(self, indices: Sequence[int]) -> list[Episode]:
        return [self.language.episode(self.data.example("train", index)) for index in indices]

    def _say_room(self, model: nn.Module, lines: Sequence[str]) -> None:
        """Say where questions hold more vectors than there are cells."""
        cells = min((memory.cells for memory in memories(model)), default=None)
        held = max(map(self.language.held, lines), default=0)
        if cells is not None and held > cells:
            way_out = f"--cells {held} makes room, whatever the run was trained with"
            say(f"{counted(held, 'vectors')}, and the memory has {counted(cells, 'cells')}; {way_out}")


def _opened(options: Any, objects: Any) -> Lazy[Corpus]:
    names = SplitNames.of_options(options)
    return opened(objects, lambda pairs: open_corpus(options.data, options.longest, pairs, names))


@contextmanager
def _with_cells(model: nn.Module, request: EvalRequest) -> Iterator[None]:
    """Another number of cells while the block runs."""
    changed = memories(model) if request.cells is not None else []
    before = [memory.cells for memory in changed]
    try:
        for memory in changed:
            memory.cells = request.cells or 1
        yield
    finally:
        for memory, cells in zip(changed, before, strict=True):
            memory.cells = cells


def _shared_parts(task: Memorize) -> dict[str, tuple[object, str]]:
    got = "others; train both on the same data with the same --longest and --sentences"
    return {"what is read and said": (task.language.to_json(), got)}
