"""Strings of digits, joined from recordings of single digits.

For example from recordings of the Free Spoken Digit Dataset:

7_jackson_12.wav, a pause, 3_jackson_40.wav, a pause, 1_jackson_29.wav  ->  7 3 1
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Self

import torch
from torch import Tensor

from saccade.data import Row, Rows
from saccade.data.dataset import SPLITS, check_index, check_split, inventory
from saccade.tasks.transcribe.data.corpus import Recording
from saccade.tasks.transcribe.data.recordings import Recordings
from saccade.train.randomness import derive, generator

__all__ = ["RATE", "Digits"]

RATE = 8000  # Hz, of all recordings
LONGEST = 7  # digits in a string
HELD_OUT = 500  # strings of validation, and of test
PAUSE = (0.05, 0.3)  # seconds between two digits

_QUIET = 160  # samples, 20 ms: the quietest such stretch sets the level of pauses


@dataclass(frozen=True, eq=False)
class Digits:
    """Strings of one to seven digits with pauses, each of one speaker and one split.

    A string of one digit is its recording alone. A pause lasts 50 to 300 ms and is noise as loud as the quietest 20 ms
    of the string's recordings, like the noise of a room. Training is endless: any index draws a speaker, a length and
    digits. Validation and test hold at least 500 strings, of all speakers and lengths in turn. They use each of their
    recordings at least once.

    Args:
        recordings: by split and speaker, a digit each.
        fingerprint: numbers and hash of the recordings.
        note: changes of their signals, "" if there are none.

    Example:
        >>> tone = Recording("7_ann_0.wav", torch.ones(800), "7", "ann")
        >>> digits = Digits({split: {"ann": [tone]} for split in SPLITS}, "", "")
        >>> digits.example("test", 1).text, digits.example("test", 0).signal.shape
        ('7 7', torch.Size([800]))
    """

    recordings: Mapping[str, Mapping[str, Sequence[Recording]]]
    fingerprint: str
    note: str

    rate = RATE
    dim = None

    @classmethod
    def of(cls, rows: Rows[Row]) -> Self:
        """Read the recordings of rows, each a digit.

        Raises:
            ArgumentError: with the file, if one is damaged.
        """
        read, notes, digest = Recordings(rows, RATE), list[str](), hashlib.blake2b(digest_size=8)
        recordings: dict[str, dict[str, list[Recording]]] = {split: {} for split in SPLITS}
        for split in SPLITS:
            for index in range(read.size(split)):
                recording = read.example(split, index)
                notes += recording.notes
                renamed = replace(recording, name=Path(recording.name).name, notes=())
                recordings[split].setdefault(recording.group, []).append(renamed)
        for path in sorted((row["audio"] for part in rows.splits.values() for row in part), key=lambda path: path.name):
            data = path.read_bytes()
            digest.update(f"{path.name} {len(data)} ".encode() + data)
        counts = ", ".join(f"{split} {rows.size(split)}" for split in SPLITS)
        return cls(recordings, f"FSDD {counts}, contents {digest.hexdigest()}", inventory(notes))

    def example(self, split: str, index: int) -> Recording:
        """Return utterance number `index` of a split, the same in each call.

        Its group is the speaker.

        Raises:
            ArgumentError: if there is no such split, or no such index in it.
        """
        chosen = self._chosen(split, index)
        signal = _join([recording.signal for recording in chosen], generator(0, "pauses", split, index))
        name = chosen[0].name if len(chosen) == 1 else f"{split} {index}"
        return Recording(name, signal, " ".join(recording.text for recording in chosen), chosen[0].group)

    def text(self, split: str, index: int) -> str:
        """Return the words of an utterance."""
        return " ".join(recording.text for recording in self._chosen(split, index))

    def size(self, split: str) -> int | None:
        """Return the number of utterances in a split, None if it is endless.

        Raises:
            ArgumentError: if there is no such split.
        """
        check_split(split)
        if split == "train":
            return None
        largest = max(map(len, self.recordings[split].values()))
        strings = LONGEST * -(-largest // _up_to(LONGEST))  # of each speaker, so that every recording is in one
        return max(HELD_OUT, strings * len(self.recordings[split]))

    def _chosen(self, split: str, index: int) -> list[Recording]:
        """The recordings of a string."""
        check_index(split, index, self.size(split))
        speakers = sorted(self.recordings[split])
        if split == "train":
            recordings = self.recordings[split][speakers[derive(0, "speaker", index) % len(speakers)]]
            length = 1 + derive(0, "length", index) % LONGEST
            return [recordings[derive(0, "digit", index, position) % len(recordings)] for position in range(length)]
        number, position = divmod(index, len(speakers))
        return self._held_out(split, speakers[position], number)

    def _held_out(self, split: str, speaker: str, number: int) -> list[Recording]:
        """A held-out string, of lengths 1 to 7 in turn.

        Its digits follow those of the last string in an endless sequence.
        """
        rounds, shorter = divmod(number, LONGEST)
        first = rounds * _up_to(LONGEST) + _up_to(shorter)
        recordings, chosen = self.recordings[split][speaker], list[Recording]()
        for position in range(first, first + shorter + 1):
            epoch, offset = divmod(position, len(recordings))
            chosen.append(recordings[_order(len(recordings), split, speaker, epoch)[offset]])
        return chosen


def _up_to(number: int) -> int:
    """1 + 2 + ... + number."""
    return number * (number + 1) // 2


@lru_cache(64)
def _order(count: int, *labels: object) -> list[int]:
    order: list[int] = torch.randperm(count, generator=generator(0, *labels)).tolist()
    return order


def _quietest(samples: Tensor) -> float:
    """Root mean square of the quietest 20 ms, or of a shorter recording."""
    parts = samples.unfold(0, min(_QUIET, len(samples)), 1 + min(_QUIET, len(samples)) // 2)
    return float(parts.square().mean(1).min().sqrt())


def _join(signals: Sequence[Tensor], draws: torch.Generator) -> Tensor:
    quiet, parts = min(map(_quietest, signals)), [signals[0]]
    least, longest = (round(RATE * seconds) for seconds in PAUSE)
    for signal in signals[1:]:
        length = int(torch.randint(least, longest + 1, (), generator=draws))
        parts += [quiet * torch.randn(length, generator=draws).clamp(-4, 4), signal]
    return torch.cat(parts)
