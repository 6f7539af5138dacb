"""Transcribing with a trained model: frames in, their best texts out, with scores and where each token was heard."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from saccade.errors import ArgumentError
from saccade.tasks.batches import by_length
from saccade.tasks.generate import Hypotheses
from saccade.tasks.generate.generate import Search, Tokens, pursued, write
from saccade.tasks.text.tokenizer import BEGIN, END, one_line
from saccade.tasks.transcribe.batches import Heard, pad
from saccade.train.notes import say

if TYPE_CHECKING:
    from saccade.tasks.transcribe.task import Transcribe

__all__ = ["Transcription", "alignments", "answers", "complain", "heard_files", "tokens_of", "transcribe", "weights_of"]

_END = "⏎"
_NOTHING = "·"  # a special token in the middle, as untrained models write them
_AHEAD = 16  # files that are read before the first is answered
_DECODE_FRAMES = 100_000  # of all outputs under way, padding included, decoded at once


@dataclass(frozen=True)
class Transcription:
    """One text of an utterance.

    Args:
        text: in one line.
        ids: its tokens, without an end.
        score: what it is ranked by: its log-probability over the length penalty, with that of CTC where that counts.
        weights: where each of its tokens and its end was heard, `(target, steps)`; None if not asked for.
    """

    text: str
    ids: list[int]
    score: float
    weights: Tensor | None = None


def transcribe(
    task: "Transcribe",
    model: Any,
    heard: Sequence[Heard],
    count: int = 1,
    *,
    attended: bool = False,
    numbers: Sequence[int] | None = None,
) -> list[list[Transcription]]:
    """Return the best texts of each utterance, decoded in batches of like length.

    Where the task's `decoding` says so, samples instead of the best, in the order in which they were drawn.

    Args:
        task: the task.
        model: its model.
        heard: the utterances.
        count: how many texts of each are wanted; there may be fewer.
        attended: whether they shall have their weights.
        numbers: of the utterances, by which draws of the same file differ; 1, 2, 3, ... if not given.
    """
    results: list[list[Transcription]] = [[] for _ in heard]
    at_once = max(1, _DECODE_FRAMES // pursued(task.decoding, _asked(task, count)))
    for places in by_length([utterance.size for utterance in heard], at_once):
        chosen = [heard[place] for place in places]
        names = [(numbers[place] if numbers else place + 1, heard[place].name) for place in places]
        found = _decode(task, model, chosen, count, names)
        if attended:
            found = _read(model, chosen, found)
        for place, outputs in zip(places, found, strict=True):
            results[place] = outputs
    return results


def answers(
    task: "Transcribe", model: Any, inputs: Iterable[str], count: int, ahead: int | None
) -> Iterator[list[Transcription]]:
    """Transcribe files as they come; one that cannot be read has no text, which is said."""
    for _, outputs in _answers(task, model, inputs, count, ahead, attended=False):
        yield outputs


def alignments(
    task: "Transcribe", model: Any, inputs: Iterable[str], count: int, ahead: int | None
) -> Iterator[dict[str, Any]]:
    """Transcribe files as they come and say where every token was heard, as JSON has it."""
    for (path, heard), outputs in _answers(task, model, inputs, count, ahead, attended=True):
        seconds = 0.0 if heard is None else heard.size * task.signals.frame_seconds
        described = [_described(task, heard, output) for output in outputs if heard is not None]
        yield {"file": path, "seconds": round(seconds, 3), "transcriptions": described}


def tokens_of(task: "Transcribe", output: Transcription) -> list[str]:
    """Return the texts of the tokens of a transcription, and a mark for its end."""
    return [*(task.target.piece(number) or _NOTHING for number in output.ids), _END]


def weights_of(model: Any, pairs: Sequence[Heard]) -> list[Tensor]:
    """Return where each token of each text and its end is heard when it is written, `(target, steps)` on the CPU."""
    from saccade import look

    found: list[Tensor] = []
    device = next(model.parameters()).device
    for utterance in pairs:  # one by one: how many steps each has, the model alone knows
        batch = pad([utterance]).to(device)
        with look.record(model, detach=True) as records:
            model(batch.frames, batch.lengths, batch.target[:, :-1])
        found.append(model.alignment(records)[0].cpu())
    return found


def _asked(task: "Transcribe", count: int) -> Search:
    settings = task.settings
    return Search(settings.beam_size, settings.length_penalty, count, settings.seed, settings.ctc_rescoring > 0)


def _decode(
    task: "Transcribe", model: Any, heard: Sequence[Heard], count: int, names: Sequence[tuple[int, str]]
) -> list[list[Transcription]]:
    batch = pad(heard).to(next(model.parameters()).device)
    state, limits = model.encode(batch.frames, batch.lengths), task.limits(batch.lengths)
    tokens = Tokens(BEGIN, END, task.prefix)
    found = write(model, state, limits, tokens, task.decoding, _asked(task, count), names)
    if (share := task.settings.ctc_rescoring) and not task.decoding.sample:
        gains = model.heard(state, found.tokens, found.lengths.clamp(min=0))
        found = _ranked(found, gains, share, count, task.settings.length_penalty)

    def made(ids: list[int], score: float) -> Transcription:
        return Transcription(one_line(task.target.decode(ids)), ids, score)

    rows = zip(found.lists(), found.scores.tolist(), strict=True)
    return [list(map(made, outputs, scores)) for outputs, scores in rows]


def _ranked(found: Hypotheses, gains: Tensor, share: float, count: int, alpha: float) -> Hypotheses:
    """The best `count` outputs by their log-probabilities and, with this share, those by CTC `(batch, n)`.

    Both are divided by the length penalty (Watanabe et al. 2017, "Hybrid CTC/Attention Architecture for End-to-End
    Speech Recognition", Eq. 40, has none).
    """
    gains = gains / ((6 + found.lengths) / 6) ** alpha  # as the search has divided its own, the end being a token
    scores = torch.where(found.lengths < 0, -torch.inf, (1 - share) * found.scores + share * gains)
    scores, order = (part[:, :count] for part in scores.sort(dim=-1, descending=True, stable=True))
    tokens = found.tokens.gather(1, order[..., None].expand(-1, -1, found.tokens.shape[-1]))
    return Hypotheses(tokens, found.lengths.gather(1, order), scores)


def _read(model: Any, heard: Sequence[Heard], found: Sequence[Sequence[Transcription]]) -> list[list[Transcription]]:
    """The same texts with where each token was heard."""
    return [
        [
            replace(output, weights=weights)
            for output, weights in zip(
                outputs, weights_of(model, [replace(utterance, ids=output.ids) for output in outputs]), strict=True
            )
        ]
        for utterance, outputs in zip(heard, found, strict=True)
    ]


def _described(task: "Transcribe", heard: Heard, output: Transcription) -> dict[str, Any]:
    assert output.weights is not None  # they were asked for
    rows = [[round(weight, 6) for weight in row] for row in output.weights.tolist()]
    step = task.step_seconds
    parts = {"text": output.text, "score": round(output.score, 6), "tokens": tokens_of(task, output)}
    return {**parts, "step_seconds": round(step, 6), "weights": rows}


def heard_files(task: "Transcribe", inputs: Iterable[str]) -> Iterator[tuple[str, Heard | ArgumentError]]:
    """Read files as they are asked for; one that cannot be read is why, which is said.

    Args:
        task: the task.
        inputs: paths, "-" being standard input.

    Raises:
        ArgumentError: what is wrong with a file that is the only one.
    """
    remaining, first, pending = iter(inputs), True, list[str]()
    while (path := pending.pop() if pending else next(remaining, None)) is not None:
        try:
            heard = task.listen(path)
        except ArgumentError as error:
            pending = list(islice(remaining, 1)) if first else []  # only then the next one is waited for
            if first and not pending:
                raise
            say(str(error))
            yield path, error
        else:
            yield path, heard
        first = False


def complain(count: int, failed: int) -> None:
    """Raise that some of several files could not be read, once all of them are answered.

    Raises:
        ArgumentError: if there are any.
    """
    if failed:
        raise ArgumentError(f"{failed} of {count} files could not be read, as said above; they have no text")


def _answers(
    task: "Transcribe", model: Any, inputs: Iterable[str], count: int, ahead: int | None, *, attended: bool
) -> Iterator[tuple[tuple[str, Heard | None], list[Transcription]]]:
    """Each file with its texts, in order; no more of them are in memory than are read ahead."""
    found, number, failed = enumerate(heard_files(task, inputs), 1), 0, 0
    while block := list(islice(found, min(_AHEAD, ahead or _AHEAD))):
        whole = {number: one for number, (_, one) in block if isinstance(one, Heard)}
        texts = transcribe(task, model, [*whole.values()], count, attended=attended, numbers=[*whole])
        known = dict(zip(whole, texts, strict=True))
        for number, (path, _) in block:
            yield (path, whole.get(number)), known.get(number, [])
        failed += len(block) - len(whole)
    complain(number, failed)
