"""Inputs that move each output: the sequential Jacobian (Graves 2012)."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from saccade import look
from saccade.errors import ArgumentError
from saccade.look import Curve
from saccade.tasks.generate.attention import weights_of
from saccade.tasks.looking import MOVED
from saccade.tasks.task import Job
from saccade.tasks.translate.codec import encode, pad
from saccade.tasks.translate.data import BUILTIN
from saccade.tasks.translate.data.corpus import Corpus, Pair
from saccade.tasks.translate.gradients import jacobian
from saccade.tasks.translate.metrics import length_groups
from studies.frame.claims import Claim, both_bars, conclude, judged, nothing, rule
from studies.frame.deciding import deciding
from studies.frame.options import Trained
from studies.frame.page import costs, deviations, paragraphs, picture, sentence
from studies.frame.scores import SENTENCES, by_model
from studies.frame.seeds import between, pack, spread, unpack
from studies.frame.study import Study
from studies.frame.training import Part, Trainings, Variant, opened, tested

JACOBIAN, ATTENTION, WORD = "jacobian", "attention", "word"
ATTENDS, WITHOUT = "rnnsearch", ("encoder-decoder", "bytenet")
MODELS, QUICK = (ATTENDS, *WITHOUT, "transformer"), 3  # and the number for which --quick has time
STEPS = (5, 10, 20)  # steps beyond which shares are summed
STEP = 10  # of the picture
DISTANCES = ("0-5", "6-10", "11-20", "21-")  # steps from an output to the middle of the word that decides it
LEARNED = 0.5  # share of right targets: below it, a model's gradients mean little
_FEW = 60  # sentences at most with --quick
_DATE, _YEAR = len("2025-06-18 "), len("2025")


@dataclass(frozen=True, kw_only=True)
class Options(Trained):
    """Options of the study."""

    builtin: ClassVar[Mapping[str, str]] = {name: BUILTIN[name] for name in ("dates", "several-dates")}

    data: str = ""
    """Built-in dates, each output of one word: dates, or several-dates."""

    sentences: int = 200
    """Sentences of the test split with a Jacobian; with --quick at most 60."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sentences < 2:
            raise ArgumentError(f"--sentences: expected 2 or more, got {self.sentences}")


def _open_dates(options: Options) -> Corpus:
    if options.data not in options.builtin:
        expected = f"{' or '.join(options.builtin)}, whose outputs are each decided by a known word"
        raise ArgumentError(f"--data: expected {expected}, got {options.data}")
    return opened(options)


def ways(task: Job, model: Any, pair: Pair) -> dict[str, Tensor]:
    """Return shares of inputs by the Jacobian and by attention, `(outputs, inputs)`.

    A row sums to one less the share of the source's end. A model without attention has the Jacobian alone.
    """
    [ids] = encode([pair], task.codec.source, task.codec.target)
    rows, columns = len(ids.target), len(ids.source)
    weighed = {JACOBIAN: look.shares(jacobian(model, ids.source, ids.target))[:rows, :columns]}
    batch = pad([ids]).to(next(model.parameters()).device)
    with torch.no_grad():
        weights = weights_of(model, model.encode(batch.source), batch.target[:, :-1])
    if weights is not None:
        weighed[ATTENTION] = weights[0, :rows, :columns].double()
    return weighed


def columns(weights: Sequence[Tensor], words: Sequence[Sequence[range]], groups: Sequence[str]) -> dict[str, Any]:
    """Return statistics of weights `(outputs, inputs)` of sentences.

    The words are the inputs that decide each output, none of an output that is always the same. Over the decided
    outputs of a sentence, "share" is the mean share on the word. "found" is how often the largest weight is on it, and
    "digit" how often it is on the very digit of a year. Over all sentences, "beyond" are mean shares farther away than
    some steps, by the source's length, and "near" hits and outputs by the word's distance.
    """
    means: dict[str, list[float]] = {"share": [], "found": [], "digit": []}
    beyond: dict[str, dict[int, list[float]]] = {group: {least: [] for least in STEPS} for group in groups}
    near: dict[str, list[bool]] = {name: [] for name in DISTANCES}
    for matrix, ranges, group in zip(weights, words, groups, strict=True):
        decided, peaks = [output for output, word in enumerate(ranges) if word], matrix.argmax(-1).tolist()
        right = [peaks[output] in ranges[output] for output in decided]
        years = [peaks[output] == ranges[output][output % _DATE] for output in decided if output % _DATE < _YEAR]
        on_word = [float(matrix[output, list(ranges[output])].sum()) for output in decided]
        numbers: tuple[Sequence[float], ...] = on_word, right, years
        for name, values in zip(means, numbers, strict=True):
            means[name].append(statistics.fmean(values))
        steps = (torch.arange(matrix.shape[1]) - torch.arange(len(matrix))[:, None]).abs()
        for least, far in beyond[group].items():
            far += torch.where(steps > least, matrix, 0.0).sum(-1)[decided].tolist()
        for output, hit in zip(decided, right, strict=True):
            distance = abs((ranges[output].start + ranges[output].stop - 1) / 2 - output)
            near[DISTANCES[sum(distance >= int(name.split("-")[0]) for name in DISTANCES[1:])]].append(hit)
    return {
        **{name: pack(values, "shares") for name, values in means.items()},
        "beyond": {
            group: {str(least): round(statistics.fmean(far), 5) for least, far in by_steps.items()}
            for group, by_steps in beyond.items()
        },
        "near": {name: [sum(hits), len(hits)] for name, hits in near.items() if hits},
    }


