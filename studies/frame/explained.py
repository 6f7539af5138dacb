"""Attributions measured on built-in data whose deciding inputs are known."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, TypeVar

import torch
from scipy import stats
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from saccade import look
from saccade.models.padded import Padded
from saccade.tasks.classify_text.answer import read_texts
from saccade.tasks.classify_text.answer import subject as text_subject
from saccade.tasks.generate.attention import weights_of
from saccade.tasks.task import Job
from saccade.tasks.text.special import UNKNOWN
from saccade.tasks.translate.codec import encode, pad
from saccade.tasks.translate.gradients import subject as pair_subject
from studies.frame.attributions import ATTENTION, BLANKED, FLOW, ROLLOUT, by_depth, of_some, scores_of
from studies.frame.deciding import deciding, deciding_words
from studies.frame.seeds import pack

_T = TypeVar("_T")
METHODS = ("attention", "rollout", "flow", "gradient", "integrated-gradients")
DEPTHS = (ATTENTION, ROLLOUT, FLOW)
KINDS = ("opinion", "negation", "conjunction", "other opinion")
"""Kinds of words of a review; all but the last decide."""


def hit(scores: Tensor, places: Sequence[int] | range) -> float:
    """Return the share of the largest scores `(length,)` at some places, 1 or 0 without ties.

    >>> hit(torch.tensor([0.2, 0.9, 0.9]), [1]), hit(torch.tensor([0.2, -0.9]), [0])
    (0.5, 1.0)
    """
    largest = (scores >= scores.max() - 1e-6 * scores.abs().max()).nonzero()[:, 0].tolist()
    return fmean(place in places for place in largest)


def correlation(scores: Tensor, others: Tensor) -> float:
    """Return Spearman's rank correlation of scores, 0 if all of one side are equal.

    >>> round(correlation(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.1, 0.9, 0.3])), 3)
    0.5
    """
    if len(scores) < 2 or bool((scores == scores[0]).all()) or bool((others == others[0]).all()):
        return 0.0
    return float(stats.spearmanr(scores.numpy(), others.numpy()).statistic)


def dates(task: Job, model: Any, count: int) -> dict[str, Any]:
    """Return how often scores of a date's digits find the part that decides them."""
    hits, chances = list[dict[str, float]](), list[float]()
    for index in range(count):
        pair = task.data.example("test", index)
        parts = deciding(pair)
        outputs = [output for output, part in enumerate(parts) if part]
        [ids], names = encode([pair], task.codec.source, task.codec.target), ((*pair.source, ""), (*pair.target, ""))
        batch = pad([ids])
        with torch.no_grad():
            weights = weights_of(model, model.encode(batch.source), batch.target[:, :-1])
        assert weights is not None, "the model attends"
        subject = of_some(pair_subject(model, ids.source, ids.target, names, weights[0]), outputs)
        scores = scores_of(subject, METHODS, model.source_embedding.weight[UNKNOWN].detach())
        whole = len(ids.source)
        hits.append(
            {
                name: fmean(hit(row[:whole], parts[output]) for row, output in zip(values, outputs, strict=True))
                for name, values in scores.items()
            }
        )
        chances.append(fmean(len(parts[output]) / whole for output in outputs))
    return _row(hits, chances)


def reviews(task: Job, model: Any, count: int) -> dict[str, Any]:
    """Return hits of deciding words, correlations with blank-out, and faithfulness."""
    examples = [task.data.example("test", index) for index in range(count)]
    labels = [task.codec.labels.index(example.label) for example in examples]
    measured, scored, sources, chances = list[Any](), list[dict[str, Tensor]](), list[Tensor](), list[float]()
    for example, label in zip(examples, labels, strict=True):
        text = task.codec.read(example.text, 1)
        places = deciding_words([word.lower() for word in text.tokens])
        [reading] = read_texts(model, [text], attended=True)
        subject = text_subject(model, text, task.codec.labels, reading, label)
        scores = scores_of(subject, METHODS, model.words.embedding.weight[UNKNOWN].detach())
        scored.append({name: values[0] for name, values in scores.items()})
        measured.append(_of_review(model, subject, scored[-1], places))
        sources.append(torch.tensor(text.ids))
        chances.append(sum(len(places[kind]) for kind in KINDS[:3]) / len(text.ids))
    hits, kinds, ranks, depths = zip(*measured, strict=True)
    by_kind, by_layer = _columns(kinds), _columns(depths)
    return {
        **_row(hits, chances),
        "kinds": {name: [fmean(part) for part in zip(*parts, strict=True)] for name, parts in by_kind.items()},
        "ranks": _packed(_columns(ranks)),
        "depths": {
            name: [pack(part, "shares") for part in zip(*parts, strict=True)] for name, parts in by_layer.items()
        },
        "faithful": faithfulness(model, sources, torch.tensor(labels), scored),
    }


def _of_review(model: Any, subject: Any, scores: Mapping[str, Tensor], places: Mapping[str, Sequence[int]]) -> Any:
    """Hits, hits by kind, correlations with blank-out, and correlations by layer."""
    with torch.no_grad(), look.record(model) as records:
        subject.features(subject.inputs[None])
    decides, erased = [place for kind in KINDS[:3] for place in places[kind]], scores[BLANKED].abs()
    layers = by_depth(model.layers_attended(records), subject.attended[0])
    return (
        {name: hit(values, decides) for name, values in scores.items()},
        {name: [hit(values, places[kind]) for kind in KINDS] for name, values in scores.items()},
        {name: correlation(values.abs(), erased) for name, values in scores.items() if name != BLANKED},
        {name: [correlation(values, erased) for values in layers[name]] for name in DEPTHS},
    )


def faithfulness(
    model: Any, sources: Sequence[Tensor], labels: Tensor, scored: Sequence[Mapping[str, Tensor]]
) -> dict[str, dict[str, float]]:
    """Return the mean faithfulness of scores over texts, by measure and name."""
    ids, lengths = pad_sequence(list(sources), batch_first=True), torch.tensor([len(source) for source in sources])
    padded = {name: pad_sequence([scores[name] for scores in scored], batch_first=True) for name in scored[0]}

    def probability(tokens: Tensor) -> Tensor:
        output: Tensor = model(Padded(tokens, lengths)).softmax(-1).gather(1, labels[:, None])[:, 0]
        return output

    first = padded.pop(ATTENTION)
    result = look.faithful(probability, ids, first, baseline=UNKNOWN, lengths=lengths, compared=padded)
    return {
        measure: {ATTENTION if name == "scores" else name: mean.mean for name, mean in means.items()}
        for measure, means in result._asdict().items()
    }


def _row(hits: Sequence[Mapping[str, float]], chances: Sequence[float]) -> dict[str, Any]:
    return {"examples": len(hits), "hits": _packed(_columns(hits)), "any": pack(chances, "shares")}


def _packed(columns: Mapping[str, Sequence[float]]) -> dict[str, str]:
    return {name: pack(numbers, "shares") for name, numbers in columns.items()}


def _columns(rows: Sequence[Mapping[str, _T]]) -> dict[str, list[_T]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


MEASURED = {"dates": dates, "reviews": reviews}
