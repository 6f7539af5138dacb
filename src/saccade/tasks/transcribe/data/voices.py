"""A cocktail party of two voices: two strings of digits at once, one to write.

    low 9 2 6       while the high voice sends 3 0 7 1

The first word of a text names the voice to attend to. A model is given this word and writes the digits behind it.

Source:
    Cherry 1953, "Some experiments on the recognition of speech, with one and with two ears".
"""

import torch
from torch.nn.utils.rnn import pad_sequence

from saccade.data.dataset import check_index
from saccade.tasks.transcribe.data.corpus import Recording
from saccade.tasks.transcribe.data.tones import Tones, digits_at_random, noisy, sent
from saccade.train.randomness import generator

__all__ = ["VOICES", "Voices"]

#: Factor of all frequencies of a voice. The lowest one of the high voice is above the highest one of the low voice.
VOICES = {"low": 1.0, "high": 2.25}


class Voices(Tones):
    """Two strings as in `Tones` at the same time, one of each voice, and equally loud.

    Both begin and end after pauses of their own. The voice of a text is drawn evenly, and is its group.

    Args:
        language: as for `Tones`.

    Example:
        >>> recording = Voices().example("test", 0)
        >>> recording.text, recording.group
        ('high 2 1 4 7 4 5', 'high')
    """

    def make(self, split: str, index: int) -> Recording:
        voice, strings, draws = self._drawn(split, index)

        def both() -> torch.Tensor:
            sounds = [sent(strings[name], draws, pitch) for name, pitch in VOICES.items()]
            return pad_sequence(sounds).sum(1)

        return Recording(f"{split} {index}", noisy(both, draws), f"{voice} {self.words(strings[voice])}", voice)

    def text(self, split: str, index: int) -> str:
        check_index(split, index, self.size(split))
        voice, strings, _ = self._drawn(split, index)
        return f"{voice} {self.words(strings[voice])}"

    @property
    def fingerprint(self) -> str:
        pitches = ", ".join(f"{name} by {pitch:g}" for name, pitch in VOICES.items())
        return f"two voices at once, {pitches}: {super().fingerprint}"

    def _drawn(self, split: str, index: int) -> tuple[str, dict[str, str], torch.Generator]:
        """The voice to write, the digits of each voice, and the draws that follow."""
        draws = generator(0, "voices", split, index)
        voice = [*VOICES][int(torch.randint(len(VOICES), (), generator=draws))]
        return voice, {name: digits_at_random(draws) for name in VOICES}, draws
