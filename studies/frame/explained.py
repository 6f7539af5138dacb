"""Attributions measured on built-in data whose deciding inputs are known."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, TypeVar

import torch
from scipy import stats
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from saccade import look
from saccade.models.padded import Padded
from saccade.tasks.image.influence import cells_of
from saccade.tasks.image.pointing import pointed
from saccade.tasks.task import Job
from saccade.tasks.text.special import UNKNOWN
from saccade.tasks.translate.codec import encode
from studies.frame.attributions import ATTENTION, BLANKED, FLOW, ROLLOUT, of_image, of_pair, of_text
from studies.frame.deciding import deciding, deciding_words
from studies.frame.seeds import pack

_T = TypeVar("_T")
DEPTHS = (ATTENTION, ROLLOUT, FLOW)
KINDS = ("opinion", "negation", "conjunction", "other opinion")
"""Kinds of words of a review; all but the last decide."""


def hit(scores: Tensor, deciding: Sequence[int]) -> float:
    """Return the share of the largest scores `(length,)` on deciding inputs, 1 or 0 without ties."""
    largest = (scores >= scores.max() - 1e-6 * scores.abs().max()).nonzero()[:, 0].tolist()
    return fmean(place in deciding for place in largest)


def correlation(scores: Tensor, others: Tensor) -> float:
    """Return Spearman's rank correlation of scores, 0 if all of one side are equal."""
    if len(scores) < 2 or bool((scores == scores[0]).all()) or bool((others == others[0]).all()):
        return 0.0
    return float(stats.spearmanr(scores.numpy(), others.numpy()).statistic)


def _packed(columns: Mapping[str, Sequence[float]]) -> dict[str, str]:
    return {name: pack(numbers, "shares") for name, numbers in columns.items()}


def _columns(rows: Sequence[Mapping[str, _T]]) -> dict[str, list[_T]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def dates(task: Job, model: Any, count: int) -> dict[str, Any]:
    """Return how often scores of a date's digits find the part that decides them."""
    hits, even = [], []
    for index in range(count):
        pair = task.data.example("test", index)
        [ids], parts = encode([pair], task.codec.source, task.codec.target), deciding(pair)
        outputs = [output for output, part in enumerate(parts) if part]
        scores = of_pair(model, ids, outputs)
        hits.append(
            {
                name: fmean(hit(row, parts[output]) for row, output in zip(values, outputs, strict=True))
                for name, values in scores.items()
            }
        )
        even.append(fmean(len(parts[output]) / len(pair.source) for output in outputs))
    return {"examples": count, "hits": _packed(_columns(hits)), "any": pack(even, "shares")}


def reviews(task: Job, model: Any, count: int) -> dict[str, Any]:
    """Return hits of deciding words, correlations with blank-out, and faithfulness."""
    hits, ranks, even = list[dict[str, float]](), list[dict[str, float]](), list[float]()
    kinds, depths = list[dict[str, list[float]]](), list[dict[str, list[float]]]()
    sources, scored = list[Tensor](), list[dict[str, Tensor]]()
    examples = [task.data.example("test", index) for index in range(count)]
    labels = [sample.labels[0] for sample in task.codec.encode(examples, "test")]
    for example, label in zip(examples, labels, strict=True):
        words = [word.lower() for word in task.codec.words.pieces(example.text)]
        source = Padded(torch.tensor([task.codec.words.encode(example.text)]), torch.tensor([len(words)]))
        known = deciding_words(words)
        decides = [place for kind in KINDS[:3] for place in known[kind]]
        layers = dict[str, list[Tensor]]()
        scores = of_text(model, source, label, layers)
        erased = scores[BLANKED].abs()
        hits.append({name: hit(values, decides) for name, values in scores.items()})
        kinds.append({name: [hit(values, known[kind]) for kind in KINDS] for name, values in scores.items()})
        ranks.append({name: correlation(values.abs(), erased) for name, values in scores.items() if name != BLANKED})
        depths.append({name: [correlation(values, erased) for values in layers[name]] for name in DEPTHS})
        even.append(len(decides) / len(words))
        sources.append(source.values[0])
        scored.append(scores)
    return {
        "examples": count,
        "hits": _packed(_columns(hits)),
        "any": pack(even, "shares"),
        "kinds": {name: [fmean(part) for part in zip(*parts, strict=True)] for name, parts in _columns(kinds).items()},
        "ranks": _packed(_columns(ranks)),
        "depths": {
            name: [pack(part, "shares") for part in zip(*parts, strict=True)]
            for name, parts in _columns(depths).items()
        },
        "faithful": _faithful(model, sources, torch.tensor(labels), scored),
    }


def _faithful(model: Any, sources: Sequence[Tensor], labels: Tensor, scored: Any) -> dict[str, dict[str, float]]:
    """Faithfulness of all scores, the mean over examples by measure and name."""
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


def scenes(task: Job, model: Any, count: int) -> dict[str, Any]:
    """Return how often scores of cells lie on a thing that the answer depends on."""
    hits, cells, centre = [], [], []
    for batch, boxes, true in _scenes(task, count):
        shape, size = cells_of(model, batch.visual) or (0, 0), tuple(batch.visual.values.shape[2:])
        scores = of_image(model, batch.visual.values, batch.question, true, shape)
        maps = {name: values.unflatten(0, shape) for name, values in scores.items()}
        inside = [
            place
            for place in range(shape[0] * shape[1])
            if pointed(torch.eye(shape[0] * shape[1])[place].unflatten(0, shape), boxes, size).hit
        ]
        hits.append({name: hit(values.flatten(), inside) for name, values in maps.items()})
        cells.append(len(inside) / (shape[0] * shape[1]))
        middle = [row * shape[1] + column for row in _middle(shape[0]) for column in _middle(shape[1])]
        centre.append(fmean(place in inside for place in middle))
    return {
        "examples": len(hits),
        "hits": _packed(_columns(hits)),
        "any": pack(cells, "shares"),
        "centre": pack(centre, "shares"),
    }


def _middle(count: int) -> range:
    """Return the one or two middle places of a row."""
    return range((count - 1) // 2, count // 2 + 1)


def _scenes(task: Job, count: int) -> Iterator[tuple[Any, Any, int]]:
    """Questions of the test split about some things and not others, with boxes and true answers."""
    codec, numbers = task.codec, task.codec.output.numbers
    for index in range(task.data.size("test") or 0):
        example = task.data.example("test", index)
        if example.boxes and example.others and example.posed.answers[0] in numbers and count:
            count -= 1
            yield codec.collate(codec.encode([example], "test")), example.boxes, numbers[example.posed.answers[0]]


MEASURED = {"dates": dates, "reviews": reviews, "scenes": scenes}
