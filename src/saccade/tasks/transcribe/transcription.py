"""Transcribing with a trained model: frames in, their best texts out, with scores and where each token was said."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from saccade import look
from saccade.look._files import file_name
from saccade.models.padded import Padded
from saccade.tasks.batches import in_batches
from saccade.tasks.generate import Hypotheses
from saccade.tasks.generate.attention import attended, weights_of
from saccade.tasks.generate.generate import Output, Search, generate, outputs_of
from saccade.tasks.generate.written import Written
from saccade.tasks.looking import JACOBIAN
from saccade.tasks.text.tokenizer import Tokenizer
from saccade.tasks.transcribe.alignment_metrics import alignment_metrics
from saccade.tasks.transcribe.batches import Utterance, pad
from saccade.train.task import Form, Unreadable

__all__ = ["Times", "Transcription", "alignments_of", "moved", "transcribe"]

_DECODE_FRAMES = 100_000  # of all outputs under way, padding included, decoded at once
_COPIED = 32_000  # frames of all copies of a recording, for as many rows of the Jacobian at once


@dataclass(frozen=True)
class Times:
    """How long things are, in seconds.

    Args:
        frame: from one frame of features to the next.
        step: from one step that the model attends to, to the next.
    """

    frame: float
    step: float


@dataclass(frozen=True, repr=False)
class Transcription(Written):
    """The texts of one recording.

    Args:
        utterance: the recording.
        outputs: its best texts, or draws.
        count: how many were asked for.
        times: of its frames and steps.
        sound: at which steps it is louder than its mean; None where that is not known.
        jacobian: how much all logits of each token of the best text move with each frame, `(tokens, frames)`, where a
            picture is wanted of that.
    """

    utterance: Utterance | Unreadable
    outputs: Sequence[Output]
    count: int
    times: Times
    sound: Tensor | None = None
    jacobian: Tensor | None = None

    @property
    def remark(self) -> str:
        """How the alignment of the best text runs, where it is known."""
        weights = self.outputs[0].weights if self.outputs else None
        return "" if weights is None else str(alignment_metrics(weights, self.sound))

    def to_json(self) -> dict[str, Any]:
        """Return the texts and where each of their tokens was said."""
        step = {"step_seconds": round(self.times.step, 6)}
        texts = [{**output.to_json(), **step} for output in self.outputs]
        if isinstance(self.utterance, Unreadable):
            return {"file": self.utterance.line, "seconds": 0.0, "transcriptions": texts}
        seconds = round(self.utterance.size * self.times.frame, 3)
        return {"file": self.utterance.name, "seconds": seconds, "transcriptions": texts}

    def draw(self, folder: Path, *, json: bool = False) -> Iterator[Path]:
        """Draw where each token of the best text was said, over the spectrogram."""
        if isinstance(self.utterance, Unreadable) or not self.outputs:
            return
        best, seconds = self.outputs[0], self.utterance.size * self.times.frame
        assert best.weights is not None
        weights, step, told = best.weights, self.times.step, str(alignment_metrics(best.weights, self.sound))
        if self.jacobian is not None:
            weights, step, told = look.shares(self.jacobian), self.times.frame, JACOBIAN
        title = f"{best.text or 'nothing said'} ({told})"
        name = "speech" if self.utterance.name == "-" else Path(self.utterance.name).stem
        where, frames = folder / file_name(name), self.utterance.frames
        about = {"title": title, "scale": "weight" if self.jacobian is None else "share"}
        yield from look.spectrogram(weights, frames, best.tokens, (seconds, step), where, **about, json=json)


def transcribe(
    model: Any,
    utterances: Sequence[Utterance],
    target: Tokenizer,
    how: Search,
    limits: Callable[[Tensor], Tensor],
    step_frames: int,
    share: float = 0.0,
    form: Form = "lines",
) -> list[list[Output]]:
    """Return the best texts of each utterance, decoded in batches of like length.

    Args:
        model: a transcriber, in evaluation mode.
        utterances: what to transcribe.
        target: tokenizer of the texts.
        how: outputs are found.
        limits: from lengths `(batch,)` in frames to how many tokens an output may have.
        step_frames: frames of a step that the model attends to.
        share: of CTC in the ranking of what a search found.
        form: what the answers will be written as.
    """

    def decode(places: Sequence[int]) -> list[list[Output]]:
        chosen = [utterances[place] for place in places]
        source = pad(chosen).source.to(next(model.parameters()).device)
        names = [(utterance.number, utterance.name) for utterance in chosen]
        state = model.encode(source)
        found = generate(model, state, limits(source.lengths), how, names)
        if share and how.sampling is None:
            log_probs = model.ctc_log_probs(state, found.tokens, found.lengths.clamp(min=0))
            found = _ranked(found, log_probs, share, how.count, how.length_penalty)
        outputs = outputs_of(found, target)
        if form == "lines":
            return outputs
        steps = [-(-one.size // step_frames) for one in chosen]
        parts = zip(range(len(chosen)), outputs, steps, strict=True)
        return [_aligned(model, state, place, own, count, target) for place, own, count in parts]

    return in_batches([one.size for one in utterances], max(1, _DECODE_FRAMES // how.width), decode)


def alignments_of(model: Any, utterances: Sequence[Utterance]) -> list[Tensor]:
    """Return where each token of each text and its end is said, `(target, steps)` on the CPU, as the model reads it."""
    found: list[Tensor] = []
    for utterance in utterances:  # one by one: how many steps each has, the model alone knows
        batch = pad([utterance]).to(next(model.parameters()).device)
        weights = weights_of(model, model.encode(batch.source), batch.target[:, :-1])
        assert weights is not None  # every transcriber attends
        found.append(weights[0])
    return found


def moved(model: Any, answer: Transcription) -> Transcription:
    """Return a recording's texts with how much each token of the best one moves with each frame."""
    if isinstance(answer.utterance, Unreadable) or not answer.outputs:
        return answer
    with torch.inference_mode(mode=False), torch.no_grad():  # whoever answers is within that mode
        one = replace(answer.utterance, ids=list(answer.outputs[0].ids))
        (frames, lengths), target = pad([one]).to(next(model.parameters()).device)
        before = target[:, :-1]

    def features(copies: Tensor) -> Tensor:
        count = len(copies)
        found: Tensor = model.features(Padded(copies, lengths.expand(count)), before.expand(count, -1))
        return found

    block = max(1, min(64, _COPIED // len(frames[0])))
    return replace(answer, jacobian=look.sequential_jacobian(features, frames[0], model.output[0], block=block).cpu())


def _aligned(
    model: Any, state: Any, place: int, outputs: Sequence[Output], steps: int, target: Tokenizer
) -> list[Output]:
    """The outputs of the example at a place of a state with where each token was said, and the tokens as texts."""
    if not outputs:
        return []
    rows = torch.full((1, len(outputs)), place, device=next(model.parameters()).device)  # all hear one and the same
    told = list[Output]()
    for output in attended(model, state.select(rows, rows[0, :1]), outputs, target):
        assert output.weights is not None  # every transcriber attends
        told.append(replace(output, weights=output.weights[:, :steps]))
    return told


def _ranked(found: Hypotheses, log_probs: Tensor, share: float, count: int, alpha: float) -> Hypotheses:
    """The best `count` outputs by their log-probabilities and, with this share, those by CTC `(batch, n)`.

    Both are divided by the length penalty (Watanabe et al. 2017, "Hybrid CTC/Attention Architecture for End-to-End
    Speech Recognition", Eq. 40, has none).
    """
    log_probs = log_probs / ((6 + found.lengths) / 6) ** alpha  # as the search has divided its own: the end counts
    scores = torch.where(found.lengths < 0, -torch.inf, (1 - share) * found.scores + share * log_probs)
    scores, order = (part[:, :count] for part in scores.sort(dim=-1, descending=True, stable=True))
    tokens = found.tokens.gather(1, order[..., None].expand(-1, -1, found.tokens.shape[-1]))
    return Hypotheses(tokens, found.lengths.gather(1, order), scores)
