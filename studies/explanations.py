"""Attributions beside deciding inputs (after Abnar, Zuidema 2020)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar

import torch

from saccade import look
from saccade.errors import ArgumentError
from saccade.look import Dots
from saccade.tasks.caption import CAPTION
from saccade.tasks.caption import data as captions
from saccade.tasks.classify_text import CLASSIFY_TEXT
from saccade.tasks.classify_text import data as texts
from saccade.tasks.task import Job
from saccade.tasks.translate import TRANSLATE
from saccade.tasks.translate import data as pairs
from saccade.train.results import undisturbed
from studies.frame.attributions import ATTENTION, BLANKED, FLOW, ROLLOUT
from studies.frame.claims import Claim, Estimate, both_bars, conclude, nothing, rule, tabled
from studies.frame.explained import DEPTHS, KINDS, MEASURED
from studies.frame.options import Seeded
from studies.frame.page import costs, curve, paragraphs, picture, table
from studies.frame.seeds import between, spread, unpack
from studies.frame.study import Study, Work
from studies.frame.training import Part, Trainings, Variant, scheduled

#: Spearman's correlation with blank-out by layer, for verb number prediction (Abnar, Zuidema 2020, table 1).
PAPER = {
    ATTENTION: (0.69, 0.10, -0.11, -0.09, 0.20, 0.29),
    ROLLOUT: (0.32, 0.38, 0.51, 0.62, 0.70, 0.71),
    FLOW: (0.32, 0.44, 0.70, 0.70, 0.71, 0.70),
}
_FEW = 20  # examples with --quick
_STEPS = 1000  # of the classifier, whose recipe is for a single layer
_READER = Variant(
    "self-attention",
    "self-attention",
    {"layers": 6, "word_dropout": 0.1, "learning_rate": 2e-3, "schedule": "cosine", "warmup_steps": 100}
    | dict.fromkeys(("max_steps", "schedule_steps"), _STEPS),
)
_TRANSLATOR = Variant("transformer", "transformer")
_THINGS = (2, 2)  # the fewest and the most of a scene
_CAPTIONER = Variant(
    "show-attend-and-tell",
    "show-attend-and-tell",
    {"widths": "24,32", "cell_dim": 64, "hidden_dim": 128, "embedding_dim": 64, "least": 2, "most": 2}
    | {"max_steps": 800, "schedule_steps": 800, "warmup_steps": 50}
    | {"validation_steps": 200, "checkpoint_steps": 400, "validation_examples": 100},
)


@dataclass(frozen=True)
class Labelled:
    """Built-in data with known deciding inputs.

    Args:
        variant: the model.
        metric: of its run.
        learned: the value of the metric that it has to reach.
        unit: word for examples.
        inputs: the inputs that decide, in words.
        examples: number of test examples with attributions.
    """

    task: Any
    variant: Variant
    metric: str
    learned: float
    unit: str
    inputs: str
    examples: int


DATA = {
    "dates": Labelled(TRANSLATE, _TRANSLATOR, "exact_match", 0.9, "sentences", "the part that decides", 60),
    "reviews": Labelled(CLASSIFY_TEXT, _READER, "accuracy", 0.9, "texts", "a word that decides", 100),
    "scenes": Labelled(CAPTION, _CAPTIONER, "exact_match", 0.5, "images", "the thing of the word", 60),
}


@dataclass(frozen=True, kw_only=True)
class Options(Seeded):
    """Options of the study."""

    builtin: ClassVar[Mapping[str, str]] = {
        "dates": pairs.BUILTIN["dates"],
        "reviews": texts.BUILTIN["reviews"],
        "scenes": captions.BUILTIN["scenes"],
    }

    data: str = ""
    """Built-in data with known deciding inputs: dates, reviews or scenes."""

    examples: int | None = None
    """Test examples with attributions. Default: 100 reviews, else 60; --quick: 20."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.examples is not None and self.examples < 2:
            raise ArgumentError(f"--examples: expected 2 or more, got {self.examples}")


