"""Memorizing sequences, as a task."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from torch import Tensor, nn

from saccade._system.files import write_json
from saccade._system.notes import Once
from saccade.data.dataset import Dataset, counted, training_sample
from saccade.data.layouts.babi import is_babi
from saccade.data.naming import Names
from saccade.errors import ArgumentError
from saccade.models.padded import Padded
from saccade.tasks.batches import POOL, Sampler
from saccade.tasks.explaining import Subject
from saccade.tasks.memorize.answer import (
    Asked,
    MemoryAnswer,
    described,
    explained,
    logits_of,
    memories,
    methods_of,
)
from saccade.tasks.memorize.data import BUILTIN, COLUMNS, Language, Stories, open_corpus
from saccade.tasks.memorize.ensemble import Ensemble
from saccade.tasks.memorize.episode import Batch, Episode, Item, pad
from saccade.tasks.memorize.metrics import HEADLINE, baselines, cost, judged, measured
from saccade.tasks.memorize.options import RECIPES, REQUESTS, STORIES, LookRequest, Options
from saccade.tasks.memorize.problem import Problem
from saccade.tasks.memorize.problems import PROBLEMS
from saccade.tasks.memorize.room import check_answering, check_cells, check_training
from saccade.tasks.memorize.symbols import Symbols
from saccade.tasks.predictor import Predictor
from saccade.tasks.saved import TOKENIZER, reading, whole_number
from saccade.tasks.task import Task
from saccade.train.options import select
from saccade.train.task import Baseline, Evaluation, Example, Form, Loss, Suited, model_class, recipes_of

__all__ = ["MEMORIZE", "Memorizes", "Sequences"]

_ENDLESS, _LEARNED = 500, 5_000  # training questions of a baseline: of an endless and of a finite split
MODELS = {
    "ntm": "saccade.models.ntm:NTM",
    "dnc": "saccade.models.dnc:DNC",
    "lstm": "saccade.models.lstm:LSTM",
    "past-attention": "saccade.models.past_attention:PastAttention",
    "transformer": "saccade.models.causal_transformer:CausalTransformer",
}


@dataclass(frozen=True)
class Sequences:
    """Codec of questions and answers as sequences of steps.

    Args:
        language: of questions and answers.
        options: of the run.
    """

    language: Language
    options: Any = field(default=None, compare=False)

    @classmethod
    def fit(cls, data: Dataset[Item], options: Any) -> tuple[Self, Iterable[str]]:
        """Learn the symbols, and check the size of the memory."""
        story = isinstance(data, Stories)
        if options.sentences and not story:
            raise ArgumentError("--sentences: expected only with stories (bAbI's files), got other data; leave it out")
        language: Language | None = data if isinstance(data, Problem) else None
        if language is None:
            items = (data.example("train", index) for index in range(data.size("train") or 0))
            language = Symbols.learn(items, story=story, sentences=options.sentences)
        codec = cls(language, options)
        check_cells(language.most_held, options)

        def episodes(indices: Sequence[int]) -> list[Episode]:
            return codec.encode([data.example("train", index) for index in indices], "train")

        sampler = Sampler(episodes, data.size("train"), options.batch_size, options.seed, count=len)
        steps = range(min(POOL, options.max_steps or POOL))  # a pool holds its longest sequences
        check_training(model_class(MEMORIZE, options.model), options, map(sampler.batch, steps))
        return codec, ()

    def save(self, folder: Path) -> None:
        """Write tokenizer.json."""
        write_json(folder / TOKENIZER, self.language.to_json())

    @classmethod
    def restore(cls, folder: Path, options: Any) -> Self:
        """Read tokenizer.json, or raise an `ArgumentError` if it is missing or damaged."""
        with reading(folder / TOKENIZER, "how questions are read") as content:
            if "problem" in content:
                return cls(PROBLEMS[content["problem"]](whole_number(content, "longest")), options)
            return cls(Symbols.from_json(content), options)

    def encode(self, examples: Sequence[Item], split: str) -> list[Episode]:
        """Return sequences with their targets."""
        return [self.language.episode(item) for item in examples]

    def collate(self, samples: Sequence[Episode], step: int | None = None) -> Batch:
        """Return padded sequences."""
        return pad(samples)

    def build(self, model: Any) -> nn.Module:
        """Return a model for the language."""
        return model(self.language.sizes, select(self.options, model.Options))  # type: ignore[no-any-return]

    def show(self, example: Item, name: str) -> Example:
        """Return a question and its answer."""
        return Example(self.read(example.text, 1), example.text, example.answer)

    def read(self, line: str, number: int) -> Asked:
        """Return a question. A blank line is an empty one."""
        if not line.strip():
            return Asked(line, None)
        try:
            return Asked(line.strip(), self.language.read(line))
        except ArgumentError as error:
            raise ArgumentError(f"line {number}: {error}") from error

    @property
    def parts(self) -> dict[str, tuple[object, str]]:
        """The language, the same in all members of an ensemble."""
        got = "others; train both on the same data with the same --longest and --sentences"
        return {"what is read and said": (self.language.to_json(), got)}


@dataclass(frozen=True)
class Memorizes(Predictor):
    """Predictor of the bits or symbols of answers."""

    codec: Sequences

    ensemble = Ensemble

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Return the cost of the targets in nats per sequence, as in Graves et al.

        A long sequence weighs more than a short one, by its number of targets.
        """
        logits = model(batch.source)[batch.asked].float()
        total = cost(logits, batch.targets[batch.asked]).sum() / len(batch.asked)
        return Loss(total, int(batch.source.lengths.sum()))

    def predict(self, model: Any, samples: Sequence[Episode], request: Any) -> list[Tensor]:
        """Return the logits of the targets of each sequence."""
        with _with_cells(model, request):
            return logits_of(model, samples)

    def encode(self, inputs: Sequence[Asked]) -> tuple[Padded]:
        """Return the steps of questions."""
        return (self.codec.collate([question.episode for question in inputs if question.episode is not None]).source,)

    def measure(
        self, model: nn.Module, predictions: Sequence[Tensor], examples: Sequence[Item], request: Any
    ) -> Evaluation:
        """Return accuracies and exact matches, of all and by length or task."""
        self._warn(model, request, [item.text for item in examples])
        episodes = self.codec.encode(examples, "")
        scores = [judged(logits, episode.wanted) for logits, episode in zip(predictions, episodes, strict=True)]
        vectors = not self.codec.language.sizes.symbols
        results = measured(scores, [item.group for item in examples], vectors=vectors)
        return Evaluation(*results, len(examples), sum(episode.order for episode in episodes))

    def baselines(self, data: Dataset[Item], split: str) -> dict[str, Baseline]:
        """Measure the most frequent answer, and counts for predicted bits."""
        items = [data.example(split, index) for index in range(data.size(split) or 0)]
        return baselines(self.codec.language, training_sample(data, _ENDLESS, _LEARNED), items)

    def check(self, model: nn.Module, request: Any) -> None:
        """Reject options that the model or the free memory does not allow."""
        if getattr(request, "signed", False) and not self.codec.language.sizes.symbols:
            way_out = "Leave it out: --by jacobian draws the norm over all bits."
            raise ArgumentError(f"--signed: expected a run that writes a symbol a step, got one of bits. {way_out}")
        if isinstance(request, LookRequest):
            request.check_method(model, methods_of(model, self.codec.language), attends=True)
        if (cells := getattr(request, "cells", None)) is None:
            return
        if not (networks := memories(model)):
            raise ArgumentError("--cells: expected only of a model with an external memory (ntm, dnc), got another")
        check_answering(max(networks, key=lambda memory: memory.nbytes(cells)), cells)

    def answer(self, model: Any, inputs: Sequence[Any], request: Any, form: Form = "lines") -> list[MemoryAnswer]:
        """Answer questions. Blank and unreadable lines have blank answers."""
        count, language = getattr(request, "nbest", 1), self.codec.language
        questions = [question for question in inputs if getattr(question, "episode", None) is not None]
        self._warn(model, request, [question.text for question in questions])
        with _with_cells(model, request):
            logits = logits_of(model, [question.episode for question in questions])
            pairs = zip(questions, logits, strict=True)
            answers = iter([described(model, *pair, language, count, form, request) for pair in pairs])
        blank = MemoryAnswer(None, [], count)
        return [blank if getattr(line, "episode", None) is None else next(answers) for line in inputs]

    def subjects(self, model: Any, inputs: Sequence[Asked], request: Any) -> list[Subject]:
        """Return questions with their answers."""
        with _with_cells(model, request):
            logits = logits_of(model, [question.episode for question in inputs if question.episode is not None])
        return [explained(model, *pair, self.codec.language) for pair in zip(inputs, logits, strict=True)]

    def _warn(self, model: nn.Module, request: Any, lines: Sequence[str]) -> None:
        """Warn if questions hold more vectors than there are cells."""
        with _with_cells(model, request):
            cells = min((memory.cells for memory in memories(model)), default=None)
        held = max(map(self.codec.language.held, lines), default=0)
        if cells is not None and held > cells:
            way_out = f"--cells {held} makes room, whatever the run was trained with"
            note = f"{counted(held, 'vectors')}, and the memory has {counted(cells, 'cells')}; {way_out}"
            self._once.say(note, note)

    @cached_property
    def _once(self) -> Once:
        return Once()


