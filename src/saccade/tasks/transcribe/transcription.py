"""Transcriptions of a recording, as lines, JSON and pictures, and rankings by CTC."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from saccade import look
from saccade.look._files import file_name
from saccade.models.padded import Padded
from saccade.tasks.explaining import Subject
from saccade.tasks.generate import Hypotheses
from saccade.tasks.generate.attention import weights_of
from saccade.tasks.generate.generate import Output, Search, Written
from saccade.tasks.looking import Moved
from saccade.tasks.transcribe.alignment_metrics import alignment_metrics
from saccade.tasks.transcribe.codec import Utterance, pad
from saccade.train.task import Unreadable

__all__ = ["Times", "Transcription", "alignments_of", "ranked_by_ctc", "spread", "subject", "with_ctc"]

_COPIED = 32_000  # frames of all copies of a recording, one for each row of the Jacobian


@dataclass(frozen=True)
class Times:
    """Seconds of a frame of features, and of a step that the model attends to."""

    frame: float
    step: float


@dataclass(frozen=True, repr=False)
class Transcription(Written):
    """Transcriptions of a recording.

    Args:
        utterance: the recording.
        outputs: its best texts, or samples.
        count: number of texts.
        times: of its frames and steps.
        sound: steps louder than the mean of the recording, or None without loudness.
        ctc: probability of each token of the best text at each step by CTC, `(tokens, steps)`, if it is drawn.
        moved: scores of each frame for each token of the best text, in pictures of other methods than attention.
    """

    utterance: Utterance | Unreadable
    outputs: Sequence[Output]
    count: int
    times: Times
    sound: Tensor | None = None
    ctc: Tensor | None = None
    moved: Moved | None = None

    @property
    def remark(self) -> str:
        """Metrics of the alignment of the best text, if there is one."""
        weights = self.outputs[0].weights if self.outputs else None
        return "" if weights is None else str(alignment_metrics(weights, self.sound))

    def to_json(self) -> dict[str, Any]:
        """Return the texts and their alignments."""
        step = {"step_seconds": round(self.times.step, 6)}
        texts = [{**output.to_json(), **step} for output in self.outputs]
        if isinstance(self.utterance, Unreadable):
            return {"file": self.utterance.line, "start_seconds": 0.0, "seconds": 0.0, "transcriptions": texts}
        start, seconds = (round(size * self.times.frame, 3) for size in (self.utterance.start, self.utterance.size))
        return {"file": self.utterance.name, "start_seconds": start, "seconds": seconds, "transcriptions": texts}

    def draw(self, folder: Path, *, json: bool = False) -> Iterator[Path]:
        """Draw the alignment of the best text over the spectrogram."""
        if isinstance(self.utterance, Unreadable) or not self.outputs:
            return
        best, frames = self.outputs[0], self.utterance.frames
        assert best.weights is not None
        name = "speech" if self.utterance.name == "-" else Path(self.utterance.name).stem
        start, seconds = (size * self.times.frame for size in (self.utterance.start, self.utterance.size))

        def drawn(
            weights: Tensor, step: float, suffix: str, remark: str, scale: str = "weight", signed: bool = False
        ) -> list[Path]:
            title, path = f"{best.text or 'nothing said'} ({remark})", folder / f"{file_name(name)}{suffix}"
            tokens, times = best.tokens[: len(weights)], (seconds, step)
            options: dict[str, Any] = {"title": title, "scale": scale, "start": start, "signed": signed}
            return look.spectrogram(weights, frames, tokens, times, path, json=json, **options)

        if self.moved is not None:
            values, title, scale, signed = self.moved
            yield from drawn(values, self.times.frame, "", title, scale, signed)
            return
        yield from drawn(best.weights, self.times.step, "", str(alignment_metrics(best.weights, self.sound)))
        if self.ctc is not None:
            yield from drawn(self.ctc, self.times.step, "-ctc", "CTC", "probability")


def alignments_of(model: Any, utterances: Sequence[Utterance]) -> list[Tensor]:
    """Return the attention weights of each true text and its end, on the CPU.

    Their shape is `(target, steps)`.
    """
    alignments = list[Tensor]()
    for utterance in utterances:  # a batch would have more steps than most utterances
        batch = pad([utterance]).to(next(model.parameters()).device)
        weights = weights_of(model, model.encode(batch.source), batch.target[:, :-1])
        assert weights is not None  # every model attends
        alignments.append(weights[0])
    return alignments


def with_ctc(model: Any, answer: Transcription) -> Transcription:
    """Return an answer with the CTC alignment of its best text, if the model has one."""
    if getattr(model, "ctc", None) is None or isinstance(answer.utterance, Unreadable) or not answer.outputs:
        return answer
    state, ids = model.encode(pad([answer.utterance]).to(next(model.parameters()).device).source), answer.outputs[0].ids
    if not 0 < len(ids) <= state.weights.shape[-1]:
        return answer
    return replace(answer, ctc=model.ctc_alignment(state, torch.tensor(ids)))


def subject(model: Any, utterance: Utterance, output: Output, frame_seconds: float) -> Subject:
    """Return the frames of a recording and its fixed text.

    Args:
        model: a recognizer in evaluation mode.
        utterance: the recording.
        output: its text.
        frame_seconds: seconds between two frames.
    """
    with torch.inference_mode(mode=False), torch.no_grad():  # the caller may be in inference mode
        written = replace(utterance, ids=list(output.ids))
        (frames, lengths), target = pad([written]).to(next(model.parameters()).device)
        before = target[:, :-1]

    def features(copies: Tensor) -> Tensor:
        count = len(copies)
        rows: Tensor = model.features(Padded(copies, lengths.expand(count)), before.expand(count, -1))
        return rows

    return Subject(
        model=model,
        inputs=frames[0],
        features=features,
        output=model.output,
        targets=target[0, 1:],
        tokens=tuple(f"{number * frame_seconds:.2f}" for number in range(len(frames[0]))),
        outputs=output.tokens,
        attended=None if output.weights is None else spread(output.weights, len(frames[0])),
        block=max(1, min(64, _COPIED // len(frames[0]))),
    )


def spread(weights: Tensor, frames: int) -> Tensor:
    """Return weights of steps as weights of their frames, `(tokens, frames)`.

    >>> spread(torch.tensor([[0.5, 0.5]]), 3)
    tensor([[0.2500, 0.2500, 0.5000]])
    """
    steps = torch.arange(frames) // -(-frames // weights.shape[1])
    return weights[:, steps] / steps.bincount()[steps]


def ranked_by_ctc(model: Any, state: Any, hypotheses: Hypotheses, share: float, search: Search) -> Hypotheses:
    """Return the best hypotheses by log-probabilities of the model and of CTC.

    Both are divided by the length penalty (Watanabe et al. 2017, "Hybrid CTC/Attention Architecture for End-to-End
    Speech Recognition", Eq. 40, has none).

    Args:
        model: with CTC.
        state: of the batch, before the first token.
        hypotheses: all that the search kept.
        share: of CTC in the scores.
        search: with the number of hypotheses to return and the length penalty.
    """
    tokens, lengths = hypotheses.tokens, hypotheses.lengths
    log_probs = model.ctc_log_probs(state, tokens, lengths.clamp(min=0))
    log_probs = log_probs / ((6 + lengths) / 6) ** search.length_penalty  # as in the search: the end counts
    scores = torch.where(lengths < 0, -torch.inf, (1 - share) * hypotheses.scores + share * log_probs)
    scores, order = (part[:, : search.count] for part in scores.sort(dim=-1, descending=True, stable=True))
    tokens = tokens.gather(1, order[..., None].expand(-1, -1, tokens.shape[-1]))
    return Hypotheses(tokens, lengths.gather(1, order), scores)
