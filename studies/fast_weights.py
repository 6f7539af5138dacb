"""Layers with input-dependent weights beside others (Schmidhuber 1992; Ba 2016)."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade import look
from saccade._system.environment import choose_device
from saccade.auxiliary import AuxRequest
from saccade.nn import MultiheadAttention
from saccade.normalizers import Identity
from saccade.train.randomness import generator, seeded
from studies.frame.claims import Claim, Estimate, Exact, conclude, decided, tabled
from studies.frame.direct import Budget, fit, job, size
from studies.frame.grid import grid
from studies.frame.options import Direct
from studies.frame.page import costs, curve, picture
from studies.frame.scores import by_model
from studies.frame.seeds import over_seeds
from studies.frame.study import Study, Work

ATTENTION, FAST, LOCATION = "attention", "fast weights", "attention by location"
FIXED = DENSE, SEPARABLE = "convolution", "convolution, separable"  # weights learned, the same for every input
KEYS, VALUES = 64, 16
PAIRS = (2, 4, 8, 16, 32)  # numbers of pairs, in training and in the test
EXACT = 1e-12  # a distance of rounding in float64
SOLVED, FAILED = 0.9, 0.5  # shares of right answers above which the task is solved, and below which it is not
BUDGET, QUICK = Budget(800, 30.0), Budget(500, 0.6)
_WIDTH, _DEPTH = 64, 2
_BATCH, _RATE, _TESTED = 64, 2e-3, 1000
_MIXED, _INPUTS, _DRAWN = 16, 12, 3  # pairs and number of the inputs of compared matrices, and number drawn


class _Convolution(nn.Module):
    r"""Projected features mixed by a kernel of the longest input's length.

    .. math:: y_t = W_o \sum_{s \le t} K_{t-s} \, W_i \, x_s

    The kernel K mixes all channels. Without a number of channels it is separable: each of the features alone.
    """

    def __init__(self, width: int, length: int, channels: int | None = None) -> None:
        super().__init__()
        groups, channels = (width, width) if channels is None else (1, channels)
        self.inner = nn.Linear(width, channels, bias=False)
        self.kernel = nn.Conv1d(channels, channels, length, bias=False, groups=groups)
        self.outer = nn.Linear(channels, width, bias=False)

    def forward(self, features: Tensor) -> Tensor:
        before = F.pad(self.inner(features).mT, (self.kernel.kernel_size[0] - 1, 0))
        mixed: Tensor = self.outer(self.kernel(before).mT)
        return mixed


class _Kind(NamedTuple):
    """A mixing layer, features of the networks behind it, its weights in words."""

    make: Callable[[int, int], nn.Module]
    hidden: int
    words: str


def _attention(width: int, length: int, **options: Any) -> nn.Module:
    return MultiheadAttention(width, 1, bias=False, **options)


def _location(width: int, length: int) -> nn.Module:
    return _attention(width, length, score="location", max_length=length)


LAYERS: Mapping[str, _Kind] = {
    ATTENTION: _Kind(_attention, 128, "softmax of what query and key say of each other"),
    FAST: _Kind(partial(_attention, normalizer=Identity()), 128, "query times key"),
    LOCATION: _Kind(_location, 128, "softmax of what the query alone says of each place"),
    DENSE: _Kind(partial(_Convolution, channels=20), 134, "learned, of each distance"),
    SEPARABLE: _Kind(_Convolution, 176, "learned, of each distance"),
}
"""Layers by name.