@contextmanager
def _with_cells(model: nn.Module, request: Any) -> Iterator[None]:
    """Use the number of cells of a request in a block, if it has one."""
    before = [(memory, memory.cells) for memory in memories(model)]
    try:
        for memory, cells in before:
            memory.cells = getattr(request, "cells", None) or cells
        yield
    finally:
        for memory, cells in before:
            memory.cells = cells


def _suited(task: Task, model: str, explicit: Mapping[str, Any], objects: Any) -> Suited:
    """Recipe of stories, or of any other sequences."""
    usual = task.recipe(model, explicit["data"])
    if not is_babi(Path(explicit["data"])):
        return Suited(usual, data=objects)
    story_options = recipes_of(task, model).get("stories", {})
    how = "a word a step" if explicit.get("sentences") is False else "a sentence a step"
    return Suited({**usual, **STORIES, **story_options}, f"stories, which are read {how}", objects)


MEMORIZE = Task(
    name="memorize",
    summary="Memorizing: a sequence is read, and what it asks for is written from memory.",
    unit="steps",
    headline=HEADLINE,
    models=MODELS,
    builtin=BUILTIN,
    columns=COLUMNS,
    open=lambda options, objects: open_corpus(options.data, options.longest, objects, Names.of_options(options)),
    codec=Sequences,
    predictor=Memorizes,
    Options=Options,
    recipes=RECIPES,
    requests=REQUESTS,
    suit=_suited,
    at_once=4096,
)
"""The task, see docs/memorize.md."""
