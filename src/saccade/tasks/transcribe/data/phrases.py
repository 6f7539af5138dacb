"""Phrases of a colour and a shape as keys, to be written in English or French.

    the keys 3 7   blue circle, cercle bleu        the keys 2 9   green cross, croix verte

The keys send the colour first, as in English. In French the noun comes first and the adjective agrees with it, so the
order of the text crosses that of the sound within each phrase.
"""

import torch

from saccade.errors import ArgumentError
from saccade.tasks.transcribe.data.tones import Tones
from saccade.train.randomness import generator

__all__ = ["COLOURS", "SHAPES", "Phrases"]

MOST_PHRASES = 3  # phrases of an utterance

#: The colour of a key: in English, and in French with a masculine and a feminine noun.
COLOURS = {
    "1": ("red", "rouge", "rouge"),
    "2": ("green", "vert", "verte"),
    "3": ("blue", "bleu", "bleue"),
    "4": ("white", "blanc", "blanche"),
    "5": ("black", "noir", "noire"),
    "6": ("grey", "gris", "grise"),
}
#: The shape of a key: in English, in French, and whether the French noun is feminine.
SHAPES = {
    "7": ("circle", "cercle", False),
    "8": ("square", "carré", False),
    "9": ("cross", "croix", True),
    "0": ("star", "étoile", True),
}


class Phrases(Tones):
    """Utterances of one to three phrases.

    For each phrase the key of a colour and then of a shape is sent as in `Tones`.

    Args:
        language: of the words, "en" or "fr". Default: "en".

    Raises:
        ArgumentError: if the language is another.

    Example:
        >>> Phrases().text("test", 1), Phrases("fr").text("test", 1)
        ('black square', 'carré noir')
    """

    def __init__(self, language: str | None = None) -> None:
        if language not in (None, "en", "fr"):
            raise ArgumentError(f"--language: expected en or fr with --data phrases, got {language}")
        self.language = language

    def words(self, digits: str) -> str:
        """Return the words of keys, in the order of the language."""
        pairs = [(COLOURS[colour], SHAPES[shape]) for colour, shape in zip(digits[::2], digits[1::2], strict=True)]
        if self.language == "fr":
            return " ".join(f"{noun} {colour[2 if feminine else 1]}" for colour, (_, noun, feminine) in pairs)
        return " ".join(f"{colour[0]} {shape[0]}" for colour, shape in pairs)

    @property
    def fingerprint(self) -> str:
        language = self.language or "en"
        return f"1 to {MOST_PHRASES} phrases in {language}, {self.words('172839405060')}: {Tones().fingerprint}"

    def _digits(self, split: str, index: int) -> tuple[str, torch.Generator]:
        draws = generator(0, "phrases", split, index)
        count = int(torch.randint(1, MOST_PHRASES + 1, (), generator=draws))
        numbers = [torch.randint(len(keys), (count,), generator=draws).tolist() for keys in (COLOURS, SHAPES)]
        return "".join([*COLOURS][colour] + [*SHAPES][shape] for colour, shape in zip(*numbers, strict=True)), draws
