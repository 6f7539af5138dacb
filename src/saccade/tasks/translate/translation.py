"""Translating with a trained model: texts in, their best translations out, with scores and what was attended to."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count as numbers
from itertools import islice
from typing import TYPE_CHECKING, Any

from torch import Tensor

from saccade.tasks.decoding import search
from saccade.tasks.translate.batches import Encoded, by_length, pad
from saccade.tasks.translate.tokenizer import BEGIN, END
from saccade.train.notes import say

if TYPE_CHECKING:
    from saccade.tasks.translate.task import Translate

__all__ = ["Source", "Translation", "alignments", "answers", "encode_sources", "mention", "tokens_of", "translate"]

_END = "⏎"
_NOTHING = "·"  # a special token in the middle, as untrained models write them
_AHEAD = 64  # lines that are read before the first is answered
_DECODE_TOKENS = 20_000  # source tokens, padding included, decoded at once
_WIDEST = 64  # characters a token: in a longer text the tokens that count are all in front


@dataclass(frozen=True)
class Source:
    """A text to translate.

    Args:
        text: as it was given.
        ids: its tokens, without an end, at most as many as the model takes.
        whole: whether they are all of its tokens.
    """

    text: str
    ids: list[int]
    whole: bool


@dataclass(frozen=True)
class Translation:
    """One translation of a text.

    Args:
        text: in one line.
        ids: its tokens, without an end.
        score: log-probability over length penalty.
        weights: where each of its tokens and its end looked, `(target, source)`, ends included; None if not asked for
            or the model does not attend.
    """

    text: str
    ids: list[int]
    score: float
    weights: Tensor | None = None


def encode_sources(task: "Translate", texts: Sequence[str]) -> list[Source]:
    """Return the tokens of texts, space around them taken off as in every corpus, cut to what the task takes."""
    parts = [text.strip()[: _WIDEST * task.most] for text in texts]
    found = zip(texts, parts, task.source.encode_batch(parts), strict=True)
    return [
        Source(text, ids[: task.most], len(ids) <= task.most and len(part) == len(text.strip()))
        for text, part, ids in found
    ]


def translate(
    task: "Translate", model: Any, sources: Sequence[Source], count: int = 1, *, attended: bool = False
) -> list[list[Translation]]:
    """Return the best translations of each source, decoded in batches of like length; of a blank one there is none.

    Args:
        task: the task.
        model: its model.
        sources: what to translate.
        count: how many translations of each are wanted; there may be fewer.
        attended: whether they shall have their weights.
    """
    size = max(count, task.settings.beam_size)
    results: list[list[Translation]] = [[] for _ in sources]
    written = [index for index, source in enumerate(sources) if source.text.strip()]
    sizes = [1 + len(sources[index].ids) for index in written]
    for places in by_length(sizes, max(1, _DECODE_TOKENS // size)):
        group = [written[place] for place in places]
        chosen = [sources[index].ids for index in group]
        found = _decode(task, model, chosen, size, count)
        for index, outputs in zip(group, _aligned(model, chosen, found) if attended else found, strict=True):
            results[index] = outputs
    return results


def answers(
    task: "Translate", model: Any, inputs: Iterable[str], count: int, ahead: int | None
) -> Iterator[list[Translation]]:
    """Translate lines as they come; a blank one has no translation, one that is too long that of its beginning."""
    for _, outputs in _answers(task, model, inputs, count, ahead, attended=False):
        yield outputs


def alignments(
    task: "Translate", model: Any, inputs: Iterable[str], count: int, ahead: int | None
) -> Iterator[dict[str, Any]]:
    """Translate lines as they come and say what every translation attended to, as JSON has it."""
    for source, outputs in _answers(task, model, inputs, count, ahead, attended=True):
        described = [_described(task, source, output) for output in outputs]
        tokens = tokens_of(task, source, outputs[0])[0] if outputs else []
        yield {"source": source.text, "source_tokens": tokens, "translations": described}


def tokens_of(task: "Translate", source: Source, output: Translation) -> tuple[list[str], list[str]]:
    """Return the texts of the tokens of a source and of one of its translations, and a mark for the end of each."""
    sources = task.source.pieces(source.text.strip()[: _WIDEST * task.most])[: len(source.ids)]
    targets = [task.target.piece(number) or _NOTHING for number in output.ids]
    if targets:  # pieces of words begin with their space, but the first of a text shows none
        targets[0] = targets[0].removeprefix(" ") or " "
    return [*sources, _END], [*targets, _END]


def _described(task: "Translate", source: Source, output: Translation) -> dict[str, Any]:
    rows = None
    if output.weights is not None:
        rows = [[round(weight, 6) for weight in row] for row in output.weights.tolist()]
    tokens = tokens_of(task, source, output)[1]
    return {"text": output.text, "score": round(output.score, 6), "tokens": tokens, "weights": rows}


def _answers(
    task: "Translate", model: Any, inputs: Iterable[str], count: int, ahead: int | None, *, attended: bool
) -> Iterator[tuple[Source, list[Translation]]]:
    """Each line with its translations, in order; no more of them are in memory than are read ahead."""
    remaining, line = iter(inputs), numbers(1)
    while texts := list(islice(remaining, _AHEAD if ahead is None else ahead)):
        sources = encode_sources(task, texts)
        for number, source in zip(islice(line, len(texts)), sources, strict=True):
            mention(task, f"line {number}", source)
        yield from zip(sources, translate(task, model, sources, count, attended=attended), strict=True)


def mention(task: "Translate", name: str, source: Source) -> None:
    """Say so where a source is too long."""
    if not source.whole:
        most = f"{task.most} tokens (of training pairs at most {task.settings.max_length} were taken)"
        say(f"{name}: longer than {most}; what follows them is not translated")


def _decode(
    task: "Translate", model: Any, sources: Sequence[list[int]], size: int, count: int
) -> list[list[Translation]]:
    batch = pad([Encoded(source, []) for source in sources]).to(next(model.parameters()).device)
    state, penalty = model.encode(batch.source, batch.lengths), task.settings.length_penalty
    limits = task.limits(batch.lengths)
    options: dict[str, Any] = {"beam_size": size, "length_penalty": penalty, "count": count}
    found = search(model, state, limits, begin=BEGIN, end=END, **options)

    def made(ids: list[int], score: float) -> Translation:
        return Translation(_one_line(task.target.decode(ids)), ids, score)

    rows = zip(found.lists(), found.scores.tolist(), strict=True)
    return [list(map(made, outputs, scores)) for outputs, scores in rows]


def _one_line(text: str) -> str:
    """A text whose every line break is a space: a line is answered by a line."""
    return text.replace("\r\n", " ").replace("\n", " ").replace("\r", " ")


def _aligned(
    model: Any, sources: Sequence[list[int]], found: Sequence[Sequence[Translation]]
) -> list[list[Translation]]:
    """The same translations with what the model attends to as it writes them: all of them in one batch, given."""
    from saccade import look

    pairs = [Encoded(ids, output.ids) for ids, outputs in zip(sources, found, strict=True) for output in outputs]
    if not pairs:
        return [list(outputs) for outputs in found]
    batch = pad(pairs).to(next(model.parameters()).device)
    with look.record(model, detach=True) as records:
        model(batch.source, batch.lengths, batch.target[:, :-1])
    recorded = model.alignment(records)
    weights = iter([None] * len(pairs) if recorded is None else recorded.cpu())
    return [
        [_cut(output, next(weights), len(ids)) for output in outputs]
        for ids, outputs in zip(sources, found, strict=True)
    ]


def _cut(output: Translation, weights: Tensor | None, width: int) -> Translation:
    """A translation with its part of padded weights; the ends have theirs."""
    own = None if weights is None else weights[: len(output.ids) + 1, : width + 1]
    return Translation(output.text, output.ids, output.score, own)
