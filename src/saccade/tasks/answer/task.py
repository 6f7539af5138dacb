"""Visual question answering, as a task."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from statistics import fmean
from typing import Any

import torch
from torch import Tensor, nn

from saccade._system.notes import Once
from saccade.models.image_encoder import Visual
from saccade.models.padded import Padded
from saccade.tasks.answer.answer import (
    Evidence,
    VisualAnswer,
    attention,
    gradient,
    jacobian,
    methods_of,
    of_image,
    of_words,
    pointing,
    scored,
    sees,
)
from saccade.tasks.answer.codec import Batch, Encoded, Query, Questions
from saccade.tasks.answer.data import BUILTIN, Corpus, Posed, open_corpus
from saccade.tasks.answer.data.agreement import agreement
from saccade.tasks.answer.data.questions import COLUMNS
from saccade.tasks.answer.options import LookRequest, Options
from saccade.tasks.answer.outputs import WrittenAnswers
from saccade.tasks.ensembles import check_drawn
from saccade.tasks.explaining import Subject
from saccade.tasks.groups import means
from saccade.tasks.image.pictures import IMAGE
from saccade.tasks.image.pointing import Pointing, metrics_of
from saccade.tasks.image.sight import suited
from saccade.tasks.image.texts import by_image, open_texts
from saccade.tasks.labels.baselines import usual
from saccade.tasks.labels.metrics import HEADLINE, confusion
from saccade.tasks.labels.ranking import Ranking
from saccade.tasks.labels.request import Request
from saccade.tasks.predictor import Predictor
from saccade.tasks.request import NoOptions, completed
from saccade.tasks.task import Job, Task
from saccade.tasks.text.special import BEGIN
from saccade.train.task import Baseline, Evaluation, Form, Loss, Metric, Unreadable

__all__ = ["ANSWER", "AnswersQuestions", "measured"]

_BY_GRADIENT = 100  # questions with computed gradients, for a model without attention
_ENDLESS = 5_000  # questions of an endless training split, for baselines


@dataclass(frozen=True)
class AnswersQuestions(Predictor):
    """Predictor of answers to questions about images."""

    codec: Questions

    @cached_property
    def _once(self) -> Once:
        return Once()

    def loss(self, model: Any, batch: Batch) -> Loss:
        """Return the mean cross-entropy of the answers."""
        return Loss(model.cost(*batch, self.codec.options.label_smoothing), len(batch.question.lengths))

    def measure(
        self, split: str, answers: Sequence[str], posed: Sequence[Posed], points: Sequence[Pointing]
    ) -> Evaluation:
        """Return accuracy and pointing by kind of question, and the confusion matrix."""
        if lost := sum(map(self.codec.lacks, posed)):
            note = f"{lost} of {len(posed)} questions have no answer among {self.codec.output.described}"
            self._once.say(split, f"{split}: {note}; they count as wrong")
        targets = [question.best for question in posed]
        labels = [label for label, _ in Counter(targets).most_common()]
        metrics, groups = measured(answers, posed, points)
        return Evaluation(metrics, groups, len(posed), len(posed), confusion=confusion(targets, answers, labels))

    def baselines(self, data: Corpus, split: str) -> dict[str, Baseline]:
        """Measure the most frequent answer, and the most frequent answer to each question."""
        size = data.size("train")
        learned = [data.posed("train", index) for index in range(_ENDLESS if size is None else size)]
        posed = [data.posed(split, index) for index in range(data.size(split) or 0)]
        pairs = ((question.question, question.answers) for question in learned)
        return usual(pairs, [question.question for question in posed], lambda answers: measured(answers, posed)[0])

    def check(self, model: nn.Module, request: Any) -> None:
        """Reject more answers than there are, and pictures that the model does not have."""
        if isinstance(request, LookRequest):
            methods = methods_of(model)
            check_drawn(model, request.by, methods)
            request.check(methods, writes=isinstance(self.codec.output, WrittenAnswers))
        else:
            self.codec.output.check(completed(Request, request))

    def encode(self, inputs: Sequence[Query]) -> tuple[Any, ...]:
        """Return images and questions, and the begin tokens of written answers."""
        batch = self.codec.collate([Encoded(query.shown.seen, query.ids, {}) for query in inputs])
        source = batch.visual, batch.question
        written = isinstance(self.codec.output, WrittenAnswers)
        return (source, torch.full((len(inputs), 1), BEGIN)) if written else source

    def subjects(self, model: Any, inputs: Sequence[Query], request: Any) -> list[Subject]:
        """Return images with their questions and answers."""
        return [self._subject(model, query, request) for query in inputs]

    def answer(
        self, model: nn.Module, inputs: Sequence[Query | Unreadable], request: Any, form: Form = "lines"
    ) -> list[VisualAnswer]:
        """Answer questions one by one, so that an answer does not depend on its batch."""
        look = request if isinstance(request, LookRequest) else None
        count = 1 if look else completed(Request, request).nbest
        return [self._answer(model, query, count, form, look or LookRequest()) for query in inputs]

    def ensemble(self, models: Sequence[nn.Module]) -> nn.Module:
        """Return the mean of models."""
        return self.codec.output.ensemble(models)  # type: ignore[no-any-return]

    def _answer(self, model: Any, query: Query | Unreadable, count: int, form: Form, look: LookRequest) -> VisualAnswer:
        if isinstance(query, Unreadable):
            return VisualAnswer(query, None, count)
        output, batch = self.codec.output, self.codec.collate([Encoded(query.shown.seen, query.ids, {})])
        source, question, _ = batch.to(next(model.parameters()).device)
        attends = getattr(model, "attends", False) and look.by in (None, "attention")
        looked = model.look(source, question) if form != "lines" and attends else None
        logits = None if looked is None else looked.logits
        ranking = output.ranking(model, source, question, count=count, logits=logits)
        evidence = None if looked is None else attention(model, looked, query.tokens)
        if form == "pictures" and evidence is None:
            evidence = self._evidence(model, query, Visual(*source), question, ranking, look)
        return VisualAnswer(query, ranking, count, evidence)

    def _evidence(
        self, model: Any, query: Query, source: Visual, question: Padded, ranking: Ranking, look: LookRequest
    ) -> Evidence:
        """Return the scores of a method other than attention."""
        best, output = ranking.labels[ranking.best], self.codec.output
        if look.by in (None, "gradient"):
            return gradient(model, source, question, partial(output.log_probs, model, [best]))
        if look.by == "jacobian":
            return jacobian(model, source, query.ids, ranking.best if look.signed else None)
        of_answer = self._subject(model, query, look)
        return scored(of_answer, look.by)

    def _subject(self, model: Any, query: Query, look: LookRequest) -> Subject:
        """Return an image, or the words of its question, with the best answer."""
        output, batch = self.codec.output, self.codec.collate([Encoded(query.shown.seen, query.ids, {})])
        source, question, _ = batch.to(next(model.parameters()).device)
        ranking = output.ranking(model, source, question, count=1)
        best, by_words = ranking.labels[ranking.best], look.by == "jacobian" or not sees(model)
        if look.by == "jacobian":
            logits = getattr(model, "answerer", model)
            return of_words(model, query, source, logits, ranking.best, best)
        log_probs = partial(output.log_probs, model)

        def score(visual: Visual, words: Padded) -> Tensor:
            return log_probs([best] * len(words.lengths), visual, words)[:, None]

        if by_words:
            return of_words(model, query, source, score, 0, best)
        looked = model.look(source, question) if look.by == "attention" else None
        return of_image(model, source, question, score, best, looked)


def measured(
    answers: Sequence[str], posed: Sequence[Posed], points: Sequence[Pointing] = ()
) -> tuple[dict[str, Metric], dict[str, dict[str, float]]]:
    """Return accuracy and pointing, by kind of question too.

    Example:
        >>> posed = [Posed("is it?", ("yes",), "is"), Posed("how many?", ("2",), "how many")]
        >>> measured(["yes", "3"], posed, [Pointing("is", [False, True], [0.1, 0.5])])[0]
        {'accuracy': 0.5, 'pointing': 1.0, 'pointing_mean': 0.5, 'weight_inside': 0.5}
    """
    right = [agreement(answer, question.answers) for answer, question in zip(answers, posed, strict=True)]
    metrics, groups = metrics_of(points)
    return {HEADLINE: fmean(right), **metrics}, {
        HEADLINE: means([question.group for question in posed], right),
        **groups,
    }


def _evaluate(job: Job, model: Any, split: str, indices: Sequence[int], request: Any) -> Evaluation:
    """Answer questions in batches, and keep no images."""
    codec, device, attends = job.codec, next(model.parameters()).device, getattr(model, "attends", False)
    answers, posed, points, seconds = list[str](), list[Posed](), list[Pointing](), 0.0
    for first in range(0, len(indices), job.at_once):
        examples = [job.data.example(split, index) for index in indices[first : first + job.at_once]]
        batch = codec.collate(codec.encode(examples, split)).to(device)
        began, source = time.perf_counter(), batch[:2]
        looked = model.look(*source) if attends and any(example.boxes for example in examples) else None
        best = codec.output.best(model, *source, logits=None if looked is None else looked.logits)
        seconds += time.perf_counter() - began
        answers += best
        posed += [example.posed for example in examples]
        few = examples if attends else examples[: max(0, _BY_GRADIENT - first)]
        points += pointing(model, batch, few, looked, partial(codec.output.log_probs, model), best)
    predictor: Any = job.predictor
    evaluation: Evaluation = predictor.measure(split, answers, posed, points)
    return replace(evaluation, seconds=seconds)


def _joined(job: Job, model: nn.Module, others: Sequence[Any]) -> Questions:
    """Codec of an ensemble with the shortest questions of its members."""
    longest = min(job.settings.max_length, *(other.options.max_length for other in others))
    codec: Questions = job.changed(max_length=longest).codec
    return codec


ANSWER = Task(
    name="answer",
    summary="Visual question answering: an image and a question in, an answer out.",
    unit="questions",
    headline=HEADLINE,
    models={
        "ask-attend-and-answer": "saccade.models.ask_attend_and_answer:AskAttendAndAnswer",
        "show-ask-attend-and-answer": "saccade.models.show_ask_attend_and_answer:ShowAskAttendAndAnswer",
        "attention-lstm": "saccade.models.attention_lstm:AttentionLSTM",
        "show-and-answer": "saccade.models.show_and_answer:ShowAndAnswer",
        "question-only": "saccade.models.question_only:QuestionOnly",
        "image-only": "saccade.models.image_only:ImageOnly",
    },
    builtin=BUILTIN,
    open=partial(open_texts, open_corpus, BUILTIN),
    codec=Questions,
    predictor=AnswersQuestions,
    Options=Options,
    recipes={"scenes": {}, "files": {"shift": 2}},
    requests={"predict": Request, "eval": NoOptions, "look": LookRequest},
    columns=(IMAGE, *COLUMNS[:2]),
    file_column="image",
    suit=suited,
    sampler=by_image,
    evaluate=_evaluate,
    joined=_joined,
    at_once=128,
)
"""The task, see docs/answer.md."""
