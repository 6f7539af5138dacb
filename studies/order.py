"""Effects of the order of words on models (Vaswani et al. 2017, section 3.5)."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from saccade import look, masks
from saccade.biases import Alibi
from saccade.look import Dots
from saccade.models.positions import slopes, waves
from saccade.nn import AttentionPool, MultiheadAttention
from saccade.tasks.translate import TRANSLATE
from saccade.tasks.translate.data import BUILTIN
from saccade.tasks.translate.data.corpus import Corpus, Pair
from saccade.tasks.translate.metrics import length_unit
from saccade.train.randomness import generator
from studies.frame.claims import NOTHING, Claim, Exact, Verdict, Within, bars, conclude, rule
from studies.frame.folder import Folder, select
from studies.frame.options import Trained
from studies.frame.page import about_data, paragraphs, picture, sentence, signatures
from studies.frame.scores import ERRORS, SENTENCES, by_model, digits, learned, mean, metric_name
from studies.frame.study import Step, Study
from studies.frame.training import Part, Trainings, Variant, scored, tested

HOLDS = 1e-12  # a smaller deviation is rounding
SET, WAYS = "transformer without positions", ("in order", "shuffled")
MARGIN = 0.02  # of its score, by which a set may change when its source is shuffled
_BATCH, _LENGTH, _WIDTH, _HEADS, _PERMUTATIONS = 3, 12, 16, 4, 20
_WORD, _PIECE = re.compile(r"\S+"), re.compile(r"\d+|[a-zA-Z]+|\S")
_WORDS, _CHARACTERS = "words between white space", "characters, but runs of digits and of Latin letters stay together"
_PERMUTED = {
    "words": _WORDS,
    "characters": _CHARACTERS,
    "either": f"{_WORDS}; of sources without any (2019年2月15日, 15.03.1999), {_CHARACTERS}",
}


class Layer(NamedTuple):
    """A layer, "equivariant" or "invariant" to the order of its input, or not."""

    kind: str
    holds: bool
    make: Callable[[], nn.Module]
    call: Callable[[nn.Module, Tensor], Tensor] = lambda layer, x: layer(x)


_attention = partial(MultiheadAttention, _WIDTH, _HEADS)
_gru = partial(nn.GRU, _WIDTH, _WIDTH, batch_first=True)
_POSITIONS = torch.arange(_LENGTH)
INVARIANT, EQUIVARIANT = "invariant", "equivariant"
LAYERS = {
    "self-attention": Layer(EQUIVARIANT, True, _attention),
    "attention of one query to all": Layer(INVARIANT, True, _attention, lambda f, x: f(torch.ones_like(x[:, :1]), x)),
    "attention pooling": Layer(INVARIANT, True, lambda: AttentionPool(_WIDTH)),
    "self-attention, sinusoidal positions": Layer(
        EQUIVARIANT, False, _attention, lambda f, x: f(x + waves(_POSITIONS, _WIDTH).to(x))
    ),
    "self-attention, rotary positions": Layer(EQUIVARIANT, False, partial(_attention, rotary_base=10_000.0)),
    "self-attention, ALiBi": Layer(EQUIVARIANT, False, _attention, lambda f, x: f(x, bias=Alibi(slopes(_HEADS).to(x)))),
    "self-attention, causal mask": Layer(EQUIVARIANT, False, _attention, lambda f, x: f(x, mask=masks.Causal())),
    "GRU": Layer(EQUIVARIANT, False, _gru, lambda f, x: f(x)[0]),
    "GRU, last state": Layer(INVARIANT, False, _gru, lambda f, x: f(x)[0][:, -1:]),
    "convolution": Layer(EQUIVARIANT, False, lambda: nn.Conv1d(_WIDTH, _WIDTH, 3, padding=1), lambda f, x: f(x.mT).mT),
}


def deviation(name: str, seed: int = 1) -> float:
    r"""Return the deviation of a layer from its kind, in float64.

    .. math:: \max_\pi \frac{\|f(\pi x) - \pi f(x)\|_\infty}{\|f(x)\|_\infty}

    with \(f(x)\) in place of \(\pi f(x)\) for an invariant layer, over twenty permutations.
    """
    layer, largest = LAYERS[name], 0.0
    with torch.random.fork_rng([]), torch.no_grad():
        torch.manual_seed(seed)
        module, x = layer.make().double(), torch.randn(_BATCH, _LENGTH, _WIDTH, dtype=torch.float64)
        straight = layer.call(module, x)
        for _ in range(_PERMUTATIONS):
            order = torch.randperm(_LENGTH)
            expected = straight[:, order] if layer.kind == EQUIVARIANT else straight
            largest = max(largest, float((layer.call(module, x[:, order]) - expected).abs().max()))
    return largest / float(straight.abs().max())


def _permuted(name: str, _: Folder) -> list[dict[str, Any]]:
    layer = LAYERS[name]
    return [{"layer": name, "kind": layer.kind, "holds": layer.holds, "deviation": deviation(name)}]


def shuffled(pairs: Sequence[Pair], unit: str) -> list[Pair]:
    """Return the pairs with the words of each source in another order.

    The order is drawn evenly from all that change the text, the same for the same pairs. The unit "either" is
    characters if a source has no white space.

    >>> shuffled([Pair("eins zwei", "one two", ""), Pair("2019年", "2019", "")], "either")
    [Pair(source='zwei eins', target='one two', group=''), Pair(source='年2019', target='2019', group='')]
    """
    results = []
    for number, pair in enumerate(pairs):
        pattern = _WORD if unit == "words" or (unit == "either" and len(pair.source.split()) > 1) else _PIECE
        words, numbers = pattern.findall(pair.source), generator(0, "shuffled", number)
        order = words
        while order == words and len(set(words)) > 1:
            order = [words[index] for index in torch.randperm(len(words), generator=numbers).tolist()]
        text = pattern.sub(partial(lambda following, _: next(following), iter(order)), pair.source)
        results.append(replace(pair, source=text))  # white space stays where it is
    return results


VARIANTS = [*(Variant(name, name) for name in TRANSLATE.models), Variant(SET, "transformer", {"positions": "none"})]


def _parts(corpus: Corpus, options: Trained) -> list[Part]:
    unit = "either" if options.data in BUILTIN else length_unit(options.source)
    straight = tested(corpus)
    other = shuffled(straight, unit)
    about = {"rule": unit, "changed": sum(a.source != b.source for a, b in zip(straight, other, strict=True))}
    return [scored({"words": way}, pairs, **about) for way, pairs in zip(WAYS, (straight, other), strict=True)]


class Findings:
    """Deviations of layers, the losses of models, and the verdict."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.layers: list[dict[str, Any]] = [row for row in content["rows"] if "layer" in row]
        self.rows: list[dict[str, Any]] = [row for row in content["rows"] if "words" in row]
        self.name, self.digits = metric_name(self.rows[0]["metric"]), digits(self.rows[0]["metric"])
        models = by_model(self.rows).items()
        self.scores = {model: {way: mean(select(rows, words=way)) for way in WAYS} for model, rows in models}
        self.losses = {model: both["in order"] - both["shuffled"] for model, both in self.scores.items()}
        self.failed = [model for model, both in self.scores.items() if not learned(both["in order"])]
        wrong = [row["layer"] for row in self.layers if (row["deviation"] < HOLDS) != row["holds"]]
        layers = "of the layers, exactly attention without positions and without a mask sees a set"
        self.claims = [Claim(layers, Exact(not wrong), f"but for {', '.join(wrong)}" if wrong else "to rounding")]
        for model, loss in self.losses.items():
            text, margin = loss.text(self.digits, signed=True), MARGIN * self.scores[model]["in order"].value
            if model == SET and model not in self.failed:
                self.claims.append(Claim(f"{model} loses less than {MARGIN:.0%}", Within(loss.number, margin), text))
            elif model not in self.failed:
                self.claims.append(Claim(f"{model} loses something", loss.number, text))
        self.verdict = conclude(self.claims)
        if failed := self.failed:
            sequences = len(self.scores) - 1
            poor = self.verdict.result == "reproduced" and (SET in failed or len(failed) == sequences)
            reason = NOTHING.reason if len(failed) > sequences else f"{', '.join(failed)} got nothing right"
            result = "not decided" if poor else self.verdict.result
            self.verdict = Verdict(result, f"{self.verdict.reason}; {reason}")

    def fields(self) -> dict[str, Any]:
        layers = [["layer", "by its definition", "deviation", "so it is"]]
        for row in self.layers:
            defined, is_so = (f"{'not ' * (not so)}{row['kind']}" for so in (row["holds"], row["deviation"] < HOLDS))
            layers.append([row["layer"], defined, f"{row['deviation']:.1e}", is_so])
        models = [["model", *WAYS, "loses", "of what it had"]]
        for model, both in self.scores.items():
            loss = self.losses[model]
            share = "-" if model in self.failed else f"{100 * loss.value / both['in order'].value + 0.0:.1f} %"
            scores = (both[way].text(self.digits) for way in WAYS)
            models.append([model, *scores, loss.text(self.digits, signed=True), share])
        row = self.rows[0]
        data = about_data(self.content, row["sentences"], f", {row['changed']} of which shuffling changes")
        return {
            "layers": layers,
            "models": models,
            "bars": bars(SENTENCES, len({row["seed"] for row in self.rows})),
            "rule": rule(len(self.claims)),
            "permuted": _PERMUTED[row["rule"]],
            "data": paragraphs(data, ERRORS, signatures(self.rows)),
        }


