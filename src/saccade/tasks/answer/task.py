"""The task that answers questions about images: what `saccade.train` and whoever asks a run want of it."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from torch import nn

from saccade.errors import ArgumentError
from saccade.tasks.answer.answer import Query, VisualAnswer, answers
from saccade.tasks.answer.batches import Batch, Encoded, stacked
from saccade.tasks.answer.data import BUILTIN, Asked, Corpus, open_corpus
from saccade.tasks.answer.ensemble import Answerers
from saccade.tasks.answer.measures import HEADLINE, Pointing, baselines, measured
from saccade.tasks.answer.options import RECIPES, REQUESTS, LookRequest, Options
from saccade.tasks.answer.vocabulary import Vocabulary, learn
from saccade.tasks.batches import Sampler, spread
from saccade.tasks.dataset import Lazy
from saccade.tasks.ensembles import check_alike
from saccade.tasks.image.augment import check_shift
from saccade.tasks.image.images import encode_png, read_image
from saccade.tasks.labels.request import Request, check_count
from saccade.tasks.request import completed
from saccade.tasks.splits import SplitNames
from saccade.train import options as shared
from saccade.train.notes import say
from saccade.train.task import Baseline, Evaluation, Example, Form, Loss, Suited, Unreadable, find, recipe

if TYPE_CHECKING:
    from saccade.train.trained import Trained

__all__ = ["AnswerQuestions"]

_AT_ONCE = 128  # questions that are measured together
_ENDLESS = 5_000  # training questions that baselines count where there is no end of them


@dataclass(frozen=True)
class AnswerQuestions:
    """Learn to answer questions about images, from images with questions and their answers.

    Args:
        settings: all options of the run.
        vocabulary: words, answers, size and channels.
        corpus: the questions.
    """

    settings: Any
    vocabulary: Vocabulary
    corpus: Lazy[Corpus]

    name: ClassVar[str] = "answer"
    headline: ClassVar[str] = HEADLINE
    Options: ClassVar[type] = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES
    requests: ClassVar[Mapping[str, type]] = REQUESTS
    inputs: ClassVar[Literal["lines", "files"]] = "lines"
    suffixes: ClassVar[tuple[str, ...]] = ()
    unit: ClassVar[str] = "questions"
    models: ClassVar[dict[str, str]] = {
        "ask-attend-and-answer": "saccade.models.ask_attend_and_answer:AskAttendAndAnswer",
        "show-ask-attend-and-answer": "saccade.models.show_ask_attend_and_answer:ShowAskAttendAndAnswer",
        "show-and-answer": "saccade.models.show_and_answer:ShowAndAnswer",
        "question-only": "saccade.models.question_only:QuestionOnly",
        "image-only": "saccade.models.image_only:ImageOnly",
    }
    builtin: ClassVar[dict[str, str]] = BUILTIN

    @classmethod
    def suited(cls, model: str, given: Mapping[str, Any], objects: Any = None) -> Suited:
        """Return the recipe of all questions that are one's own."""
        return Suited(recipe(cls, model, given["data"]), data=objects)

    @classmethod
    def prepare(cls, options: Any, objects: Any = None) -> Self:
        """Open the corpus, and learn its words and answers."""
        corpus = _opened(options, objects)
        check_shift(options.shift, corpus.shape)
        vocabulary, note = learn(corpus, options)
        for line in filter(None, (corpus.note, note)):
            say(line)
        return cls(options, vocabulary, Lazy(lambda: corpus))

    @classmethod
    def restore(cls, options: Any, folder: Path, objects: Any = None) -> Self:
        """Read words and answers back."""
        return cls(options, Vocabulary.restore(folder), Lazy(lambda: _opened(options, objects)))

    def save(self, folder: Path) -> None:
        """Write tokenizer.json."""
        self.vocabulary.save(folder)

    @property
    def data(self) -> Corpus:
        """The questions, opened when they are first asked for."""
        return self.corpus.get()

    @cached_property
    def sampler(self) -> Sampler[Encoded]:
        """What maps steps to batches."""
        return Sampler(self._learned, self.data.images("train"), self.settings.batch_size, self.settings.seed)

    def build(self) -> nn.Module:
        """Make the model."""
        kind, known = find(self.models[self.settings.model]), self.vocabulary
        options = shared.select(self.settings, kind.Options)
        sizes = known.shape[0], len(known.words), len(known.answers)
        model: nn.Module = kind(*sizes, options, known.mean, known.std)
        return model

    def batch(self, step: int) -> Batch:
        """Return the batch of a training step, each image shifted at random."""
        settings, count = self.settings, len(self.vocabulary.answers)
        return stacked(self.sampler.batch(step), count, shifted=settings.shift, seed=settings.seed, step=step)

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Return what the model says that the batch costs: the mean of the answers' cross-entropy."""
        cost: Any = model.cost
        return Loss(cost(*batch, self.settings.label_smoothing), len(batch.wanted))

    def example(self, split: str, index: int) -> Example:
        """Return a question with its image, and the answer that most people gave."""
        asked = self.data.example(split, index)
        said = asked.posed.answers
        query = self._query(f"{split}-{index}.png", asked.image, asked.posed.question)
        file = ".png", encode_png(asked.image)
        return Example(query, asked.posed.question, max(said, key=said.count), file)

    def evaluate(self, model: nn.Module, split: str, limit: int | None = None, request: Any = None) -> Evaluation:
        """Answer a split, or `limit` questions spread over it, and measure it, as a whole and by kind of question.

        Where it is known what an answer depends on, it is measured whether the model looked there.
        """
        size = self.data.size(split) or 0
        chosen = list(spread(size, limit) if limit is not None else range(size))
        found, posed, pointing, seconds = list[str](), [], list[Pointing](), 0.0
        device, looks = next(model.parameters()).device, getattr(model, "attends", False)
        for first in range(0, len(chosen), _AT_ONCE):  # no more is in memory as floats
            asked = [self.data.example(split, index) for index in chosen[first : first + _AT_ONCE]]
            batch = stacked([self._encoded(one) for one in asked], len(self.vocabulary.answers)).to(device)
            began, given = time.perf_counter(), batch[:2]
            looked = model.look(*given) if looks and any(one.boxes for one in asked) else None  # type: ignore[operator]
            logits = model(*given) if looked is None else looked.logits
            found += [self.vocabulary.answers[number] for number in logits.argmax(-1).tolist()]
            seconds += time.perf_counter() - began
            posed += [one.posed for one in asked]
            pointing += [] if looked is None or looked.weights is None else _pointing(asked, looked)
        self._say_unknown(split, posed)
        return Evaluation(*measured(found, posed, pointing), len(posed), len(posed), seconds)

    def baselines(self, split: str) -> dict[str, Baseline]:
        """Measure the most frequent answer, and the most frequent one to each question."""
        train, size = self.data.size("train"), self.data.size(split) or 0
        learned = [self.data.posed("train", index) for index in range(_ENDLESS if train is None else train)]
        return baselines(learned, [self.data.posed(split, index) for index in range(size)])

    def read(self, line: str, number: int) -> Query:
        """Return the question of a line: the path of an image, a tab and the question."""
        name, tab, question = line.partition("\t")
        if not tab:
            raise ArgumentError(f"line {number}: expected an image, a tab and a question, got no tab: {line!r:.60}")
        if not question.strip():
            raise ArgumentError(f"line {number}: expected a question behind the tab, got none")
        path, (channels, *size) = name.strip(), self.vocabulary.shape
        if not path:
            raise ArgumentError(f"line {number}: expected an image before the tab, got none")
        image = read_image(Path(path), path, channels=channels, size=(size[0], size[1]))
        return self._query(path, image, question, number)

    def check(self, model: nn.Module, request: Any) -> None:
        """Refuse more answers than there are, and attention of a model without."""
        if isinstance(request, LookRequest):
            request.check(model)
        else:
            check_count(completed(Request, request), len(self.vocabulary.answers))

    def answer(
        self, model: nn.Module, inputs: Sequence[Query | Unreadable], request: Any, form: Form = "lines"
    ) -> list[VisualAnswer]:
        """Answer questions; one that could not be read has a blank answer."""
        look = request if isinstance(request, LookRequest) else None
        count = 1 if look else completed(Request, request).nbest
        return answers(model, inputs, self.vocabulary.answers, count, form, look or LookRequest())

    def join(self, model: nn.Module, others: Sequence["Trained"]) -> tuple[Self, nn.Module]:
        """Return the task and the model of an ensemble, which reads as much of a question as every member does."""
        check_alike(self, others, _shared_parts)
        longest = min(self.settings.max_length, *(other.options.max_length for other in others))
        joined = replace(self, settings=replace(self.settings, max_length=longest))
        return joined, Answerers([model, *(each.model for each in others)])

    def _query(self, name: str, image: Any, question: str, number: int | None = None) -> Query:
        """A question as it is read; of one that was asked in a line it is said where it is too long."""
        text = " ".join(question.split())
        tokens, whole = self.vocabulary.tokens(text, self.settings.max_length)
        if not whole and number is not None:
            most = f"{self.settings.max_length} words (--max-length)"
            say(f"line {number}: longer than {most}; what follows them is not read")
        return Query(name, image, text, tokens, self.vocabulary.ids(tokens))

    def _encoded(self, asked: Asked) -> Encoded:
        tokens, _ = self.vocabulary.tokens(asked.posed.question, self.settings.max_length)
        known = [self.vocabulary.numbers[one] for one in asked.posed.answers if one in self.vocabulary.numbers]
        wanted = {number: known.count(number) / len(known) for number in known}
        return Encoded(asked.image, self.vocabulary.ids(tokens), wanted, asked.name)

    def _learned(self, images: Sequence[int]) -> list[Encoded]:
        """The training questions about some images, of which an answer is known; those about an image side by side."""
        numbers, data = self.vocabulary.numbers, self.data
        return [
            self._encoded(data.example("train", index))
            for image in images
            for index in data.about("train", image)
            if any(one in numbers for one in data.posed("train", index).answers)
        ]

    def _say_unknown(self, split: str, posed: Sequence[Any]) -> None:
        """Say once how many questions of a split nobody can answer who knows the run's answers alone."""
        lost = sum(not any(one in self.vocabulary.numbers for one in each.answers) for each in posed)
        if lost and split not in self._said:
            self._said.add(split)
            known = f"the run's {len(self.vocabulary.answers)}"
            say(f"{split}: {lost} of {len(posed)} questions have no answer among {known}; they count as wrong")

    @cached_property
    def _said(self) -> set[str]:
        return set()


def _opened(options: Any, objects: Any) -> Corpus:
    options.refuse_ignored(options.data in BUILTIN)
    things, names = (options.least, options.most), SplitNames.of_options(options)
    return open_corpus(options.data, options.size, objects, names, things=things, seed=options.data_seed)


def _pointing(asked: Sequence[Asked], looked: Any) -> list[Pointing]:
    """Where reads pointed, of those questions whose things are known."""
    maps = looked.weights.unflatten(-1, looked.shape).cpu()
    size = asked[0].image.shape[1], asked[0].image.shape[2]
    pairs = zip(asked, maps, strict=True)
    return [Pointing.of(one.posed.group, weights, one.boxes, size) for one, weights in pairs if one.boxes]


def _shared_parts(task: AnswerQuestions) -> dict[str, tuple[object, str]]:
    known = task.vocabulary
    got = "others; train both on the same data with the same --vocabulary-size and --min-count"
    return {
        "the answers": (known.answers, f"{', '.join(known.answers):.80}"),
        "the words": (known.words.words, got),
        "the images' size": (known.shape, "others"),
    }