Location is Luong, Pham, Manning 2015, equation 8. Around the query's position it is the dynamic convolution of Wu et
al. 2019 (https://arxiv.org/abs/1901.10430). Fast weights are those of Schmidhuber 1992 in the form
of Schlag, Irie, Schmidhuber 2021, section 3 (https://arxiv.org/abs/2102.11174)."""


@torch.no_grad()
def matrix(layer: nn.Module, features: Tensor) -> Tensor:
    r"""Return M(x) of an input, y = M(x) x, `(length, width, length, width)`.

    A convolution is measured by impulses on the input. Attention is no linear function of its input: M(x) is its
    weights times the projection of values.

    >>> layer, x = LAYERS[ATTENTION].make(4, 5), torch.randn(3, 4)
    >>> torch.allclose(torch.einsum("tdse,se->td", matrix(layer, x), x), layer(x[None])[0], atol=1e-6)
    True
    """
    length, width = features.shape
    if isinstance(layer, MultiheadAttention):
        _, aux = layer(features[None], aux=AuxRequest(weights=True))
        through = layer.out_proj.weight @ layer.in_proj_weight[-width:]
        return torch.einsum("ts,de->tdse", aux.weights[0, 0], through)
    impulses = torch.eye(length * width, dtype=features.dtype).view(-1, length, width)
    moved = layer(features + impulses) - layer(features[None])
    mixing: Tensor = moved.permute(1, 2, 0).reshape(length, width, length, width)
    return mixing


class Recaller(nn.Module):
    """Mixing layers and networks in turn, over tokens of pairs and of the query key.

    Source:
        Ba et al. 2016, section 4.1, for the task (https://arxiv.org/abs/1610.06258), here with a token a pair.
    """

    def __init__(self, name: str, longest: int) -> None:
        super().__init__()
        kind = LAYERS[name]
        self.keys, self.values = nn.Embedding(KEYS, _WIDTH), nn.Embedding(VALUES + 1, _WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(_WIDTH) for _ in range(2 * _DEPTH))
        self.layers = nn.ModuleList(kind.make(_WIDTH, longest + 1) for _ in range(_DEPTH))
        self.networks = nn.ModuleList(
            nn.Sequential(nn.Linear(_WIDTH, kind.hidden), nn.ReLU(), nn.Linear(kind.hidden, _WIDTH))
            for _ in range(_DEPTH)
        )
        self.output = nn.Linear(_WIDTH, VALUES)

    def forward(self, keys: Tensor, values: Tensor) -> Tensor:
        """Return logits of the queried value from keys and values `(batch, pairs + 1)`."""
        logits: Tensor = self.output(self.passed(keys, values)[0][:, -1])
        return logits

    def passed(self, keys: Tensor, values: Tensor) -> tuple[Tensor, list[Tensor]]:
        features, inputs = self.keys(keys) + self.values(values), []
        for index, (layer, network) in enumerate(zip(self.layers, self.networks, strict=True)):
            inputs.append(self.norms[2 * index](features))
            features = features + layer(inputs[-1])
            features = features + network(self.norms[2 * index + 1](features))
        return features, inputs


def drawn(pairs: int, count: int, seed: int, *labels: object) -> tuple[Tensor, Tensor, Tensor]:
    """Return keys, values, and the queried values; the keys of an example all differ.

    >>> keys, values, target = drawn(3, 2, 1, "test")
    >>> keys.shape, values[:, -1].tolist(), target.shape
    (torch.Size([2, 4]), [16, 16], torch.Size([2]))
    """
    numbers = generator(seed, "recall", *labels)
    keys = torch.rand(count, KEYS, generator=numbers).argsort(-1)[:, :pairs]
    values = torch.randint(VALUES, (count, pairs), generator=numbers)
    query = torch.randint(pairs, (count, 1), generator=numbers)
    hidden = torch.full((count, 1), VALUES)
    return torch.cat([keys, keys.gather(1, query)], 1), torch.cat([values, hidden], 1), values.gather(1, query)[:, 0]


def recalled(name: str, pairs: Sequence[int], seed: int, budget: Budget, device: torch.device) -> dict[str, Any]:
    """Train a network; return its recall and the variation of its layers."""
    with seeded(seed, "recall"):
        model = Recaller(name, max(pairs)).to(device)

    def loss(step: int) -> Tensor:
        count = pairs[int(torch.randint(len(pairs), (), generator=generator(seed, "pairs", step)))]
        keys, values, target = (part.to(device) for part in drawn(count, _BATCH, seed, step))
        return F.cross_entropy(model(keys, values), target)

    spent = fit(model, loss, budget, _RATE)
    right = {}
    with torch.no_grad():
        for count in pairs:
            keys, values, target = (part.to(device) for part in drawn(count, _TESTED, seed, "test"))
            right[str(count)] = float((model(keys, values).argmax(-1) == target).double().mean())
    return {"pairs": right, **_varied(model.cpu().double(), pairs, seed), "parameters": size(model), **spent}


@torch.no_grad()
def _varied(model: Recaller, pairs: Sequence[int], seed: int) -> dict[str, Any]:
    r"""Variation of the mixing layers' matrices over inputs of one length, in float64.

    .. math:: V = \frac{\sum_x \lVert M(x) - \bar M \rVert^2}{\sum_x \lVert M(x) \rVert^2} \qquad
        \max \lvert M(x)\, x - y \rvert / \max \lvert y \rvert

    Returns:
        "variation" V, the mean over layers, and "distance", the largest. The first seed has "shown": of the layer
        that varies most, how strongly each position reads each other in a few inputs.
    """
    keys, values, _ = drawn(min(_MIXED, max(pairs)), _INPUTS, seed, "matrices")
    variations, distances, strengths = list[float](), list[float](), list[list[Tensor]]()
    for layer, inputs in zip(model.layers, model.passed(keys, values)[1], strict=True):
        every = [matrix(layer, features) for features in inputs]
        mean = torch.stack(every).mean(0)
        apart = sum(float((mixing - mean).square().sum()) for mixing in every)
        variations.append(apart / sum(float(mixing.square().sum()) for mixing in every))
        strengths.append([mixing.square().sum((1, 3)).sqrt() for mixing in every[:_DRAWN]])
        for mixing, features in zip(every, inputs, strict=True):
            output = layer(features[None])[0]
            off = torch.einsum("tdse,se->td", mixing, features) - output
            distances.append(float(off.abs().max() / output.abs().max()))
    about = {"variation": statistics.fmean(variations), "distance": max(distances)}
    if seed > 1:
        return about
    strongest = strengths[variations.index(max(variations))]
    return {**about, "shown": [[[round(number, 4) for number in row] for row in grid.tolist()] for grid in strongest]}


def _measure(options: Direct) -> Work:
    device, budget = choose_device(options.device), (QUICK if options.quick else BUDGET).within(options)
    layers = (ATTENTION, DENSE) if options.quick else LAYERS
    jobs = [
        job({"model": name, "seed": seed}, partial(recalled, name, PAIRS, seed, budget, device), budget)
        for seed in range(1, options.seeds + 1)
        for name in layers
    ]
    return Work(jobs)


class Findings:
    """Recall, variation of the layers, and the verdict."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.rows = by_model(content["rows"])
        self.layers = [name for name in LAYERS if name in self.rows]
        self.pairs = [int(count) for count in self.rows[ATTENTION][0]["pairs"]]
        longest, fixed = self.pairs[-1], [name for name in FIXED if name in self.layers]
        far, still = self._largest(self.layers, "distance"), self._largest(fixed, "variation")
        varied, right = self._variation(ATTENTION), {name: self.right(name, longest) for name in (ATTENTION, *fixed)}
        percent = {name: f"{share.times(100).text(1)}%" for name, share in right.items()}
        solved = f"attention answers more than {SOLVED:.0%} of {longest} pairs"
        self.claims = [
            Claim("every layer is a matrix, of its input, times it", Exact(far <= EXACT), f"within {far:.0e}"),
            Claim("a convolution's is the same for every input", Exact(still <= EXACT), f"to {still:.0e}"),
            Claim("attention's varies", varied, f"by {varied.text(3)}"),
            Claim(solved, right[ATTENTION].less(SOLVED), percent[ATTENTION]),
        ]
        for name in fixed:
            text = f"{name} answers less than {FAILED:.0%}"
            self.claims.append(Claim(text, right[name].times(-1).less(-FAILED), percent[name]))
        self.verdict = conclude(self.claims)

    def right(self, name: str, pairs: int) -> Estimate:
        return over_seeds([row["pairs"][str(pairs)] for row in self.rows[name]])

    def _largest(self, names: Sequence[str], column: str) -> float:
        return max(float(row[column]) for name in names for row in self.rows[name])

    def _variation(self, name: str) -> Estimate:
        return over_seeds([row["variation"] for row in self.rows[name]])

    def table(self) -> list[list[str]]:
        body = [[name, *(self.right(name, count).times(100).text(1) for count in self.pairs)] for name in self.layers]
        guesses = [f"{100 * (1 + (count - 1) / VALUES) / count:.1f}" for count in self.pairs]
        header = ["layer", *(f"{count} pairs" for count in self.pairs)]
        return [header, *body, ["a guess of the pairs' values", *guesses]]

    def matrices(self) -> list[list[str]]:
        rows = [["layer", "its weights", "variation", "distance of M(x) x"]]
        for name in self.layers:
            varied = self._variation(name)
            text = varied.text(3) if varied.value > EXACT else f"0, to {self._largest([name], 'variation'):.0e}"
            rows.append([name, LAYERS[name].words, text, f"{self._largest([name], 'distance'):.0e}"])
        return rows

    def fields(self) -> dict[str, Any]:
        return {
            "claims": tabled(self.claims),
            "decided": decided(len(self.claims)),
            "layers": self.matrices(),
            "recall": self.table(),
            "costs": costs(self.content, self.layers, "layer"),
        }


def _plot(result: Findings, folder: Path) -> dict[str, str]:
    titles = "Layers as matrices", "Questions answered right, by the number of pairs"
    images = [[torch.tensor(image) for image in result.rows[name][0]["shown"]] for name in result.layers]
    matrices = grid(
        images,
        folder / "fast-weights-matrices",
        rows=result.layers,
        columns=[f"input {number}" for number in range(1, 1 + len(images[0]))],
        title=titles[0],
        note="Trained to recall; the darker, the more is read",
        side=1.3,
        weights=True,
    )
    heights = [math.log2(count) for count in result.pairs]
    recall = look.curves(
        [curve(name, heights, [result.right(name, count) for count in result.pairs], 100) for name in result.layers],
        folder / "fast-weights",
        ticks=[(number, str(count)) for number, count in zip(heights, result.pairs, strict=True)],
        labels=("pairs; bars: 95% over seeds", "% right"),
        title=titles[1],
        note=f"A guess of all values is right in {100 / VALUES:g} of 100",
        bounds=(0, 103),
        beside=True,
    )
    return {"matrices": picture(matrices, titles[0]), "picture": picture(recall, titles[1])}


STUDY = Study(
    sentence="attention recalls pairs, convolutions of equal size do not (after Ba et al. 2016, section 4.1)",
    title="Weights that move with the input",
    claim="Attention's weights are made of the input and move with it, a convolution's are learned and stay; and at "
    "equal parameters a task that asks which of many stored things fits a question is solved by the former alone.",
    source="Schmidhuber 1992, 'Learning to Control Fast-Weight Memories'; Ba et al. 2016, "
    "https://arxiv.org/abs/1610.06258, for the task; Arora et al. 2023, https://arxiv.org/abs/2312.04927, for "
    "convolutions on it",
    options=Direct,
    measure=_measure,
    compare=Findings,
    plot=_plot,
    body="""
{matrices}

Rows are positions that read, columns positions that are read: weights of the mixing layer that varies most, for three
inputs. The last row is the query. Each row of the picture has its own scale.

## What is claimed

{claims}

{decided}

A network solves the task if it answers more than 90% of the queries with the most pairs, and fails if it answers less
than 50%. Both margins are ours. Convolutions with more parameters, layers or steps are not tested: a network that
multiplies, or is large enough, is a function of its input as well.

## Layers as matrices

{layers}

A layer without biases is a matrix M(x) over all positions and features, y = M(x) x: for attention its weights times the
projection of values, for a convolution its responses to impulses. The equality is checked in float64: a distance up to
1e-12 counts as rounding. The variation is the share of the squared numbers of M(x), over 12 inputs of 16 pairs, that
their mean does not explain: 0 if all matrices are equal, 11/12 if they have nothing in common. It is a mean over both
mixing layers of the trained networks.

## Associative recall, % right

{picture}

{recall}

A sequence has 2 to 32 pairs of a key and a value, a token each, and then one of its keys, whose value is the target.
There are 64 keys, all different in a sequence, and 16 values. A guess among the sequence's values is right in
1/n + (1 - 1/n)/16 of n pairs. All networks have two mixing layers with a network behind each. The width of these
networks evens out the parameters to within a tenth. All are trained on the same sequences in the same batches, and
tested on 1,000 of each number of pairs.

`attention` and `fast weights` compare the query with keys, by a softmax and as a plain product. `attention by location`
computes its weights from the query alone: they move with the input, but nothing is compared. The convolutions have a
kernel as long as the longest sequence: of 20 channels, each from all, or of 64, each alone. They decide the claim
together with `attention`; the other two layers do not.

## How it was measured

{costs}

{where}
""",
)
