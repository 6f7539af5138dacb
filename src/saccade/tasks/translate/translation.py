"""Translations of a text, as lines, JSON and pictures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from saccade import look
from saccade.look._files import file_name
from saccade.tasks.experts import Taken, draw_taken, taken, taken_json
from saccade.tasks.generate.attention import END_MARK, NOTHING
from saccade.tasks.generate.generate import Output, Written
from saccade.tasks.looking import MOVED, LookRequest, Moved
from saccade.tasks.text.special import UNKNOWN
from saccade.tasks.text.tokenizer import one_line
from saccade.tasks.translate.codec import Encoded, Pairs, Source, pad
from saccade.tasks.translate.gradients import subject
from saccade.train.task import Form

__all__ = ["Translation", "described", "replaced", "tokens_of", "without_space"]


@dataclass(frozen=True, repr=False)
class Translation(Written):
    """Translations of a text.

    Args:
        source: the text.
        outputs: its best translations, or samples; none of a blank text.
        count: number of translations.
        source_tokens: its tokens as texts, and a mark for the end. Empty in lines.
        moved: scores of the source tokens for each token of the first output, in pictures of other methods than
            attention.
        experts: of the tokens of the source and of the first output, in JSON and pictures.
    """

    source: Source
    outputs: Sequence[Output]
    count: int
    source_tokens: tuple[str, ...] = ()
    moved: Moved | None = None
    experts: tuple[Sequence[Taken], Sequence[Taken]] = ((), ())

    def to_json(self) -> dict[str, Any]:
        """Return tokens, translations and their attention weights."""
        translations = [output.to_json() for output in self.outputs]
        content = {"source": self.source.text, "source_tokens": list(self.source_tokens), "translations": translations}
        if not any(self.experts):
            return content
        read, written = self.experts
        layers = {**taken_json(read, self.source_tokens), **taken_json(written, self.outputs[0].tokens)}
        return {**content, "experts": layers}

    def draw(self, folder: Path, *, json: bool = False) -> Iterator[Path]:
        """Draw the attention weights of the best translation, or its gradients."""
        for best in self.outputs[:1]:
            path, sides = folder / file_name(self.source.text), (self.source_tokens, best.tokens)
            if self.moved is not None:
                values, title, scale, signed = self.moved
                options: dict[str, Any] = {"title": title, "scale": scale, "signed": signed, "verb": MOVED}
                yield from look.alignment(values, *sides, path, json=json, **options)
            elif best.weights is not None:
                yield from look.alignment(best.weights, *sides, path, json=json)
            for experts, tokens, side in zip(self.experts, sides, ("Source", "Translation"), strict=True):
                yield from draw_taken(experts, tokens, path, side, json=json)


def replaced(output: Output, source: Source, codec: Pairs) -> Output:
    """Return an output with source tokens in place of unknown ones.

    Each is the source token with the largest weight.
    """
    if UNKNOWN not in output.ids or output.weights is None:
        return output
    sources = source.pieces(codec.source)
    best = output.weights[:, : len(sources)].argmax(-1).tolist()  # the end is no text
    pieces = [
        sources[index] if number == UNKNOWN else codec.target.piece(number)
        for number, index in zip(output.ids, best, strict=False)
    ]
    tokens = (*(piece or NOTHING for piece in pieces), END_MARK)
    return replace(output, text=one_line(codec.target.joint.join(pieces)), tokens=tokens)


def described(model: Any, answer: Translation, codec: Pairs, form: Form, request: LookRequest) -> Translation:
    """Return an answer with tokens and experts.

    A picture of a model without attention has gradients.
    """
    outputs = [replace(output, tokens=without_space(*output.tokens)) for output in answer.outputs]
    tokens, moved, pair = tokens_of(answer.source, codec), None, Encoded(answer.source.ids, outputs[0].ids)
    by = request.by or ("gradient" if outputs[0].weights is None else "attention")
    if form == "pictures" and by != "attention":
        of_text = subject(model, *pair, (tokens, outputs[0].tokens), outputs[0].weights)
        scores = of_text.scores(by, signed=request.signed)
        moved = Moved.by(by, scores.values, scores.method, signed=request.signed)
        if request.by is None:
            moved = moved._replace(title=f"No attention: {scores.method}, shares of each row")
    batch, states = pad([pair]).to(next(model.parameters()).device), list[Any]()
    read = taken(model, lambda: states.append(model.encode(batch.source)))
    experts = read, taken(model, lambda: model.decode(batch.target[:, :-1], states[0]))
    return replace(answer, outputs=outputs, source_tokens=tokens, moved=moved, experts=experts)


def tokens_of(source: Source, codec: Pairs) -> tuple[str, ...]:
    """Return the tokens of a source as texts, and a mark for the end."""
    return (*source.pieces(codec.source), END_MARK)


def without_space(first: str, *rest: str) -> tuple[str, ...]:
    """Return tokens of words without the space before the first."""
    return (first.removeprefix(" ") or " ", *rest) if rest else (first,)
