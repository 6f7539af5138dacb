"""Measures of attributions on data with known deciding inputs."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, TypeVar

import torch
from scipy import stats
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from saccade import look
from saccade.models.padded import Padded
from saccade.tasks.classify_text.answer import read_texts
from saccade.tasks.classify_text.answer import subject as text_subject
from saccade.tasks.explaining import Subject
from saccade.tasks.generate.generate import Output
from saccade.tasks.image.scenes.grammar import read
from saccade.tasks.image.scenes.scene import Scene
from saccade.tasks.looking import By
from saccade.tasks.task import Job
from saccade.tasks.text.special import UNKNOWN
from studies.frame.attributions import (
    ATTENTION,
    BLANKED,
    FLOW,
    ROLLOUT,
    blanked,
    blanked_cells,
    by_depth,
    of_some,
    scores_of,
)
from studies.frame.deciding import deciding, deciding_words
from studies.frame.seeds import pack

_T = TypeVar("_T")
METHODS: tuple[By, ...] = ("attention", "rollout", "flow", "gradient", "integrated-gradients")
OF_CELLS: tuple[By, ...] = ("attention", "grad-cam", "integrated-gradients")
DEPTHS = (ATTENTION, ROLLOUT, FLOW)
KINDS = ("opinion", "negation", "conjunction", "other opinion")
"""Kinds of words of a review; all but the last decide."""


def hit(scores: Tensor, positions: Sequence[int] | range) -> float:
    """Return the share of the largest scores `(length,)` at some positions.

    It is 1 or 0 without ties.

    >>> hit(torch.tensor([0.2, 0.9, 0.9]), [1]), hit(torch.tensor([0.2, -0.9]), [0])
    (0.5, 1.0)
    """
    largest = (scores >= scores.max() - 1e-6 * scores.abs().max()).nonzero()[:, 0].tolist()
    return fmean(position in positions for position in largest)


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
        subject = of_some(
            _written(task, model, pair, pair.target), [position for position, part in enumerate(parts) if part]
        )
        scores = scores_of(subject, METHODS)
        scores[BLANKED] = blanked(subject, model.source_embedding.weight[UNKNOWN].detach())
        positions, length = [part for part in parts if part], len(pair.source)
        hits.append(
            {name: fmean(map(hit, values[:, :length], positions)) for name, values in scores.items()},
        )
        chances.append(fmean(len(part) / length for part in positions))
    return _row(hits, chances)


def scenes(task: Job, model: Any, count: int) -> dict[str, Any]:
    """Return how often scores of a colour's or a shape's word lie on its thing."""
    hits, chances, centre = list[dict[str, float]](), list[float](), list[float]()
    for index in range(count):
        example = task.data.example("test", index)
        boxes = _boxes(example.caption, example.scene)
        subject = of_some(_written(task, model, example, example.caption), list(boxes))
        shape = subject.cells
        assert shape is not None, "the model has cells in rows and columns"
        maps = scores_of(subject, OF_CELLS)
        scores = {name: F.adaptive_avg_pool2d(values, shape).flatten(1) for name, values in maps.items()}
        scores[BLANKED] = blanked_cells(subject)
        positions = [_cells(box, shape, tuple(subject.inputs.shape[1:])) for box in boxes.values()]
        hits.append({name: fmean(map(hit, values, positions)) for name, values in scores.items()})
        chances.append(fmean(len(position) / (shape[0] * shape[1]) for position in positions))
        centre.append(fmean(fmean(cell in position for cell in _middle(shape)) for position in positions))
    return {**_row(hits, chances), "centre": pack(centre, "shares")}


def _written(task: Job, model: Any, example: Any, text: str) -> Subject:
    """Return an example with its true text as the output."""
    [sample], [ids] = task.codec.encode([example], "test"), task.codec.target.encode_batch([text])
    predictor: Any = task.predictor
    with torch.no_grad():
        [[output]] = predictor.attend(model, sample, [Output(text, ids, 0.0)])
    subject: Subject = predictor.explained(model, sample, output)
    return subject


def _boxes(text: str, scene: Scene) -> dict[int, Sequence[float]]:
    """Return the box of each word for a colour or a shape, by the word's number."""
    reading = read(text, scene)
    mentions = [mention for mention in (reading.mentions if reading else ()) if mention.thing >= 0]
    return {m.first + word: scene.things[m.thing].box for m in mentions for word in (1, 2)}


def _cells(box: Sequence[float], shape: tuple[int, int], size: Sequence[int]) -> list[int]:
    """Return the cells with their middle in a box."""
    left, top, right, bottom = box
    rows, columns = (
        [low <= (position + 0.5) * side / count < high for position in range(count)]
        for low, high, side, count in ((top, bottom, size[0], shape[0]), (left, right, size[1], shape[1]))
    )
    return [
        row * shape[1] + column
        for row, inside in enumerate(rows)
        if inside
        for column in range(shape[1])
        if columns[column]
    ]


def _middle(shape: tuple[int, int]) -> list[int]:
    """Return the cells around the middle of an image."""
    rows, columns = (range((count - 1) // 2, count // 2 + 1) for count in shape)
    return [row * shape[1] + column for row in rows for column in columns]


def reviews(task: Job, model: Any, count: int) -> dict[str, Any]:
    """Return hits of deciding words, correlations with blank-out, and faithfulness."""
    examples = [task.data.example("test", index) for index in range(count)]
    labels = [task.codec.labels.index(example.label) for example in examples]
    measured, scored, sources, chances = list[Any](), list[dict[str, Tensor]](), list[Tensor](), list[float]()
    for example, label in zip(examples, labels, strict=True):
        text = task.codec.read(example.text, 1)
        positions = deciding_words([word.lower() for word in text.tokens])
        [reading] = read_texts(model, [text], attended=True)
        subject = text_subject(model, text, task.codec.labels, reading, label)
        scores = scores_of(subject, METHODS)
        scores[BLANKED] = blanked(subject, model.words.embedding.weight[UNKNOWN].detach())
        scored.append({name: values[0] for name, values in scores.items()})
        measured.append(_of_review(model, subject, scored[-1], positions))
        sources.append(torch.tensor(text.ids))
        chances.append(sum(len(positions[kind]) for kind in KINDS[:3]) / len(text.ids))
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


def _of_review(model: Any, subject: Any, scores: Mapping[str, Tensor], positions: Mapping[str, Sequence[int]]) -> Any:
    """Return hits, hits by kind, correlations with blank-out, and those by layer."""
    with torch.no_grad(), look.record(model) as records:
        subject.features(subject.inputs[None])
    decides, erased = [position for kind in KINDS[:3] for position in positions[kind]], scores[BLANKED].abs()
    layers = by_depth(model.layers_attended(records), subject.attended[0])
    return (
        {name: hit(values, decides) for name, values in scores.items()},
        {name: [hit(values, positions[kind]) for kind in KINDS] for name, values in scores.items()},
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


MEASURED = {"dates": dates, "reviews": reviews, "scenes": scenes}
