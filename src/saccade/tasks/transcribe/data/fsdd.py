"""The Free Spoken Digit Dataset: single digits as people say them, and strings of digits made of them.

Its folder has recordings/, or is that folder itself; files are called {digit}_{speaker}_{take}.wav.

    7_jackson_12.wav, a pause, 3_jackson_40.wav, a pause, 1_jackson_29.wav  ->  7 3 1

The test is the official one: takes 0 to 4 of each digit and speaker. Takes 5 to 9 validate, and 10 to 49 train. All
speakers are in all three, their recordings in one alone.

Source:
    Z. Jackson et al., Free Spoken Digit Dataset, https://github.com/Jakobovski/free-spoken-digit-dataset.
"""

import hashlib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor

from saccade.data.dataset import SPLITS, check_index, check_split, inventory
from saccade.data.folders import files_below
from saccade.errors import ArgumentError
from saccade.tasks.audio.recordings import read_whole
from saccade.tasks.transcribe.data.corpus import Recording
from saccade.train.randomness import derive, generator

__all__ = ["RATE", "Digits", "Take", "is_fsdd", "open_fsdd"]

RATE = 8000  # Hz, of all recordings
TAKES = {"test": range(5), "validation": range(5, 10), "train": range(10, 1_000_000)}
LONGEST = 7  # digits in a string
HELD_OUT = 500  # strings of validation, and of test
PAUSE = (0.05, 0.3)  # seconds between two digits

_NAME = re.compile(r"([0-9])_([^/]+)_([0-9]{1,6})\.wav")
_PART = "recordings"
_QUIET = 160  # samples, 20 ms: the quietest stretch of so many is what a pause sounds like


@dataclass(frozen=True, slots=True, eq=False)
class Take:
    """One digit, said once.

    Args:
        digit: which.
        name: of its file.
        samples: `(samples,)` at 8 kHz.
        quiet: the root mean square of its quietest 20 ms.

    Example:
        >>> Take("7", "7_jackson_32.wav", torch.zeros(3457), 0.0).digit
        '7'
    """

    digit: str
    name: str
    samples: Tensor
    quiet: float


