"""The page of the report `experts` and its plot, all from report.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade import look
from saccade.look import Dots
from saccade.reports.document import Heading, Part, Table, Text
from saccade.reports.experts.findings import Findings
from saccade.reports.experts.measuring import BATCHES, SHUFFLES
from saccade.reports.experts.paper import CHECKED, PAPER
from saccade.reports.pages import about_data, beginning, picture, publish, runs, sentence, table
from saccade.reports.verdict import rule, told

__all__ = ["write_page"]

CLAIM = (
    "Experts that are left to their gate are loaded unevenly, and the model is worse for it; either of two losses, of "
    "the weights that experts get (importance) and of the tokens that they may expect (load), makes loads even, at any "
    "of five settings."
)
SOURCE = "Shazeer et al. 2017, appendix A, table 6, there of 256 experts in a language model, https://arxiv.org/abs/1701.06538"
_DECIDED = (
    "Each setting is held against no loss, by the coefficient of variation of the load and by the test perplexity. The "
    "error of a difference is that of the means over seeds, each of its own trainings (Welch). The report's claim is "
    "reproduced where all are, and contradicted where one is."
)
_BALANCE = (
    f"Balance is of {BATCHES} batches of training, with noise and dropout, after training: the mean over batches and "
    "over the model's mixtures. Importance is the sum of an expert's weights, load the number of tokens that it may "
    "expect (equation 10 of the paper). On the test split nothing is noisy and tokens are counted: loads that only the "
    "noise makes even are even in training alone. ± is the standard deviation over seeds."
)
_KNOWN = (
    "Which share of the entropy of a source token's first expert, in the encoder's last mixture, is known from the "
    "token itself, or from the group of its text (in built-in dates, the language): mutual information over the "
    "expert's entropy, on the test split. A layer behind attention knows more than the token."
)
_CHANCE = (
    f"By chance: the same of experts that are shuffled among the tokens, the mean over {SHUFFLES} shuffles. A "
    "sample of few tokens shares that much with a token or a group of many values, whatever the experts do."
)
_SAME = (
    "All models are trained by one recipe but for the weights of the losses; the one without experts has one network "
    "in their place, as large as an expert. Perplexity is that of the test split's tokens, given the true ones before."
)


def write_page(folder: Path, content: Mapping[str, Any]) -> None:
    """Write index.md, index.html and the plot that both show."""
    found = Findings(content)
    parts: list[Part] = [
        *beginning("Experts and their balance", CLAIM, SOURCE, found.verdict, content),
        _drawn(found, folder),
        Heading("Balance"),
        table(found.table()),
        Text(_BALANCE),
        *(Text(f"{sentence(text)}.") for text in told(found.claims()).split("; ")),
        Text("± of a difference is half of its 95% interval over seeds (Student's t, Welch's degrees of freedom)."),
        Text(rule(len(found.claims()))),
        Text("What the paper has:"),
        Table(["losses", "test perplexity", "CV(importance)", "CV(load)", "max / mean load"], _papers()),
        Text(CHECKED),
        Heading("What experts know"),
        table(found.knowledge()),
        Text(_KNOWN),
        *([Text(_CHANCE)] if found.has_chance else []),
        Heading("What it costs"),
        table(found.expenses()),
        Heading("How it was measured"),
        *map(Text, (_SAME, _experts(content), _DECIDED, *about_data(content, found.pairs))),
        *runs(content),
    ]
    publish(folder, parts)


def _drawn(found: Findings, folder: Path) -> Part:
    """The variation of loads, by the losses."""
    models = [model for model in found.models if found.seeds(model, "load")]
    series = []
    for name in ("importance", "load"):
        own = [seeds for model in models if (seeds := found.seeds(model, name))]
        series.append(Dots(name, [one.mean for one in own], [one.deviation for one in own]))
    title, label = (
        "How unevenly experts are loaded",
        "coefficient of variation; bars: the standard deviation over seeds",
    )
    return picture(look.dots(models, series, folder / "experts", label=label, title=title), title)


def _papers() -> list[list[str]]:
    return [
        [row.name, f"{row.perplexity}", f"{row.importance:.2f}", f"{row.load:.2f}", f"{row.most:.2f}"] for row in PAPER
    ]


def _experts(content: Mapping[str, Any]) -> str:
    arguments = content["arguments"]
    return f"Of {arguments['experts']} experts a token takes {arguments['top_k']}, in every other layer."
