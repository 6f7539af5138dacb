"""Tags of words: words in, a tag each out, learned from words with tags."""

from functools import partial
from itertools import count
from random import Random
from typing import Any

from saccade.tasks import parts
from saccade.tasks.ensembles import shortest_texts

__all__ = ["TAG_WORDS", "Names", "open_words"]

HELD_OUT = 1000
"""Examples of validation, and of test."""

_GIVEN = ("Ada", "Alan", "Carl", "Emmy", "Florence", "Grace", "Jordan", "Marie", "Paris", "Sydney")
_FAMILY = ("Austin", "Curie", "Gauss", "Hopper", "Houston", "Lincoln", "London", "Noether", "Turing", "York")
_PLACES = ("Austin", "Florence", "Houston", "Jordan", "Lincoln", "London", "Paris", "Rome", "Sydney", "York")
_FORMS = {
    "PER": ((_GIVEN,), (_FAMILY,), (_GIVEN, _FAMILY)),
    "LOC": ((_PLACES,), (("New", "North", "South"), _PLACES)),
    "ORG": ((_PLACES, ("Bank", "Motors", "Museum")), (("Bank", "Museum"), ("of",), _PLACES)),
}
"""Parts of the names of people, places and firms. Most words are parts of several kinds of names."""
_SENTENCES = (
    "PER lives in LOC",
    "PER wrote to PER about ORG",
    "PER flew from LOC to LOC",
    "PER left ORG and went back to LOC",
    "ORG hired PER of LOC",
    "ORG sued PER and ORG",
    "LOC is far from LOC",
    "last year LOC was colder than LOC",
    "last year PER was older than PER",
    "nobody in LOC knew PER",
)


class Names(parts.Generated[parts.LabelledText]):
    """Sentences with names of people, places and firms, tagged as in CoNLL-2003 (IOB2).

    Training is endless. The hash of a sentence decides its split, so no sentence is in two.

    Example:
        >>> Names().example("train", 1)
        LabelledText(text='', label='', group='')
    """

    fingerprint = "names 1"

    @property
    def held_out(self) -> int:
        return HELD_OUT

    def make(self, split: str, index: int) -> parts.LabelledText:
        drawn = (_sentence(Random(parts.derive(0, "names", split, index, attempt))) for attempt in count())
        return parts.first_in(split, drawn, lambda example: example.text)


def _sentence(dice: Random) -> parts.LabelledText:
    words, tags = list[str](), list[str]()
    for word in dice.choice(_SENTENCES).split():
        if word in _FORMS:
            name = [dice.choice(part) for part in dice.choice(_FORMS[word])]
            words, tags = words + name, [*tags, f"B-{word}", *[f"I-{word}"] * (len(name) - 1)]
        else:
            words, tags = [*words, word], [*tags, "O"]
    return parts.LabelledText(" ".join(words), " ".join(tags))


BUILTIN = {"names": "sentences with names of people, places and firms; generated on the fly"}
_COLUMNS = (parts.Column("text", ("words", "text"), parts.words), parts.Column("label", ("tags",), parts.words))


def open_words(data: str, objects: Any = None, names: parts.SplitNames | None = None) -> Any:
    """Open words with tags.

    Args:
        data: a key of `BUILTIN`, a file, a folder, or "objects".
        objects: rows of words and tags, if data are Python objects.
        names: names of the splits.

    Raises:
        ArgumentError: if there are no such data, or naming the row that has more words than tags, or fewer.

    Example:
        >>> rows = [(f"Ada visits room {n}", ["PER", "O", "O", "O"]) for n in range(3)]
        >>> open_words("objects", rows).example("train", 0)
        LabelledText(text='Ada visits room 2', label='PER O O O', group='')
    """
    return parts.open_rows(
        data,
        {"names": Names},
        _COLUMNS,
        partial(parts.Examples, make=lambda row: parts.LabelledText(**row)),
        names,
        objects,
        labels=lambda row: row["label"].split(),
        blank=parts.Blank[parts.Row](lambda row: not row["text"], "texts, which are blank"),
        what="texts",
        check=_check,
    )


def _check(row: parts.Row) -> None:
    words, tags = (len(row[name].split()) for name in ("text", "label"))
    if words != tags:
        raise ValueError(f"expected a tag for each of {words} words, got {tags} tags")


TAG_WORDS = parts.Task(
    name="tag-words",
    summary="Tags of words: words in, a tag each out, learned from words with tags.",
    unit="words",
    headline="accuracy",
    models={"self-attention": "saccade.models.word_tagger:WordTagger"},
    builtin=BUILTIN,
    open=lambda options, objects: open_words(options.data, objects, parts.SplitNames.of_options(options)),
    codec=parts.WordLabelsCodec,
    predictor=parts.WordLabels,
    Options=parts.TextOptions,
    recipes={
        "names": {"learning_rate": 3e-3, "warmup_steps": 20, "max_steps": 300, "validation_steps": 100},
        "files": {"learning_rate": 3e-3, "warmup_steps": 50, "schedule": "constant", "max_steps": 3000, "patience": 4},
    },
    columns=lambda options: (_COLUMNS[0].names,),
    joined=shortest_texts,
)
"""The task, see docs/tag-words.md."""
