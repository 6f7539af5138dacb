"""The task that answers questions about images: what `saccade.train` and whoever asks a run want of it."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from torch import Tensor, nn

from saccade._system.notes import Once, say
from saccade.data.cleaning import composed
from saccade.data.dataset import Lazy, take
from saccade.errors import ArgumentError
from saccade.models.image_encoder import Options as SightOptions
from saccade.tasks.answer.answer import Query, VisualAnswer, answers
from saccade.tasks.answer.batches import Batch, Encoded, stacked
from saccade.tasks.answer.data import BUILTIN, Asked, Corpus, open_corpus
from saccade.tasks.answer.data.table import asked_in
from saccade.tasks.answer.measures import HEADLINE, measured, pointing
from saccade.tasks.answer.options import RECIPES, REQUESTS, LookRequest, Options
from saccade.tasks.answer.vocabulary import Vocabulary, learn
from saccade.tasks.ensembles import check_alike
from saccade.tasks.generate.answers import WrittenAnswers
from saccade.tasks.image.images import encode_png, read_image
from saccade.tasks.image.influence import word_vectors
from saccade.tasks.image.pointing import Pointing
from saccade.tasks.image.shown import Shown, featured
from saccade.tasks.image.task import VisualTask
from saccade.tasks.labels.answers import ClassAnswers
from saccade.tasks.labels.baselines import usual
from saccade.tasks.labels.request import Request
from saccade.tasks.request import completed
from saccade.train import options as shared
from saccade.train.task import Baseline, Evaluation, Example, Form, Loss, Unreadable, model_class

if TYPE_CHECKING:
    from saccade.train.trained import Trained

__all__ = ["AnswerQuestions"]

_AT_ONCE = 128  # questions that are measured together
_CHANNELS = 3  # of all images
_BY_GRADIENT = 100  # questions that gradients are looked at of, where nothing attends
_ENDLESS = 5_000  # training questions that baselines count where there is no end of them


@dataclass(frozen=True)
class AnswerQuestions(VisualTask):
    """Learn to answer questions about images, from images with questions and their answers.

    Args:
        settings: all options of the run.
        vocabulary: words, answers, and what is known of the images.
        corpus: the questions.
        store: of features, where they are given in the place of images.
    """

    vocabulary: Vocabulary
    corpus: Lazy[Corpus]
    _notes: Once = field(default_factory=Once, init=False, repr=False, compare=False)

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
        "attention-lstm": "saccade.models.attention_lstm:AttentionLSTM",
        "show-and-answer": "saccade.models.show_and_answer:ShowAndAnswer",
        "question-only": "saccade.models.question_only:QuestionOnly",
        "image-only": "saccade.models.image_only:ImageOnly",
    }
    builtin: ClassVar[dict[str, str]] = BUILTIN
    open_corpus = staticmethod(open_corpus)
    learn = staticmethod(learn)
    restored_vocabulary = staticmethod(Vocabulary.restore)

    @classmethod
    def prepare(cls, options: Any, objects: Any = None) -> Self:
        """Open the questions, and learn their words and answers."""
        if options.shift and not issubclass(model_class(cls, options.model).Options, SightOptions):
            why = f"expected none with --model {options.model}, which sees no image"
            raise ArgumentError(f"--shift: {why}, got {options.shift}; leave it out")
        return super().prepare(options, objects)

    @cached_property
    def output(self) -> ClassAnswers | WrittenAnswers:
        """How answers are given."""
        return self.vocabulary.output.searching(self.settings.beam_size)

    def build(self) -> nn.Module:
        """Make the model."""
        kind, known = model_class(type(self), self.settings.model), self.vocabulary
        options = shared.select(self.settings, kind.Options)
        encoder = known.sight.encoder(options) if isinstance(options, SightOptions) else None
        sizes = len(known.words), self.output.size(options.hidden_dim)
        return self.output.model(kind(encoder, *sizes, options), options)

    def batch(self, step: int) -> Batch:
        """Return the batch of a training step, each image shifted at random."""
        settings, given = self.settings, (self.sampler.batch(step), self.output, self.store)
        return stacked(*given, shifted=settings.shift, seed=settings.seed, step=step)

    def loss(self, model: Any, batch: Batch) -> Loss:
        """Return what the model says that the batch costs: the mean of the answers' cross-entropies."""
        return Loss(model.cost(*batch, self.settings.label_smoothing), len(batch.question.lengths))

    def example(self, split: str, index: int) -> Example:
        """Return a question with its image, and the answer that most people gave."""
        asked = self.data.example(split, index)
        question, said, seen = asked.posed.question, asked.posed.answers, self.seen(asked)
        best = max(said, key=said.count)
        if not isinstance(seen, Tensor):
            return Example(self._query(Shown(asked.name, seen), question), f"{asked.name}\t{question}", best)
        query = self._query(Shown(f"{split}-{index}.png", seen), question)
        return Example(query, question, best, (".png", encode_png(seen)))

    def evaluate(self, model: nn.Module, split: str, limit: int | None = None, request: Any = None) -> Evaluation:
        """Answer a split, or `limit` questions spread over it, and measure it, as a whole and by kind of question.

        Where it is known what an answer depends on, it is measured whether the model looked there.
        """
        chosen = take(self.data, split, limit)
        found, posed, seen, seconds = list[str](), [], list[Pointing](), 0.0
        device, looks = next(model.parameters()).device, getattr(model, "attends", False)
        for first in range(0, len(chosen), _AT_ONCE):  # no more is in memory as floats
            asked = [self.data.example(split, index) for index in chosen[first : first + _AT_ONCE]]
            batch = stacked([self._encoded(one) for one in asked], self.output, self.store).to(device)
            began, given = time.perf_counter(), batch[:2]
            looked = model.look(*given) if looks and any(one.boxes for one in asked) else None  # type: ignore[operator]
            said = self.output.texts(model, *given, looked=looked)
            seconds += time.perf_counter() - began
            posed += [one.posed for one in asked]
            found += said
            few = asked if looks else asked[: max(0, _BY_GRADIENT - first)]
            seen += pointing(model, batch, few, looked, partial(self.output.log_probs, model), said)
        self._say_unknown(split, posed)
        return Evaluation(*measured(found, posed, seen), len(posed), len(posed), seconds)

    def baselines(self, split: str) -> dict[str, Baseline]:
        """Measure the most frequent answer, and the most frequent one to each question."""
        wanted = [self.data.posed(split, index) for index in range(self.data.size(split) or 0)]
        asked = [one.question for one in wanted]
        return usual(self._counted, asked, lambda found: measured(found, wanted)[0])

    @cached_property
    def _counted(self) -> list[tuple[str, Sequence[str]]]:
        """Training questions with their answers, which the baselines of each split count."""
        size = self.data.size("train")
        posed = (self.data.posed("train", index) for index in range(_ENDLESS if size is None else size))
        return [(one.question, one.answers) for one in posed]

    def read(self, line: str, number: int) -> Query:
        """Return the question of a line: the path of an image, a tab and the question."""
        path, question = asked_in(line, number)
        if self.store is not None:
            return self._query(featured(self.store, path), question, number)
        image = read_image(Path(path), path, channels=_CHANNELS, size=self.vocabulary.sight.size)
        return self._query(Shown(path, image), question, number)

    def check(self, model: nn.Module, request: Any) -> None:
        """Refuse more answers than there are, and attention of a model without."""
        if isinstance(request, LookRequest):
            request.check(attends=getattr(model, "attends", False), reads=bool(word_vectors(model)))
        else:
            self.output.check(completed(Request, request))

    def answer(
        self, model: nn.Module, inputs: Sequence[Query | Unreadable], request: Any, form: Form = "lines"
    ) -> list[VisualAnswer]:
        """Answer questions; one that could not be read has a blank answer."""
        look = request if isinstance(request, LookRequest) else None
        count = 1 if look else completed(Request, request).nbest
        return answers(model, inputs, self.output, count, form, look or LookRequest())

    def join(self, model: nn.Module, others: Sequence["Trained"]) -> tuple[Self, nn.Module]:
        """Return the task and the model of an ensemble, which reads as much of a question as every member does."""
        check_alike(self, others, _shared_parts)
        longest = min(self.settings.max_length, *(other.options.max_length for other in others))
        joined = replace(self, settings=replace(self.settings, max_length=longest))
        return joined, self.output.ensemble([model, *(each.model for each in others)])

    def _query(self, image: Shown, question: str, number: int | None = None) -> Query:
        """A question as it is read; of one that was asked in a line it is said where it is too long."""
        text = composed(" ".join(question.split()))
        tokens, whole = self.vocabulary.tokens(text, self.settings.max_length)
        if not whole and number is not None:
            most = f"{self.settings.max_length} words (--max-length)"
            say(f"line {number}: longer than {most}; what follows them is not read")
        return Query(image, text, tokens, self.vocabulary.ids(tokens))

    def fits(self, index: int) -> bool:
        """Return whether a training question has an answer that can be learned."""
        return any(map(self.output.knows, self.data.posed("train", index).answers))

    def learned(self, indices: Sequence[int]) -> list[Encoded]:
        """Return training questions about one image, which is made or decoded once for all of them."""
        first, data = self.data.example("train", indices[0]), self.data
        return [self._encoded(first._replace(posed=data.posed("train", index))) for index in indices]

    def _encoded(self, asked: Asked) -> Encoded:
        tokens, _ = self.vocabulary.tokens(asked.posed.question, self.settings.max_length)
        known = list(filter(self.output.knows, asked.posed.answers))
        wanted = {answer: known.count(answer) / len(known) for answer in known}
        return Encoded(asked.image, self.vocabulary.ids(tokens), wanted, asked.name)

    def _say_unknown(self, split: str, posed: Sequence[Any]) -> None:
        """Say once how many questions of a split nobody can answer who knows the run's answers alone."""
        lost = sum(not any(map(self.output.knows, each.answers)) for each in posed)
        if lost:
            told = f"{lost} of {len(posed)} questions have no answer among {self.output.told}"
            self._notes.say(split, f"{split}: {told}; they count as wrong")


def _shared_parts(task: AnswerQuestions) -> dict[str, tuple[object, str]]:
    known = task.vocabulary
    got = "others; train both on the same data with the same --vocabulary-size and --min-count"
    return {
        "the answers": known.output.alike,
        "the words": (known.words.words, got),
        "what is seen": (known.sight, f"{known.sight.shape or known.sight.dim}"),
    }