def _open(options: Options) -> Any:
    if options.data == "scenes":
        return captions.open_corpus(options.data, things=_THINGS)
    return pairs.open_corpus(options.data) if options.data == "dates" else texts.open_corpus(options.data)


def _measure(options: Options) -> Work:
    if (options.data or "reviews") not in DATA:
        raise ArgumentError(f"--data: expected {' or '.join(DATA)}, with known deciding inputs, got {options.data}")
    about = DATA[options.data or "reviews"]
    return Trainings(_variants, _parts, "reviews", task=about.task, open_data=_open)(options)


def _variants(options: Options) -> list[Variant]:
    variant = DATA[options.data].variant
    return [replace(variant, values={**variant.values, **scheduled(options)})]


def _parts(_: Any, options: Options) -> list[Part]:
    measure = MEASURED[options.data]
    count = options.examples or (_FEW if options.quick else DATA[options.data].examples)

    def measured(task: Job, model: Any, seed: int) -> dict[str, Any]:
        with undisturbed(model, seed, "test"), torch.inference_mode(mode=False):
            return measure(task, model, count)

    return [Part({"measured": "attributions"}, measured)]


class Findings:
    """Deciding inputs found by each attribution, correlations, and the verdict."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content, self.rows, self.about = content, content["rows"], DATA[content["data"]]
        self.names: list[str] = list(self.rows[0]["hits"])
        claimed = {
            f"by {name} the largest score lies on {self.about.inputs} more often than by attention": self.beside(name)
            for name in self.names
            if name != ATTENTION
        }
        claims = [Claim(text, number, number.long()) for text, number in claimed.items()]
        if "ranks" in self.rows[0]:
            for name in (ROLLOUT, FLOW):
                text = f"{name} ranks words more as blank-out does than attention weights do, by Spearman's correlation"
                number = between(self.shares("ranks", name), self.shares("ranks", ATTENTION), paired=True, of="texts")
                claims.append(Claim(text, number, number.text(3, signed=True)))
        self.claims = claims
        right = fmean(self.right())
        poor = f"the models have learned too little: right are {right:.1%}; train them longer"
        self.verdict = conclude(claims) if right >= self.about.learned else nothing(poor)

    def right(self) -> list[float]:
        """Return the metric of each run."""
        return [run["metrics"][self.about.metric] for run in self.content["runs"].values()]

    def shares(self, key: str, name: str | None = None) -> list[list[float]]:
        """Return numbers of each example, a row a seed."""
        return [unpack(row[key] if name is None else row[key][name], "shares") for row in self.rows]

    def beside(self, name: str, other: str | None = ATTENTION) -> Estimate:
        """Return how much more often a method hits than another, or than chance if None."""
        theirs = self.shares("any") if other is None else self.shares("hits", other)
        return between(self.shares("hits", name), theirs, paired=True, of=self.about.unit)

    def depth(self, name: str) -> list[Estimate]:
        """Return the correlation with blank-out after each layer."""
        layers = zip(*([unpack(part, "shares") for part in row["depths"][name]] for row in self.rows), strict=True)
        return [between(values, [[0.0] * len(values[0])] * len(values), paired=True, of="texts") for values in layers]

    def hits(self) -> list[list[str]]:
        """Return the table of hits, in percent."""
        rows = [["scores", f"largest on {self.about.inputs}, %", "beyond chance", "beyond attention"]]
        for name in self.names:
            share = spread([fmean(seed) for seed in self.shares("hits", name)])
            beside = "" if name == ATTENTION else self.beside(name).short()
            rows.append([name, share, self.beside(name, None).short(), beside])
        rows.append(["any input at random", f"{100 * fmean(self.shares('any')[0]):.2f}", "", ""])
        if "centre" in self.rows[0]:
            rows.append(["the middle of the image", f"{100 * fmean(self.shares('centre')[0]):.2f}", "", ""])
        return rows

    def more(self) -> str:
        """Return the sections that only texts have."""
        if "ranks" not in self.rows[0]:
            return ""
        kinds = [["scores", *(f"on the {kind}, %" for kind in KINDS)]]
        kinds += [
            [name, *(spread(part) for part in zip(*(row["kinds"][name] for row in self.rows), strict=True))]
            for name in self.names
        ]
        parts = [
            "### Kinds of words",
            table(kinds),
            _unwrapped(_KIND_TEXT),
            "## Correlation with blank-out",
            table(self.ranks()),
        ]
        measures = list(self.rows[0]["faithful"])
        faithful = [["scores", *measures]]
        for name in [*self.names, "random"]:
            cells = ([row["faithful"][measure][name] for row in self.rows] for measure in measures)
            faithful.append([name, *(spread(cell, 3, 1) for cell in cells)])
        return paragraphs(
            *parts,
            _unwrapped(_RANK_TEXT) + " " + self.first_layer(),
            *("## Faithfulness", table(faithful), _unwrapped(_FAITHFUL_TEXT)),
        )

    def first_layer(self) -> str:
        """Return the correlations of layer 1, rollout and the pooling in words."""
        first = self.depth(ATTENTION)[0].value
        rollout, pooling = (fmean(map(fmean, self.shares("ranks", name))) for name in (ROLLOUT, ATTENTION))
        return (
            f"Attention of layer 1, as the pooling reads it, has {first:.2f} beside {rollout:.2f} of rollout through "
            f"all layers. The claim compares rollout with the pooling's weights alone, which have {pooling:.2f}."
        )

    def ranks(self) -> list[list[str]]:
        """Return the table of correlations by layer, beside the paper's."""
        layers = max(len(self.depth(ATTENTION)), len(PAPER[ATTENTION]))
        rows = [["scores", *(f"layer {number}" for number in range(1, 1 + layers)), "read by the pooling"]]
        for name in self.names:
            if name == BLANKED:
                continue
            cells = [number.text(2) for number in self.depth(name)] if name in DEPTHS else []
            last = spread([fmean(seed) for seed in self.shares("ranks", name)], 2, 1)
            rows.append([name, *cells, *[""] * (layers - len(cells)), last])
        for name, numbers in PAPER.items():
            cells = [f"{number:.2f}" for number in numbers]
            rows.append([f"{name}, of the paper", *cells, *[""] * (layers - len(cells)), ""])
        return rows

    def fields(self) -> dict[str, Any]:
        return {
            "claims": tabled(self.claims),
            "bars": both_bars(self.about.unit, len(self.rows)),
            "rule": rule(len(self.claims)),
            "hits": self.hits(),
            "more": self.more(),
            "how": _HOW[self.content["data"]],
            "note": self.content.get("note", ""),
            "right": f"{self.about.metric.replace('_', ' ')} {spread(self.right())}%",
            "costs": costs(self.content, [self.about.variant.name]),
            "count": self.rows[0]["examples"],
            "unit": self.about.unit,
            "data": self.content["data"],
        }


