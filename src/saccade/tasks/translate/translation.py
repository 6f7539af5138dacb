"""Translating with a trained model: sources in, their best translations out, with scores and what was attended to."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade import look
from saccade.look import shares
from saccade.look._files import file_name
from saccade.tasks.batches import in_batches
from saccade.tasks.experts import Taken, draw_taken, taken, taken_json
from saccade.tasks.generate.attention import END_MARK, NOTHING, ranked_by_coverage, weights_of
from saccade.tasks.generate.generate import Output, Search, generate, outputs_of
from saccade.tasks.generate.written import Written
from saccade.tasks.looking import JACOBIAN, MOVED, By
from saccade.tasks.text.special import UNKNOWN
from saccade.tasks.text.tokenizer import one_line
from saccade.tasks.translate.batches import Encoded, pad
from saccade.tasks.translate.gradients import influence, jacobian
from saccade.tasks.translate.options import EvalRequest
from saccade.tasks.translate.source import Source
from saccade.tasks.translate.vocabulary import Vocabulary
from saccade.train.task import Form

__all__ = ["Translation", "attends", "translate"]

_DECODE_TOKENS = 20_000  # source tokens, padding included, decoded at once
_READ_TOKENS = 4000  # of pairs, padding included, read at once: all logits of their outputs are in memory
_NO_ATTENTION = "No attention: shares of each token's gradient"


class Experts(NamedTuple):
    """Which experts took each token.

    Args:
        source: of the source, a row each, its end included.
        target: of the position at which each token of the output, its end included, was written.
    """

    source: Sequence[Taken] = ()
    target: Sequence[Taken] = ()


_NO_EXPERTS = Experts()


@dataclass(frozen=True, repr=False)
class Translation(Written):
    """The translations of one text.

    Args:
        source: the text.
        outputs: its best translations, or draws; none of a blank text.
        count: how many were asked for.
        source_tokens: the text of each of its tokens and a mark for the end; empty if not asked for.
        influence: how much each source token mattered to each token of the first output, and what that is, where a
            picture is wanted of it or of a model that does not attend.
        experts: which experts took each token of the source and of the first output, of a model that has some, where
            pictures or JSON are wanted.
    """

    source: Source
    outputs: Sequence[Output]
    count: int
    source_tokens: tuple[str, ...] = ()
    influence: tuple[Tensor, str] | None = None
    experts: Experts = _NO_EXPERTS

    def to_json(self) -> dict[str, Any]:
        """Return tokens, translations and what each of their tokens attended to."""
        translations = [output.to_json() for output in self.outputs]
        told = {"source": self.source.text, "source_tokens": list(self.source_tokens), "translations": translations}
        if not self.outputs or not (self.experts.source or self.experts.target):
            return told
        read = taken_json(self.experts.source, self.source_tokens)
        return {**told, "experts": {**read, **taken_json(self.experts.target, self.outputs[0].tokens)}}

    def draw(self, folder: Path, *, json: bool = False) -> Iterator[Path]:
        """Draw what each token of the best translation attended to, or what mattered to it."""
        for best in self.outputs[:1]:
            weights, title = self.influence or (best.weights, None)
            assert weights is not None
            path = folder / file_name(self.source.text)
            verb = MOVED if self.influence else "attends to"
            sides, scale = (self.source_tokens, best.tokens), "share" if self.influence else "weight"
            yield from look.alignment(weights, *sides, path, title=title, verb=verb, scale=scale, json=json)
            yield from draw_taken(self.experts.source, self.source_tokens, path, "Source", json=json)
            yield from draw_taken(self.experts.target, best.tokens, path, "Translation", json=json)


def translate(
    model: Any,
    sources: Sequence[Source],
    vocabulary: Vocabulary,
    how: Search,
    request: EvalRequest,
    limits: Callable[[Tensor], Tensor],
    form: Form = "lines",
    by: By | None = None,
) -> list[Translation]:
    """Return the best translations of each source, decoded in batches of like length; of a blank one there is none.

    Args:
        model: a translator, in evaluation mode.
        sources: what to translate.
        vocabulary: of the run.
        how: outputs are found.
        request: what is made of what they attend to.
        limits: from lengths `(batch,)` to how many tokens an output may have.
        form: what the answers will be written as.
        by: what a picture is of.
    """
    written = [source for source in sources if not source.blank]

    def decode(places: Sequence[int]) -> list[list[Output]]:
        chosen = [written[place] for place in places]
        batch = pad([Encoded(source.ids, []) for source in chosen]).source.to(next(model.parameters()).device)
        names = [(source.number, source.text) for source in chosen]
        found = outputs_of(generate(model, model.encode(batch), limits(batch.lengths), how, names), vocabulary.target)
        if request.attends or form != "lines":
            found = _read(model, chosen, found, vocabulary, request, how.count)
        return found

    sizes = [1 + len(source.ids) for source in written]
    found = iter(in_batches(sizes, max(1, _DECODE_TOKENS // how.width), decode))
    answers = [Translation(source, [] if source.blank else next(found), how.count) for source in sources]
    return answers if form == "lines" else [_told(model, answer, vocabulary, form, by) for answer in answers]


def attends(model: Any) -> bool:
    """Whether a model attends to what it translates, found out on a source of its end alone."""
    with torch.inference_mode():
        return _weights(model, [Encoded([], [])]) != [None]


def _read(
    model: Any,
    sources: Sequence[Source],
    found: Sequence[Sequence[Output]],
    vocabulary: Vocabulary,
    request: EvalRequest,
    count: int,
) -> list[list[Output]]:
    """The same outputs with what the model attends to as it writes them, their tokens, and what is made of that."""
    pairs = [
        Encoded(source.ids, output.ids) for source, outputs in zip(sources, found, strict=True) for output in outputs
    ]
    weights = iter(_weights(model, pairs))
    results = []
    for source, outputs in zip(sources, found, strict=True):
        own = [replace(output, weights=next(weights)) for output in outputs]
        if beta := request.coverage_penalty:
            own = ranked_by_coverage(own, beta, count)
        if request.replace_unknown:
            own = [_replaced(output, source, vocabulary) for output in own]
        results.append(own)
    return results


def _weights(model: Any, pairs: Sequence[Encoded]) -> list[Tensor | None]:
    """Where each token of each target and its end look, `(target, source)`, ends included; None without attention."""
    device = next(model.parameters()).device

    def read(places: Sequence[int]) -> list[Tensor | None]:
        batch = pad([pairs[place] for place in places]).to(device)
        recorded = weights_of(model, model.encode(batch.source), batch.target[:, :-1])
        if recorded is None:
            return [None] * len(places)
        return [_cut(weights, pairs[place]) for place, weights in zip(places, recorded, strict=True)]

    return in_batches([pair.size for pair in pairs], _READ_TOKENS, read)


def _cut(weights: Tensor, pair: Encoded) -> Tensor:
    rest = max(0, len(pair.source) + 1 - weights.shape[1])  # what a model never looks at
    return F.pad(weights, (0, rest))[: len(pair.target) + 1, : len(pair.source) + 1]


def _replaced(output: Output, source: Source, vocabulary: Vocabulary) -> Output:
    """The output with what an unknown token looked at in the source in its place."""
    if UNKNOWN not in output.ids or output.weights is None:
        return output
    sources = source.pieces(vocabulary.source)
    most = output.weights[:, : len(sources)].argmax(-1).tolist()  # the end is no text to be put in
    pieces = [
        sources[place] if number == UNKNOWN else vocabulary.target.piece(number)
        for number, place in zip(output.ids, most, strict=False)
    ]
    return replace(output, text=one_line(vocabulary.target.joint.join(pieces)), tokens=tuple(pieces))


def _told(model: Any, answer: Translation, vocabulary: Vocabulary, form: Form, by: By | None) -> Translation:
    """The answer with the texts of all tokens, and for a picture what mattered where the model does not attend."""
    if not answer.outputs:
        return answer
    outputs = [replace(output, tokens=_tokens(output, vocabulary)) for output in answer.outputs]
    found, pair = None, (answer.source.ids, outputs[0].ids)
    if form == "pictures" and by == "jacobian":
        found = shares(jacobian(model, *pair)), JACOBIAN
    elif form == "pictures" and outputs[0].weights is None:
        found = influence(model, *pair), _NO_ATTENTION
    tokens = (*answer.source.pieces(vocabulary.source), END_MARK)
    experts = _experts(model, Encoded(*pair))
    return replace(answer, outputs=outputs, source_tokens=tokens, influence=found, experts=experts)


def _experts(model: Any, pair: Encoded) -> Experts:
    """Which experts took the tokens of a source, and what they made the output's tokens of."""
    batch, states = pad([pair]).to(next(model.parameters()).device), list[Any]()
    read = taken(model, lambda: states.append(model.encode(batch.source)))
    return Experts(read, taken(model, lambda: model.decode(batch.target[:, :-1], states[0])))


def _tokens(output: Output, vocabulary: Vocabulary) -> tuple[str, ...]:
    """The text of each token as it is shown, and a mark for the end."""
    pieces = output.tokens or [vocabulary.target.piece(number) for number in output.ids]
    shown = [piece or NOTHING for piece in pieces]
    if shown:  # pieces of words begin with their space, but the first of a text shows none
        shown[0] = shown[0].removeprefix(" ") or " "
    return (*shown, END_MARK)