def _plot(result: Findings, folder: Path) -> dict[str, str]:
    title = sentence(f"{result.name} with the words of the source in order and shuffled")
    series = []
    for way in WAYS:
        scores = [both[way] for both in result.scores.values()]
        series.append(Dots(way, [score.value for score in scores], [score.half for score in scores]))
    note = "The claim: a model without positions loses nothing, any other something"
    label = f"{result.name}; bars: 95% intervals"
    drawn = look.dots([*result.scores], series, folder / "order", label=label, title=title, note=note)
    return {"picture": picture(drawn, title)}


STUDY = Study(
    sentence="without positions, shuffled words cost attention nothing (Vaswani et al. 2017, section 3.5)",
    title="What the order of the words is worth",
    claim="Attention has no recurrence and no convolution, so without a mask it sees the positions of its input as a "
    "set. A model that attends to all of them sees their order by what is added for it.",
    source="Vaswani et al. 2017, section 3.5, https://arxiv.org/abs/1706.03762",
    options=Trained,
    measure=Trainings(
        lambda options: VARIANTS,
        _parts,
        before=[Step(name, [{"layer": name}], partial(_permuted, name)) for name in LAYERS],
    ),
    compare=Findings,
    plot=_plot,
    body="""
{picture}

## Layers, exactly

{layers}

A layer f is equivariant if f(πx) = π f(x), and invariant if f(πx) = f(x). The deviation is the largest distance of both
sides over twenty permutations, as a share of the largest number of f(x), in float64. Below 1e-12 it is rounding.

## Models, trained

{models}

{bars} {rule} `transformer without positions` loses nothing if the interval of its loss lies within 2% of its score.

## How it was measured

Each model is trained by its own recipe on sentences in their order. It translates the test sentences as they are, and
with the words of each source in another order, the same for all models, drawn evenly from all that change the text.
Permuted are {permuted}. `transformer without positions` is the Transformer with `--positions none`: to it a source is
a set of tokens, but the causal mask orders the words of the target.

{data}

{runs}
""",
)