def _unwrapped(text: str) -> str:
    return " ".join(text.split())


def _plot(result: Findings, folder: Path) -> dict[str, str]:
    numbers = {name: result.beside(name, None) for name in result.names}
    chance = fmean(result.shares("any")[0])
    heights, bars = [100 * (chance + x.value) for x in numbers.values()], [x.measured.half() for x in numbers.values()]
    title = f"The largest score lies on {result.about.inputs}"
    label = f"{result.about.unit}, %; by chance {100 * chance:.0f}%; bars: 95% intervals"
    dots = Dots(title, heights, [100 * bar for bar in bars])
    drawn = picture(look.dots(list(numbers), [dots], folder / "explanations", label=label, title=title), title)
    if "ranks" not in result.rows[0]:
        return {"picture": drawn, "layers": ""}
    lines, title = [], "Correlation with blank-out by layer"
    for name in DEPTHS:
        ours = result.depth(name)
        lines.append(curve(name, list(range(1, 1 + len(ours))), ours))
    drawn_of_paper = (ATTENTION, ROLLOUT)  # a chart has five styles
    lines += [look.Curve(f"{name}, paper", list(range(1, 7)), list(PAPER[name])) for name in drawn_of_paper]
    labels = ("layer; bars: 95% intervals", "Spearman's correlation")
    drawn_layers = look.curves(lines, folder / "layers", labels=labels, title=title, beside=True)
    return {"picture": drawn, "layers": picture(drawn_layers, title)}


