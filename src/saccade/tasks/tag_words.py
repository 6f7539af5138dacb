"""Tags of words: words in, a tag each out, learned from words with tags."""

from functools import partial
from itertools import count
from random import Random
from typing import Any

from saccade.data.layouts.conll import conll
from saccade.tasks import parts

__all__ = ["TAG_WORDS", "Names"]

_FIRST = ("Ada", "Alan", "Emmy", "Florence", "Grace", "Jordan", "Marie", "Paris", "Sydney")
_LAST = ("Austin", "Curie", "Hopper", "Houston", "Lincoln", "London", "Noether", "Turing", "York")
_TOWNS = ("Austin", "Florence", "Houston", "Jordan", "Lincoln", "London", "Paris", "Rome", "Sydney", "York")
_FORMS = {
    "PER": ((_FIRST,), (_LAST,), (_FIRST, _LAST)),
    "LOC": ((_TOWNS,), (("New", "North", "South"), _TOWNS)),
    "ORG": ((_TOWNS, ("Bank", "Motors", "Museum")), (("Bank", "Museum"), ("of",), _TOWNS)),
}
"""Forms of names, part by part. Most words are in names of several kinds."""
_SENTENCES = (
    "PER lives in LOC",
    "PER flew from LOC to LOC",
    "PER wrote to PER about ORG",
    "PER left ORG and went back to LOC",
    "ORG hired PER of LOC",
    "last year LOC was colder than LOC",
    "last year PER was older than PER",
)


class Names(parts.Generated[parts.LabelledText]):
    """Sentences with names of people, places and firms, with tags of IOB2.

    Training is endless. The hash of a sentence decides its split, so no sentence is in two.

    Example:
        >>> Names().example("test", 0).label
        'B-PER I-PER O O B-PER O B-ORG I-ORG I-ORG'
    """

    held_out, fingerprint = 1000, "names 1"

    def make(self, split: str, index: int) -> parts.LabelledText:
        drawn = (_sentence(Random(parts.derive(0, "names", split, index, attempt))) for attempt in count())
        return parts.first_in(split, drawn, lambda example: example.text)


def _sentence(dice: Random) -> parts.LabelledText:
    words, tags = list[str](), list[str]()
    for word in dice.choice(_SENTENCES).split():
        if word in _FORMS:
            name = [dice.choice(part) for part in dice.choice(_FORMS[word])]
            words += name
            tags += [f"B-{word}", *[f"I-{word}"] * (len(name) - 1)]
        else:
            words.append(word)
            tags.append("O")
    return parts.LabelledText(" ".join(words), " ".join(tags))


_COLUMNS = (
    parts.Column("words", ("words", "text"), parts.words, what="words"),
    parts.Column("tags", ("tags",), parts.words, what="tags"),
)


def _open(options: Any, objects: Any) -> Any:
    return parts.open_rows(
        options.data,
        {"names": Names},
        _COLUMNS,
        partial(parts.Examples, make=lambda row: parts.LabelledText(row["words"], row["tags"])),
        parts.Names.of_options(options),
        objects,
        labels=lambda row: row["tags"].split(),
        blank=parts.Blank[parts.Row](lambda row: not row["words"], "texts, which are blank"),
        what="texts",
        check=_check,
        first=(conll,),
    )


def _check(row: parts.Row) -> None:
    words, tags = (len(row[name].split()) for name in ("words", "tags"))
    if words != tags:
        raise ValueError(f"expected a tag for each of {words} words, got {tags} tags")


TAG_WORDS = parts.Task(
    name="tag-words",
    summary="Tags of words: words in, a tag each out, learned from words with tags.",
    unit="words",
    headline="accuracy",
    models={"self-attention": "saccade.models.word_tagger:WordTagger"},
    builtin={"names": "sentences with names of people, places and firms; generated on the fly"},
    open=_open,
    codec=parts.WordLabelsCodec,
    predictor=parts.WordLabels,
    Options=parts.TextOptions,
    recipes={
        "names": {"learning_rate": 3e-3, "warmup_steps": 20, "max_steps": 300, "validation_steps": 100},
        "files": {"warmup_steps": 100, "validation_steps": 200, "patience": 5},
    },
    requests={"predict": parts.NoOptions, "eval": parts.NoOptions, "look": parts.LookRequest},
    columns=_COLUMNS,
)
"""The task, see docs/tag-words.md."""
