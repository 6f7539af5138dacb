"""Translating with a trained model: texts in, their best translations out, with scores and what was attended to."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from torch import Tensor

from saccade.tasks.batches import by_length
from saccade.tasks.generate.generate import Search, Tokens, pursued, write
from saccade.tasks.text.tokenizer import BEGIN, END, UNKNOWN, one_line
from saccade.tasks.translate.attention import coverage, weights_of
from saccade.tasks.translate.batches import Encoded, pad
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
        number: of the line, from 1 on: of two lines that are alike, each is sampled for itself.
    """

    text: str
    ids: list[int]
    whole: bool
    number: int = 1


@dataclass(frozen=True)
class Translation:
    """One translation of a text.

    Args:
        text: in one line.
        ids: its tokens, without an end.
        score: what it is ranked by: its log-probability over the length penalty, and coverage where that counts; of a
            sample its log-probability.
        weights: where each of its tokens and its end looked, `(target, source)`, ends included; None if not asked for
            or the model does not attend.
    """

    text: str
    ids: list[int]
    score: float
    weights: Tensor | None = None


def encode_sources(task: "Translate", texts: Sequence[str], first: int = 1) -> list[Source]:
    """Return the tokens of texts, space around them taken off as in every corpus, cut to what the task takes.

    Args:
        task: the task.
        texts: the texts.
        first: number of the first line.
    """
    parts = [text.strip()[: _WIDEST * task.most] for text in texts]
    found = enumerate(zip(texts, parts, task.source.encode_batch(parts), strict=True), first)
    return [
        Source(text, ids[: task.most], len(ids) <= task.most and len(part) == len(text.strip()), number)
        for number, (text, part, ids) in found
    ]


def translate(
    task: "Translate", model: Any, sources: Sequence[Source], count: int = 1, *, attended: bool = False
) -> list[list[Translation]]:
    """Return the best translations of each source, decoded in batches of like length; of a blank one there is none.

    Where the task's `decoding` says so, samples instead of the best, in the order in which they were drawn.

    Args:
        task: the task.
        model: its model.
        sources: what to translate.
        count: how many translations of each are wanted; there may be fewer.
        attended: whether they shall have their weights.
    """
    results: list[list[Translation]] = [[] for _ in sources]
    written = [index for index, source in enumerate(sources) if source.text.strip()]
    sizes = [1 + len(sources[index].ids) for index in written]
    for places in by_length(sizes, max(1, _DECODE_TOKENS // pursued(task.decoding, _asked(task, count)))):
        group = [written[place] for place in places]
        chosen = [sources[index] for index in group]
        found = _decode(task, model, chosen, count)
        if attended or task.decoding.attends:
            found = _read(task, model, chosen, found, count, attended=attended)
        for index, outputs in zip(group, found, strict=True):
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
    sources, targets = _source_pieces(task, source), [piece or _NOTHING for piece in _pieces(task, source, output)]
    if targets:  # pieces of words begin with their space, but the first of a text shows none
        targets[0] = targets[0].removeprefix(" ") or " "
    return [*sources, _END], [*targets, _END]


def _source_pieces(task: "Translate", source: Source) -> list[str]:
    return task.source.pieces(source.text.strip()[: _WIDEST * task.most])[: len(source.ids)]


def _pieces(task: "Translate", source: Source, output: Translation) -> list[str]:
    """The texts of an output's tokens; of an unknown one, if that is asked for, what it looked at in the source."""
    pieces = [task.target.piece(number) for number in output.ids]
    if not task.decoding.replace_unknown or UNKNOWN not in output.ids or output.weights is None:
        return pieces
    sources = _source_pieces(task, source)
    most = output.weights[:, : len(sources)].argmax(-1).tolist()  # the end is no text to be put in
    return [
        sources[place] if number == UNKNOWN else piece
        for number, piece, place in zip(output.ids, pieces, most, strict=False)
    ]


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
    remaining, line = iter(inputs), 1
    while texts := list(islice(remaining, _AHEAD if ahead is None else ahead)):
        sources = encode_sources(task, texts, line)
        line += len(texts)
        for source in sources:
            mention(task, f"line {source.number}", source)
        yield from zip(sources, translate(task, model, sources, count, attended=attended), strict=True)


def mention(task: "Translate", name: str, source: Source) -> None:
    """Say so where a source is too long."""
    if not source.whole:
        most = f"{task.most} tokens (of training pairs at most {task.settings.max_length} were taken)"
        say(f"{name}: longer than {most}; what follows them is not translated")


def _asked(task: "Translate", count: int) -> Search:
    settings = task.settings
    ranked = bool(task.decoding.coverage_penalty)  # what has read more may come to be the best
    return Search(settings.beam_size, settings.length_penalty, count, settings.seed, ranked)


def _decode(task: "Translate", model: Any, sources: Sequence[Source], count: int) -> list[list[Translation]]:
    batch = pad([Encoded(source.ids, []) for source in sources]).to(next(model.parameters()).device)
    state, names = model.encode(batch.source, batch.lengths), [(source.number, source.text) for source in sources]
    tokens, limits = Tokens(BEGIN, END, task.prefix), task.limits(batch.lengths)
    found = write(model, state, limits, tokens, task.decoding, _asked(task, count), names)

    def made(ids: list[int], score: float) -> Translation:
        return Translation(one_line(task.target.decode(ids)), ids, score)

    rows = zip(found.lists(), found.scores.tolist(), strict=True)
    return [list(map(made, outputs, scores)) for outputs, scores in rows]


def _read(
    task: "Translate",
    model: Any,
    sources: Sequence[Source],
    found: Sequence[Sequence[Translation]],
    count: int,
    *,
    attended: bool,
) -> list[list[Translation]]:
    """The same translations with what the model attends to as it writes them, and what is made of that."""
    pairs = [
        Encoded(source.ids, output.ids) for source, outputs in zip(sources, found, strict=True) for output in outputs
    ]
    weights = iter(weights_of(model, pairs))
    results = []
    for source, outputs in zip(sources, found, strict=True):
        own = [replace(output, weights=next(weights)) for output in outputs]
        if beta := task.decoding.coverage_penalty:
            own = [replace(output, score=output.score + beta * _coverage(output)) for output in own]
            own = sorted(own, key=lambda output: -output.score)[:count]
        if task.decoding.replace_unknown:
            own = [replace(output, text=one_line("".join(_pieces(task, source, output)))) for output in own]
        results.append(own if attended else [replace(output, weights=None) for output in own])
    return results


def _coverage(output: Translation) -> float:
    assert output.weights is not None  # `Translate.asked` refuses models that do not attend
    return coverage(output.weights)