_KIND_TEXT = """
The words that decide are the opinion of the main clause, its negation, and the conjunction of two clauses. The opinion
of the other clause, with its negation, decides nothing. The rest falls on other words.
"""
_RANK_TEXT = """
After Abnar and Zuidema's table 1: scores are correlated with the change of the true class's probability as the unknown
word replaces each word. Their model has 6 layers as well, and predicts the number of a verb, 96% of them right, on
2,000 sentences. They read the row of a [CLS] token. Here the pooling's weights read the rows of each layer, and the
last column has the pooling's own weights, or the scores of the whole model. ± is half of a 95% interval, and in the
last column a standard deviation over seeds.
"""
_FAITHFUL_TEXT = """
Of the probability of the true class, where DeYoung et al. 2020 take the predicted one. Deletion and insertion are those
of Petsiuk et al. 2018. Comprehensiveness and insertion are
better if higher, sufficiency and deletion if lower. Random orders are 5 for each text. ± is a standard deviation over
seeds. Blank-out removes words as these measures do, so it has an advantage.
"""
_HOW = {
    "dates": "Each digit of year, month and day is decided by one part of the source, and a text counts by the share "
    "of its digits. Attention is the mean of heads of the last decoder layer but one, as `saccade look` draws it. "
    "Rollout and flow are those of the graph of all layers, from a digit's position in the decoder to the source. "
    "They extend Abnar and Zuidema's single stack by attention to the source, with its residual connection. "
    "Gradient-weighted attention is Chefer, Gur and Wolf's Eq. 5 and 6 on the graph of both stacks, unlike the paper's "
    "rule for two inputs (Eq. 8 to 11). "
    "The unknown token replaces a blanked one.",
    "reviews": "Attention is the weights of the pooling, which `saccade look` draws. Rollout and flow start there and "
    "follow the layers down to the words. The unknown word replaces a blanked one, and training knows it by "
    "`--word-dropout`.",
    "scenes": "Words are the colours and shapes of a true caption of two things, and an image counts by the share of "
    "its words. A hit has the middle of the cell in the box of the word's own thing. Grad-CAM is that of the last map "
    "of the encoder. Integrated gradients are summed over the pixels of a cell. A blanked cell is black.",
}


STUDY = Study(
    sentence="attributions find what decides more often than attention weights do "
    "(Abnar, Zuidema 2020; Bastings, Filippova 2020)",
    title="Which attributions find what decides?",
    claim="The largest score lies on an input that decides the output more often by rollout, by flow, by gradients "
    "and by blanking inputs out than by attention weights. In a classifier, rollout and flow also rank words more as "
    "blank-out does.",
    source="rollout and flow: Abnar, Zuidema 2020, https://arxiv.org/abs/2005.00928; attention times gradients: "
    "Chefer, Gur, Wolf 2021, https://arxiv.org/abs/2103.15679; gradients and erasure in place of attention: Bastings, "
    "Filippova 2020, https://arxiv.org/abs/2010.05607; integrated gradients: Sundararajan et al. 2017, "
    "https://arxiv.org/abs/1703.01365; Grad-CAM: Selvaraju et al. 2017, https://arxiv.org/abs/1610.02391",
    options=Options,
    measure=_measure,
    compare=Findings,
    plot=_plot,
    body="""
{picture}

## What is claimed

{claims}

{bars} {rule} Both sides of a difference are of the same trained models.

## Inputs that decide

{hits}

Of equal largest scores each counts its part. By chance an input is drawn evenly.

{layers}

{more}

## How it was measured

The models have {right}.

{costs}

{how}

Scores explain the true output. Gradients are those of its logit, and integrated gradients start from zeros. Blank-out
is the fall of its probability. An input that decides by the rule of the data need not be the one that the model used,
so a miss may be the model's.

Data: `{data}`, the first {count} {unit} of the test split, of which none is trained on.

{note}

{runs}
""",
)