@dataclass(frozen=True, eq=False)
class Digits:
    """Strings of one to seven digits, each of one speaker's recordings in one split, with pauses between.

    A string of one digit is its recording and nothing else. A pause lasts 50 to 300 ms and is noise as loud as the
    quietest 20 ms of the string's recordings, as a room has. Training is endless: any index draws a speaker, a length
    and digits. Validation and test hold 500 strings (more where that takes), of all speakers and lengths in turn, and
    use each of their recordings at least once.

    Args:
        recordings: of each split and speaker.
        fingerprint: what the recordings hold.
        note: what was changed in them, "" if nothing was.

    Source:
        The Free Spoken Digit Dataset.

    Example:
        >>> tone = Take("7", "7_ann_0.wav", torch.ones(800), 0.01)
        >>> digits = Digits({split: {"ann": [tone]} for split in TAKES}, "", "")
        >>> digits.example("test", 1).text, digits.example("test", 0).signal.shape
        ('7 7', torch.Size([800]))
    """

    recordings: Mapping[str, Mapping[str, Sequence[Take]]]
    fingerprint: str
    note: str

    rate = RATE
    dim = None

    def example(self, split: str, index: int) -> Recording:
        """Return utterance number `index` of a split: always the same one; its group is the speaker.

        Args:
            split: "train", "validation" or "test".
            index: from 0 on; below `size(split)` where that is a number.

        Raises:
            ArgumentError: if there is no such split, or no such index in it.
        """
        size = self.size(split)
        check_index(split, index, size)
        speakers = sorted(self.recordings[split])
        if size is None:
            speaker = speakers[derive(0, "speaker", index) % len(speakers)]
            chosen = self._drawn(self.recordings[split][speaker], index)
        else:
            number, place = divmod(index, len(speakers))
            speaker = speakers[place]
            chosen = self._row(split, speaker, number)
        signal = _join(chosen, generator(0, "pauses", split, index))
        name = chosen[0].name if len(chosen) == 1 else f"{split} {index}"
        return Recording(name, signal, " ".join(one.digit for one in chosen), speaker)

    def text(self, split: str, index: int) -> str:
        """Return the words of an utterance alone."""
        return self.example(split, index).text

    def size(self, split: str) -> int | None:
        """Return the number of utterances in a split, None where it is endless.

        Raises:
            ArgumentError: if there is no such split.
        """
        check_split(split)
        if split == "train":
            return None
        most = max(map(len, self.recordings[split].values()))
        strings = LONGEST * -(-most // _up_to(LONGEST))  # of each speaker, so that every recording is in one
        return max(HELD_OUT, strings * len(self.recordings[split]))

    def _drawn(self, recordings: Sequence[Take], index: int) -> list[Take]:
        length = 1 + derive(0, "length", index) % LONGEST
        return [recordings[derive(0, "digit", index, place) % len(recordings)] for place in range(length)]

    def _row(self, split: str, speaker: str, number: int) -> list[Take]:
        """A held-out string: lengths go 1 to 7 in turn, and its digits follow the last string's in an endless row."""
        rounds, shorter = divmod(number, LONGEST)
        first = rounds * _up_to(LONGEST) + _up_to(shorter)
        recordings = self.recordings[split][speaker]
        found = []
        for place in range(first, first + shorter + 1):
            epoch, offset = divmod(place, len(recordings))
            found.append(recordings[_order(len(recordings), split, speaker, epoch)[offset]])
        return found


def is_fsdd(folder: Path) -> bool:
    """Return whether a folder looks like the data set."""
    return (folder / _PART).is_dir() or (folder / f"{_PART}.tar.gz").is_file() or _is_bare(folder)


def open_fsdd(folder: Path) -> Digits:
    """Read the data set, which takes about a second and 42 MB.

    Args:
        folder: with recordings/ in it, or the recordings themselves.

    Raises:
        ArgumentError: naming the file that is wrong, or the split that has none.
        OSError: if a file cannot be read.
    """
    splits: dict[str, dict[str, list[Take]]] = {split: {} for split in TAKES}
    digest, notes = hashlib.blake2b(digest_size=8), list[str]()
    for name, data in sorted(_files(folder)):
        match = _NAME.fullmatch(name)
        if match is None:
            continue
        digit, speaker, take = match.groups()
        audio = read_whole(io.BytesIO(data), RATE, f"{folder}: {name}")
        recording = Take(digit, name, audio.samples, _quietest(audio.samples))
        split = next(split for split, takes in TAKES.items() if int(take) in takes)
        splits[split].setdefault(speaker, []).append(recording)
        digest.update(f"{name} {len(data)} ".encode() + data)
        notes += audio.notes
    for split, speakers in splits.items():
        if not speakers:
            takes = f"{TAKES[split][0]} to {TAKES[split][-1]}"
            wanted = f"expected recordings called such as 7_jackson_{TAKES[split][0]}.wav (takes {takes}) for {split}"
            raise ArgumentError(f"{folder}: {wanted}, found none")
    counts = ", ".join(f"{split} {sum(map(len, splits[split].values()))}" for split in SPLITS)
    return Digits(splits, f"FSDD {counts}, contents {digest.hexdigest()}", inventory(notes))


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    part = folder if _is_bare(folder) else folder / _PART
    if not part.is_dir():
        way_out = f"this unpacks it: tar xzf {part}.tar.gz -C {folder}"
        raise ArgumentError(f"{folder}: expected the folder {_PART}, got an archive; {way_out}")
    for path in files_below(part):
        if path.suffix == ".wav" and path.is_file():
            yield path.relative_to(part).as_posix(), path.read_bytes()


def _is_bare(folder: Path) -> bool:
    """Whether a folder is full of recordings itself."""
    return any(_NAME.fullmatch(path.name) for path in folder.iterdir())


def _up_to(number: int) -> int:
    """1 + 2 + ... + number."""
    return number * (number + 1) // 2


@lru_cache(64)
def _order(count: int, *labels: object) -> list[int]:
    order: list[int] = torch.randperm(count, generator=generator(0, *labels)).tolist()
    return order


def _quietest(samples: Tensor) -> float:
    """The root mean square of the quietest 20 ms, of all where it is shorter."""
    parts = samples.unfold(0, min(_QUIET, len(samples)), 1 + min(_QUIET, len(samples)) // 2)
    return float(parts.square().mean(1).min().sqrt())


def _join(recordings: Sequence[Take], draws: torch.Generator) -> Tensor:
    quiet = min(one.quiet for one in recordings)
    parts = [recordings[0].samples]
    for one in recordings[1:]:
        least, most = (round(RATE * seconds) for seconds in PAUSE)
        length = int(torch.randint(least, most + 1, (), generator=draws))
        parts += [quiet * torch.randn(length, generator=draws).clamp(-4, 4), one.samples]
    return torch.cat(parts)
