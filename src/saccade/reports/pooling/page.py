"""The page of the report `pooling` and its plot, all from report.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade.look.dot_plot import Dots, draw
from saccade.reports.document import Heading, Part, Table, Text
from saccade.reports.pages import beginning, picture, publish, runs
from saccade.reports.pooling.findings import OTHERS, Findings

__all__ = ["write_page"]

CLAIM = (
    "The more is made of the words of a sentence, the better it is classified: by their sum, by fixed attention "
    "(learned queries, compared with words by a product or an MLP, one or several), by self-attention, by attention "
    "over a GRU."
)
SOURCE = "after Yang et al. 2016, section 3, https://aclanthology.org/N16-1174, there for documents"
_SAME = (
    "All models are trained by one recipe: data, words, batches, dropout, budget, patience and seeds; learning rates "
    "and sizes are each model's own, chosen by the validation split. The weights are those of the best validation."
)
_SPREAD = (
    "± is the standard deviation over seeds, in the tables and in the plot. A model is better or worse than the one "
    "above it if their means differ by more than twice the standard error of the difference over seeds; with a single "
    "seed nothing is. What other test sentences would change is not in that error, and may be as large."
)
_NOT = (
    "The score is the logit of the positive label minus that of the negative one. In praise (the movie was good) a not "
    "has to move it down, in blame (the movie was bad) up. A sum adds the same for not to every sentence, so at most "
    "half of its pairs can move the right way."
)


def write_page(folder: Path, content: Mapping[str, Any]) -> None:
    """Write index.md, index.html and the plot that both show.

    Args:
        folder: of the report.
        content: of report.json, every row in it.

    Raises:
        OSError: if they cannot be written.
    """
    found = Findings(content)
    table, negation, pairs = found.table(), found.negation(), found.pairs()
    values = [100 * accuracy.mean for accuracy in found.accuracies.values()]
    spread = [100 * (accuracy.deviation or 0.0) for accuracy in found.accuracies.values()]
    title, label = (
        "Accuracy by what is made of the words",
        "accuracy on test, %; bars: the standard deviation over seeds",
    )
    drawn = draw(found.models, [Dots("accuracy", values, spread)], folder / "pooling", label=label, title=title)
    parts: list[Part] = [
        *beginning("Attention as pooling", CLAIM, SOURCE, found.verdict, content),
        picture(drawn, title),
        Heading("Accuracy"),
        Table(table[0], table[1:]),
        Text(_SPREAD),
        Text(_others()),
        Heading("What a not does"),
        Table(negation[0], negation[1:]),
        Text(_NOT),
        Text("Probability of the positive label without the not, and with it; means over seeds:"),
        Table(pairs[0], pairs[1:]),
        Heading("How it was measured"),
        *map(Text, (_SAME, _data(found))),
        *runs(content),
    ]
    publish(folder, parts)


def _others() -> str:
    """What the figures are not to be compared with as equals."""
    named = ", ".join(f"{name} {accuracy:.1f}" for name, accuracy in OTHERS.items())
    return (
        f"What others report on the test split of SST-2: {named}. That begins with word vectors that were learned "
        "elsewhere, on far more text; all models here begin with vectors that are drawn, and learn from the training "
        "split alone."
    )


def _data(found: Findings) -> str:
    content = found.content
    seeds = ", ".join(map(str, sorted({run["seed"] for run in content["runs"].values()})))
    negative, positive = found.probes[0]["labels"]
    data = (
        f"Data: `{content['data']}`, test split, {found.texts} texts; `{positive}` is positive, `{negative}` negative."
    )
    return f"{data} Seeds: {seeds}. No word vectors from elsewhere."