def measured(task: Job, model: Any, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return the columns of a row, with the true targets as outputs.

    The way `WORD` is that of a model that reads the deciding word alone, evenly.
    """
    groups, words = length_groups([pair.source for pair in pairs], "characters"), [*map(deciding, pairs)]
    weighed, even = [ways(task, model, pair) for pair in pairs], list[float]()
    example = {name: [[round(x, 4) for x in row] for row in weights.tolist()] for name, weights in weighed[0].items()}
    for pair, matrices, ranges in zip(pairs, weighed, words, strict=True):
        matrices[WORD] = torch.zeros(len(ranges), len(pair.source), dtype=torch.float64)
        for output, word in enumerate(ranges):
            matrices[WORD][output, list(word)] = 1 / max(1, len(word))
        even.append(statistics.fmean(len(word) / len(pair.source) for word in ranges if word))
    order = sorted({*groups}, key=lambda group: int(group.split("-")[0]))
    return {
        "sentences": len(pairs),
        "even": round(statistics.fmean(even), 5),
        "lengths": {group: groups.count(group) for group in order},
        "ways": {name: columns([matrices[name] for matrices in weighed], words, groups) for name in weighed[0]},
        "example": {"source": pairs[0].source, "target": pairs[0].target, **example},
    }


def variants(options: Options) -> list[Variant]:
    """Return the translators, each with its own recipe."""
    return [Variant(model, model) for model in MODELS[: QUICK if options.quick else None]]


def _parts(corpus: Corpus, options: Options) -> list[Part]:
    count = min(options.sentences, _FEW) if options.quick else options.sentences
    pairs = tested(corpus)[:count]
    return [Part({"measured": "jacobian"}, lambda task, model, seed: measured(task, model, pairs))]


class Findings:
    """Shares on the word that decides, how far outputs reach, and the verdict."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content, self.rows = content, by_model(content["rows"])
        self.first: Mapping[str, Any] = content["rows"][0]
        names = (JACOBIAN, ATTENTION)
        self.ways = [(model, way) for model, rows in self.rows.items() for way in names if way in rows[0]["ways"]]
        self.gains = {
            f"more of {ATTENDS}'s {name} is on the word that decides than of {other}'s Jacobian": between(
                self._shares(ATTENDS, way, "share"), self._shares(other, JACOBIAN, "share"), of=SENTENCES
            )
            for way, name in ((JACOBIAN, "Jacobian"), (ATTENTION, "attention"))
            for other in WITHOUT
        }
        right = {name: statistics.fmean(self.right(name)) for name in (ATTENDS, *WITHOUT)}
        few = [f"{name} {100 * share:.1f}%" for name, share in right.items() if share < LEARNED]
        poor = f"models have learned too little: right are {', '.join(few)}; train them longer"
        claims = [Claim(text, gain, gain.long()) for text, gain in self.gains.items()]
        self.verdict = nothing(poor) if few else conclude(claims)

    def _shares(self, model: str, way: str, key: str) -> list[list[float]]:
        return [unpack(row["ways"][way][key], "shares") for row in self.rows[model]]

    def right(self, model: str) -> list[float]:
        return [run["metrics"]["exact_match"] for run in self.content["runs"].values() if run["model"] == model]

    def _tabled(self, names: Sequence[str], cells: Callable[[str, str], list[list[float]]]) -> list[list[str]]:
        rows = [[model, way, *map(spread, cells(model, way))] for model, way in self.ways]
        return [["model", "what is asked", *names], *rows]

    def table(self) -> list[list[str]]:

        def cells(model: str, way: str) -> list[list[float]]:
            shares = (self._shares(model, way, key) for key in ("share", "found", "digit"))
            return [self.right(model), *([*map(statistics.fmean, rows)] for rows in shares)]

        names = ["targets right", "on the word", "most on the word", "on the very digit"]
        return [*self._tabled(names, cells), ["an even share", "", "", f"{100 * self.first['even']:.2f}", "", ""]]

    def beyond(self, model: str, way: str, group: str, least: int = STEP) -> list[float]:
        """Return the share more than `least` steps away, one a seed."""
        return [row["ways"][way]["beyond"][group][str(least)] for row in self.rows[model]]

    def reach(self, least: int = STEP) -> list[list[str]]:
        """Return the shares beyond some steps by the source's length, in percent."""
        groups = list(self.first["lengths"])
        table = self._tabled(groups, lambda model, way: [self.beyond(model, way, group, least) for group in groups])
        word = [f"{100 * self.beyond(ATTENDS, WORD, group, least)[0]:.2f}" for group in groups]
        return [*table, ["the word that decides", "", *word]]

    def by_distance(self) -> list[list[str]]:
        """Return how often the word is found by its distance, in percent."""
        names = [name for name in DISTANCES if name in self.first["ways"][JACOBIAN]["near"]]

        def cells(model: str, way: str) -> list[list[float]]:
            near = [row["ways"][way]["near"] for row in self.rows[model]]
            return [[hits / count for hits, count in (counts[name] for counts in near)] for name in names]

        return self._tabled(names, cells)

    def fields(self) -> dict[str, Any]:
        results = zip(self.gains.items(), judged([*self.gains.values()]), strict=True)
        claims = [[text, gain.short(), result] for (text, gain), result in results]
        lengths = ", ".join(f"{count} of {group}" for group, count in self.first["lengths"].items())
        return {
            "claims": [["claim", "difference, points", "verdict"], *claims],
            "bars": f"{both_bars(SENTENCES, len(self.rows[ATTENDS]))} {rule(len(self.gains))}",
            "table": self.table(),
            "distances": self.by_distance(),
            **{f"reach_{least}": self.reach(least) for least in STEPS},
            "costs": costs(self.content, list(self.rows)),
            "sentences": self.first["sentences"],
            "lengths": lengths,
            "data": self.content["data"],
        }


def _plot(result: Findings, folder: Path) -> dict[str, str]:
    groups, title = list(result.first["lengths"]), f"Share beyond {STEP} steps, by the source's length"
    middles, curves, examples = [float(group.split("-")[0]) + 4.5 for group in groups], [], []
    for model, way in result.ways:
        if way == JACOBIAN or model == ATTENDS:
            far = deviations(result.beyond(model, way, group) for group in groups)
            label = model if way == JACOBIAN else f"{model}, {way}"
            curves.append(Curve(label, middles, *far))
        named, verb = ("sequential Jacobian, shares of each row", MOVED) if way == JACOBIAN else (way, "attends to")
        example, name, path = result.rows[model][0]["example"], f"{model}: {named}", folder / f"{model}-{way}"
        weights, sides = torch.tensor(example[way]), (list(example["source"]), list(example["target"]))
        scale = "share" if way == JACOBIAN else "weight"
        drawn = look.alignment(weights, *sides, path, title=name, verb=verb, scale=scale)
        examples.append(picture(drawn, sentence(name)))
    drawn = look.curves(
        curves,
        folder / "implicit",
        ticks=list(zip(middles, groups, strict=True)),
        labels=("characters in the source; bars: standard deviation over seeds", "share"),
        title=title,
        note="Of the Jacobian unless it says attention",
        bounds=(0.0, None),
        beside=True,
    )
    return {"picture": picture(drawn, title), "examples": paragraphs(*examples)}


STUDY = Study(
    sentence="with attention, outputs move more with the inputs that decide them (after Graves 2012, chapter 3)",
    title="What moves an output, with attention and without",
    claim="A network without attention attends implicitly: its outputs move with some inputs more than with others. "
    "That is not enough: with attention, outputs move more with the inputs that decide them, which weights show.",
    source="the sequential Jacobian is that of Graves 2012, Supervised Sequence Labelling with Recurrent Neural "
    "Networks, chapter 3; of ByteNet, Kalchbrenner et al. 2016 draw it, figure 6, https://arxiv.org/abs/1610.10099; "
    "attention is that of Bahdanau, Cho, Bengio 2015, https://arxiv.org/abs/1409.0473. None of them compares these",
    options=Options,
    measure=Trainings(variants, _parts, open_data=_open_dates),
    compare=Findings,
    plot=_plot,
    body="""
{picture}

## What is claimed

{claims}

{bars}

## The word that decides

{table}

In percent. An even share is that of the word's characters in the source.

## How often it is found, by its distance

{distances}

In percent of the outputs whose word has its middle so many steps away.

## How far is reached, by the source's length

Shares beyond 5 steps:

{reach_5}

Shares beyond 10 steps:

{reach_10}

Shares beyond 20 steps:

{reach_20}

A step is a character: an output at t and an input at s are |t − s| apart. The last row of each table is that of a model
that reads nothing but the word.

## One sentence

{examples}

## How it was measured

{costs}

The true target is the output. Of each output y_t and each input x_s, a character's vector, the norm of the whole block
∂y_t/∂x_s is computed exactly, over all logits and all entries. A row's norms over their sum are its shares. The outputs
are those that a word decides: the digits of year, month and day. The end of the source has a share, and is no word.

A gradient is the effect of a small change, and no explanation. Nothing is concluded about models with fewer than 50% of
the targets right. Models have their own recipes, which differ in steps and sizes.

Data: `{data}`, the first {sentences} sentences of the test split, of which none is trained on; by characters in the
source: {lengths}.

{runs}
""",
)
