"""Recordings as frames and token ids: tokenizer, features and batches."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from saccade._system.files import write_json
from saccade._system.notes import Once, say
from saccade.data.dataset import inventory, spread
from saccade.errors import ArgumentError
from saccade.models.padded import Padded
from saccade.tasks.audio.signals import Signals
from saccade.tasks.generate.batch import Batch, target_ids
from saccade.tasks.saved import TOKENIZER, reading, whole_number
from saccade.tasks.text.bpe import BytePairs
from saccade.tasks.text.special import UNKNOWN
from saccade.tasks.text.tokenizer import Characters, SpacedWords, Tokenizer, from_json
from saccade.tasks.transcribe.data import PROMPT_WORDS
from saccade.tasks.transcribe.data.corpus import Corpus, Recording
from saccade.tasks.transcribe.options import WAVEFORM, Options
from saccade.train.options import flag, select
from saccade.train.randomness import generator
from saccade.train.task import Example

__all__ = ["Recordings", "Utterance", "pad", "stretched"]

_ENDLESS, _FILES = 2000, 100_000  # texts to learn from: of an endless split, and evenly spaced in a finite one
_FASTEST = 0.04  # seconds of a token in the fastest speech, characters included
_TOKENIZERS: dict[str, Any] = {"words": SpacedWords, "characters": Characters, "bpe": BytePairs}


@dataclass(frozen=True, eq=False)
class Utterance:
    """A recording as input of a model."""

    name: str  # in messages
    frames: Tensor  # `(length, dim)`
    ids: list[int]  # tokens of its text without begin and end, empty for an input
    number: int = 1  # of the line, from 1 on: equal files have different random samples
    loudness: Tensor | None = None  # of each frame, relative, `(length,)`, None after stretching
    start: int = 0  # frames of silence cut off before them

    @property
    def size(self) -> int:
        """Number of frames."""
        return len(self.frames)

    @property
    def order(self) -> tuple[int, int]:
        """Sort key of utterances."""
        return self.size, len(self.ids)


@dataclass(frozen=True)
class Recordings:
    """Codec of recordings with their texts.

    Args:
        target: tokenizer of the texts.
        longest: tokens of the longest training text.
        signals: features of recordings.
        options: of the run.
    """

    target: Tokenizer
    longest: int
    signals: Signals
    options: Any = field(default=None, compare=False)

    @property
    def step_seconds(self) -> float:
        """Seconds of a step that the model attends to."""
        return float(self.options.step_frames * self.signals.frame_seconds)

    @property
    def prompt_words(self) -> int:
        """Number of first words of each text that the model is given."""
        return PROMPT_WORDS.get(self.options.data, 0)

    def prompt(self, sample: Any) -> str:
        """Return the first words of an example that the model is given, "" for none."""
        return self.target.decode(getattr(sample, "ids", [])[: self.prompt_words])

    @classmethod
    def fit(cls, data: Corpus, options: Any) -> tuple[Self, Iterable[str]]:
        """Learn from the training texts, or from an evenly spaced sample of them.

        Raises:
            ArgumentError: if every text is too long, or the options of features have no effect or fail.
        """
        size = data.size("train")
        texts = [data.text("train", index) for index in (range(_ENDLESS) if size is None else spread(size, _FILES))]
        target: Tokenizer = _TOKENIZERS[options.tokenizer].learn(texts, options.vocabulary_size)
        lengths = [len(ids) for ids in target.encode_batch(texts)]
        fitting = [length for length in lengths if length <= options.max_length]
        if not fitting:
            expected = f"each training text has more than {options.max_length} tokens; raise it"
            raise ArgumentError(f"--max-length: {expected}")
        notes = list[str]()
        if left_out := len(lengths) - len(fitting):
            long = f"{left_out} of {len(lengths)} training texts looked at have more than {options.max_length} tokens"
            notes.append(f"{long}, and such are left out (--max-length)")
        if rare := _unknown(texts, target):
            why = "are not among the most frequent (--vocabulary-size), and cannot be written"
            notes.append(f"{inventory(sorted(rare))} {why}")
        for split in ("validation", "test"):
            held_out = [data.text(split, index) for index in range(data.size(split) or 0)]
            if never := sorted(_unknown(held_out, target) - rare):
                notes.append(f"{split} has {inventory(never)}, which training has not: they cannot be written")
        codec = cls(target, max(1, *fitting), _signals(data.rate, data.dim, options), options)
        return codec, ("; ".join(notes),)

    def save(self, folder: Path) -> None:
        """Write tokenizer.json."""
        numbers = {"longest_target": self.longest, "rate": self.signals.rate, "dim": self.signals.dim}
        write_json(folder / TOKENIZER, {"target": self.target.to_json(), **numbers})

    @classmethod
    def restore(cls, folder: Path, options: Any) -> Self:
        """Read tokenizer.json, or raise an `ArgumentError` if it is missing or damaged."""
        with reading(folder / TOKENIZER, "the tokenizer") as content:
            longest = whole_number(content, "longest_target")
            rate, dim = (None if content[name] is None else whole_number(content, name) for name in ("rate", "dim"))
            if (rate is None) == (dim is None):
                raise ValueError(f"rate {rate} and dim {dim}, of which one is null")
            return cls(from_json(content["target"]), longest, _signals(rate, dim, options), options)

    def encode(self, examples: Sequence[Recording], split: str) -> list[Utterance]:
        """Return recordings with the tokens of their texts.

        A warning names the first recording with a changed signal.
        """
        return [self._utterance(recording) for recording in examples]

    def fitting(self, recording: Recording) -> Utterance | None:
        """Return a training utterance, or None if it is too long.

        A warning names the first that is too long.
        """
        utterance, options = self._utterance(recording), self.options
        seconds = utterance.size * self.signals.frame_seconds
        if seconds <= options.max_seconds and len(utterance.ids) <= options.max_length:
            return utterance
        limits = f"--max-seconds {options.max_seconds:g} or --max-length {options.max_length}"
        self._once.say("long", f"{utterance.name}: left out, longer than {limits}; so may others be")
        return None

    def collate(self, samples: Sequence[Utterance], step: int | None = None) -> Batch:
        """Return a batch, with utterances of changed speed in a training step."""
        if step is not None and self.options.stretch:
            samples = stretched(samples, self.options.stretch, generator(self.options.seed, "stretch", step))
        return pad(samples)

    def inputs(self, samples: Sequence[Utterance]) -> Padded:
        """Return padded frames."""
        frames: Padded = pad(samples).source
        return frames

    def size(self, sample: Utterance) -> int:
        """Return the number of frames."""
        return sample.size

    def limits(self, sizes: Tensor) -> Tensor:
        """Return the maximal number of tokens of each output.

        It is one for 40 ms, up to twice the longest training text.
        """
        return ((sizes * (self.signals.frame_seconds / _FASTEST)).long() + 1).clamp(max=2 * self.longest)

    def width(self, sample: Utterance) -> int:
        """Return the number of steps that the model attends to."""
        return -(-sample.size // int(self.options.step_frames))

    def build(self, model: Any) -> nn.Module:
        """Return a model for these features and tokens."""
        sizes = select(self.options, model.Options)
        if self.options.ctc_rescoring and not sizes.ctc_weight:
            raise ArgumentError(f"--ctc-rescoring: expected a --ctc-weight above 0, got {sizes.ctc_weight}")
        return model(self.signals.width, len(self.target), sizes)  # type: ignore[no-any-return]

    def show(self, example: Recording, name: str) -> Example:
        """Return a recording, as a file too, and its text."""
        return Example(self._utterance(example), example.name, example.text, self.signals.file(example.signal))

    def read(self, line: str, number: int) -> Utterance:
        """Read the audio file of a path, with a note of every change."""
        (frames, loudness, start), notes = self.signals.read(line)
        for note in notes:
            say(note)
        return Utterance(line, frames, [], number, loudness, start)

    @property
    def parts(self) -> dict[str, tuple[object, str]]:
        """Tokenizer, steps and features, the same in all members of an ensemble."""
        steps = self.options.step_frames
        return {
            "the tokenizer": (self.target.to_json(), f"another, of {len(self.target)} tokens"),
            "the frames a step (--pyramid)": (steps, f"{steps}"),
            "the features": (self.signals, "others"),
        }

    def _utterance(self, recording: Recording) -> Utterance:
        if recording.notes:
            self._once.say("changed", f"{recording.notes[0]}; so may others be, which is not said again")
        frames, loudness, start = self.signals.frames(recording.signal)
        return Utterance(recording.name, frames, self.target.encode(recording.text), loudness=loudness, start=start)

    @cached_property
    def _once(self) -> Once:
        return Once()


def pad(utterances: Sequence[Utterance]) -> Batch:
    """Return a batch of utterances.

    >>> pad([Utterance("a", torch.ones(3, 2), [7, 8]), Utterance("b", torch.ones(1, 2), [9])]).target
    tensor([[1, 7, 8, 2],
            [1, 9, 2, 0]])
    """
    lengths = torch.tensor([utterance.size for utterance in utterances])
    frames = pad_sequence([utterance.frames for utterance in utterances], batch_first=True)
    return Batch(Padded(frames, lengths), target_ids([utterance.ids for utterance in utterances]))


def stretched(utterances: Sequence[Utterance], limit: float, draws: torch.Generator) -> list[Utterance]:
    """Return slower or faster utterances, by linear interpolation between frames.

    The length of each changes by a share of at most `limit`.

    >>> [slow] = stretched([Utterance("a", torch.rand(100, 2), [7])], 0.2, torch.Generator().manual_seed(1))
    >>> 80 <= slow.size <= 120, slow.ids
    (True, [7])
    """
    factors = 1 + limit * (2 * torch.rand(len(utterances), generator=draws) - 1)
    resized = list[Utterance]()
    for utterance, factor in zip(utterances, factors.tolist(), strict=True):
        size = max(1, round(utterance.size * factor))
        frames = F.interpolate(utterance.frames.T[None], size=size, mode="linear", align_corners=False)[0].T
        resized.append(replace(utterance, frames=frames, loudness=None))
    return resized


def _signals(rate: int | None, dim: int | None, options: Any) -> Signals:
    """Return features of recordings, after a check of their options."""
    if dim is None:
        return Signals(rate, dim, *(getattr(options, name) for name in WAVEFORM))
    for name in WAVEFORM:
        if (value := getattr(options, name)) != Options.__dataclass_fields__[name].default:
            raise ArgumentError(f"{flag(name)}: expected only with recordings, as these data are features, got {value}")
    return Signals(rate, dim)


def _unknown(texts: Sequence[str], target: Tokenizer) -> set[str]:
    """Return tokens of texts that cannot be written."""
    return {
        piece
        for text, ids in zip(texts, target.encode_batch(texts), strict=True)
        if UNKNOWN in ids
        for piece, number in zip(target.pieces(text), ids, strict=True)
        if number == UNKNOWN
    }
