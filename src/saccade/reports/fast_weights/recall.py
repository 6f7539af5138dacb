"""Associative recall: pairs of a key and a value, then one of the keys, whose value is to be said."""

import statistics
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.reports.direct import Budget, fit, size
from saccade.reports.fast_weights.layers import LAYERS, by_places, matrix
from saccade.train.randomness import generator, seeded

__all__ = ["KEYS", "PAIRS", "VALUES", "Recaller", "drawn", "recalled"]

KEYS, VALUES = 64, 16
PAIRS = (2, 4, 8, 16, 32)
"""Numbers of pairs, in training and in the test."""
_WIDTH, _DEPTH = 64, 2
_BATCH, _RATE, _TESTED = 64, 2e-3, 1000
_MIXED, _INPUTS, _SHOWN = 16, 12, 3  # pairs of inputs whose matrices are compared, how many, and how many are drawn


class Recaller(nn.Module):
    """A token for each pair, and one for the key that is asked for; mixing layers and networks in turn.

    Args:
        name: of the mixing layers, a key of `LAYERS`.
        most: pairs, at most.

    Source:
        Ba et al. 2016, section 4.1, for the task (https://arxiv.org/abs/1610.06258), here with a token a pair.

    Example:
        >>> Recaller("attention", 5)(*drawn(5, 2, 1, "a")[:2]).shape
        torch.Size([2, 16])
    """

    def __init__(self, name: str, most: int) -> None:
        super().__init__()
        kind = LAYERS[name]
        self.keys, self.values = nn.Embedding(KEYS, _WIDTH), nn.Embedding(VALUES + 1, _WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(_WIDTH) for _ in range(2 * _DEPTH))
        self.layers = nn.ModuleList(kind.make(_WIDTH, most + 1) for _ in range(_DEPTH))
        self.networks = nn.ModuleList(
            nn.Sequential(nn.Linear(_WIDTH, kind.hidden), nn.ReLU(), nn.Linear(kind.hidden, _WIDTH))
            for _ in range(_DEPTH)
        )
        self.output = nn.Linear(_WIDTH, VALUES)

    def forward(self, keys: Tensor, values: Tensor) -> Tensor:
        """Return the logits of the value that is asked for, `(batch, 16)`.

        Args:
            keys: of all pairs, and the one that is asked for, `(batch, pairs + 1)`.
            values: of all pairs, and 16 where it is asked for, likewise.
        """
        found: Tensor = self.output(self._passed(keys, values)[0][:, -1])
        return found

    def mixed(self, keys: Tensor, values: Tensor) -> list[Tensor]:
        """Return what each mixing layer reads, `(batch, pairs + 1, width)`."""
        return self._passed(keys, values)[1]

    def _passed(self, keys: Tensor, values: Tensor) -> tuple[Tensor, list[Tensor]]:
        features, read = self.keys(keys) + self.values(values), []
        for place, (layer, network) in enumerate(zip(self.layers, self.networks, strict=True)):
            read.append(self.norms[2 * place](features))
            features = features + layer(read[-1])
            features = features + network(self.norms[2 * place + 1](features))
        return features, read


def drawn(pairs: int, count: int, seed: int, *labels: object) -> tuple[Tensor, Tensor, Tensor]:
    """Return keys, values, and the values that are asked for; the keys of an example all differ.

    >>> keys, values, wanted = drawn(3, 2, 1, "test")
    >>> keys.shape, values[:, -1].tolist(), wanted.shape
    (torch.Size([2, 4]), [16, 16], torch.Size([2]))
    """
    numbers = generator(seed, "recall", *labels)
    keys = torch.rand(count, KEYS, generator=numbers).argsort(-1)[:, :pairs]
    values = torch.randint(VALUES, (count, pairs), generator=numbers)
    asked = torch.randint(pairs, (count, 1), generator=numbers)
    nothing = torch.full((count, 1), VALUES)
    return (
        torch.cat([keys, keys.gather(1, asked)], 1),
        torch.cat([values, nothing], 1),
        values.gather(1, asked)[:, 0],
    )


def recalled(name: str, pairs: Sequence[int], seed: int, budget: Budget, device: torch.device) -> dict[str, Any]:
    """Train a network, and return what it recalls and how its mixing layers move with the input.

    Args:
        name: of the mixing layers, a key of `LAYERS`.
        pairs: in training and test.
        seed: of weights and of what is drawn, which is the same for all layers.
        budget: of the training.
        device: where.
    """
    with seeded(seed, "recall"):
        model = Recaller(name, max(pairs)).to(device)

    def loss(step: int) -> Tensor:
        count = pairs[int(torch.randint(len(pairs), (), generator=generator(seed, "pairs", step)))]
        keys, values, wanted = (one.to(device) for one in drawn(count, _BATCH, seed, step))
        return F.cross_entropy(model(keys, values), wanted)

    spent = fit(model, loss, budget, _RATE)
    right = {str(count): _tested(model, count, seed, device) for count in pairs}
    return {"pairs": right, **_moving(model.cpu().double(), pairs, seed), "parameters": size(model), **vars(spent)}


@torch.no_grad()
def _tested(model: Recaller, count: int, seed: int, device: torch.device) -> float:
    """The share of questions that are answered right."""
    keys, values, wanted = (one.to(device) for one in drawn(count, _TESTED, seed, "test"))
    return float((model(keys, values).argmax(-1) == wanted).double().mean())


@torch.no_grad()
def _moving(model: Recaller, pairs: Sequence[int], seed: int) -> dict[str, Any]:
    """How the matrices of the mixing layers vary over inputs of one length, in float64.

    Returns:
        "variation" and "distance" as `_varied` has them, the mean and the largest over layers; with the first seed
        "shown", of the layer that varies most, how strongly each position reads each other in a few inputs.
    """
    keys, values, _ = drawn(min(_MIXED, max(pairs)), _INPUTS, seed, "matrices")
    read = model.mixed(keys, values)
    found = [_varied(layer, inputs) for layer, inputs in zip(model.layers, read, strict=True)]
    about = {
        "variation": statistics.fmean(variation for variation, _ in found),
        "distance": max(distance for _, distance in found),
    }
    if seed > 1:
        return about
    place = max(range(len(found)), key=lambda one: found[one][0])
    shown = [by_places(matrix(model.layers[place], inputs)) for inputs in read[place][:_SHOWN]]
    return {**about, "shown": [[[round(float(one), 4) for one in row] for row in each] for each in shown]}


def _varied(layer: nn.Module, inputs: Tensor) -> tuple[float, float]:
    r"""Return how much a layer's matrix varies over inputs, and how far it is from being the layer.

    .. math:: V = \frac{\sum_x \lVert M(x) - \bar M \rVert^2}{\sum_x \lVert M(x) \rVert^2} \qquad
        \max \lvert M(x)\, x - y \rvert / \max \lvert y \rvert

    Args:
        layer: of `LAYERS`.
        inputs: `(inputs, length, width)`.

    Returns:
        V, from 0 where all matrices are one to 1 where their mean is none; and the distance, which is rounding.
    """
    every = [matrix(layer, features) for features in inputs]
    mean = torch.stack(every).mean(0)
    varied = sum(float((one - mean).square().sum()) for one in every)
    distances = []
    for mixing, features in zip(every, inputs, strict=True):
        said = layer(features[None])[0]
        off = torch.einsum("tdse,se->td", mixing, features) - said
        distances.append(float(off.abs().max() / said.abs().max()))
    return varied / sum(float(one.square().sum()) for one in every), max(distances)
