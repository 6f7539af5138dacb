"""The page of the report `pooling` and its plots, all from report.json."""

import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from saccade import look
from saccade.look import Dots
from saccade.reports.document import Heading, Part, Table, Text
from saccade.reports.pages import beginning, picture, publish, runs, table
from saccade.reports.pooling.findings import OTHERS, VECTORS, Findings
from saccade.reports.pooling.picture import Point, draw_words
from saccade.reports.verdict import bars, rule

__all__ = ["write_page"]

CLAIM = (
    "The more is made of the words of a sentence, the better it is classified: by their sum, by fixed attention "
    "(learned queries, compared with words by a product or an MLP, one or several), by self-attention, by attention "
    "over a GRU; and where words know their neighbours, a not lowers the weight of the word that it denies."
)
SOURCE = (
    "after Yang et al. 2016, section 3.4, https://aclanthology.org/N16-1174, who have attention over a GRU above its "
    "mean and its maximum, for documents; the other steps and the not are this report's own"
)
_SAME = (
    "All models are trained by one recipe: data, words, batches, dropout, budget, patience and seeds; learning rates "
    "and sizes are each model's own, chosen by the validation split. The weights are those of the best validation."
)
_NOT = (
    "The score is the logit of the positive label minus that of the negative one. In praise (the movie was good) a not "
    "has to move it down, in blame (the movie was bad) up. A sum adds the same for not to every sentence, so at most "
    "half of its pairs can move the right way."
)
_WEIGHTS = (
    "The weight is that of the word that is denied, the mean over queries, pairs and seeds. A not takes some weight "
    "from every other word by the softmax alone, whatever it means; so it is asked how much the word weighs beside the "
    "others that both sentences have, in nats: the difference of its score and the mean of theirs. Under fixed "
    "attention that is the same with and without a not, by construction."
)
_DIRECTIONS = (
    "To the right are words that the learned query looks for, which take the sentence's weight; above those that speak "
    "for the positive label, below those that speak for the negative one: their vectors' projections on both "
    "directions. A word counts by both. Red: not, and the words that it denies in the "
    "sentences above."
)


def write_page(folder: Path, content: Mapping[str, Any]) -> None:
    """Write index.md, index.html and the plots that both show."""
    found = Findings(content)
    parts: list[Part] = [
        *beginning("Attention as pooling", CLAIM, SOURCE, found.verdict, content),
        _plot(found, folder),
        *_accuracies(found),
        *_not(found),
        *_directions(found, folder),
        Heading("How it was measured"),
        *map(Text, (_SAME, _data(found))),
        *runs(content),
    ]
    publish(folder, parts)


def _plot(found: Findings, folder: Path) -> Part:
    each = [found.accuracies(model) for model in found.models]
    values = [100 * statistics.fmean(own) for own in each]
    deviations = [100 * statistics.stdev(own) if len(own) > 1 else 0.0 for own in each]
    title, label = (
        "Accuracy by what is made of the words",
        "accuracy on test, %; bars: the standard deviation over seeds",
    )
    series = [Dots("accuracy", values, deviations)]
    return picture(look.dots(found.models, series, folder / "pooling", label=label, title=title), title)


def _accuracies(found: Findings) -> Iterator[Part]:
    """A table of words that are drawn, and one of words that begin with vectors from a file."""
    for place, models in enumerate(found.ladders):
        header, *rows = found.table(place)
        yield Heading("Accuracy, with vectors from elsewhere" if models[0].endswith(VECTORS) else "Accuracy")
        yield Table(header, rows)
    yield Text(
        "± of an accuracy, in percent, is its standard deviation over seeds; beside the one above, in points: "
        f"{found.note} {rule(len(found.claims()))}"
    )
    yield Text(_others())


def _not(found: Findings) -> Iterator[Part]:
    yield Heading("What a not does")
    yield from (table(found.negation()), Text(_NOT))
    if weighed := found.weighed():
        yield from (
            Heading("What a not does to weights"),
            table(weighed),
            Text(f"{_WEIGHTS} {bars('pairs', found.seeds)}"),
        )
    yield Text("Probability of the positive label without the not, and with it; means over seeds:")
    yield table(found.pairs())


def _directions(found: Findings, folder: Path) -> Iterator[Part]:
    if (drawn := found.drawn()) is None:
        return
    model, words = drawn
    title = f"Words along the learned query and along sentiment: {model}, seed 1"
    marked = {"not", *(pair["word"] for pair in found.probes[0]["pairs"])}
    points = [Point(*word) for word in words]
    labels = ("along the learned query", "along the output's weights: positive less negative")
    yield Heading("Two directions")
    yield picture(draw_words(points, folder / "directions", labels=labels, title=title, marked=marked), title)
    yield Text(_DIRECTIONS)


def _others() -> str:
    """What the figures are not to be compared with as equals."""
    named = ", ".join(f"{name} {accuracy:.1f}" for name, accuracy in OTHERS.items())
    return (
        f"What others report on the test split of SST-2: {named}. That begins with word vectors that were learned "
        "elsewhere, on far more text; models here begin with vectors that are drawn, unless it is said, and learn from "
        "the training split alone."
    )


def _data(found: Findings) -> str:
    content = found.content
    seeds = ", ".join(map(str, sorted({run["seed"] for run in content["runs"].values()})))
    negative, positive = found.probes[0]["labels"]
    vectors, split = (content["arguments"].get(name) for name in ("vectors", "train_split"))
    split = f", trained on `{split}`" if split else ""
    data = f"Data: `{content['data']}`{split}, test split, {found.texts} texts; `{positive}` is positive, "
    told = f"Word vectors of `{vectors}`." if vectors else "No word vectors from elsewhere."
    return f"{data}`{negative}` negative. Seeds: {seeds}. {told}"
