"""Two experts, and two tasks one after the other: what is forgotten of the first while the second is learned."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention import attend
from saccade.auxiliary import AuxRequest
from saccade.nn import MixtureOfExperts
from saccade.normalizers import Normalizer, Softmax, Sparsemax
from saccade.reports.digits import Digits
from saccade.reports.direct import Budget, fit, size
from saccade.scores import Dot
from saccade.train.randomness import generator, seeded

__all__ = ["GATES", "LEARNED", "OPTIMIZERS", "SOFT", "SPARSE", "UNIFORM", "Gate", "Mixture", "forgotten"]

UNIFORM, SOFT, SPARSE = "uniform", "softmax, scores 2 and 0", "sparsemax, scores 2 and 0"
_CLASSES, _HIDDEN, _KEY, _BATCH = 10, 64, 16, 64
OPTIMIZERS: Mapping[str, tuple[Any, float]] = {"sgd": (torch.optim.SGD, 0.3), "adam": (torch.optim.Adam, 2e-3)}
"""By name, what makes an optimizer and its rate."""


@dataclass(frozen=True)
class Gate:
    """How two experts are weighed.

    Args:
        normalizer: of the two scores.
        score: of a task's own expert, the other's being 0; None where the images' scores are learned.
    """

    normalizer: Normalizer
    score: float | None


GATES: Mapping[str, Gate] = {
    UNIFORM: Gate(Softmax(), 0.0),
    "softmax, scores 1 and 0": Gate(Softmax(), 1.0),
    SOFT: Gate(Softmax(), 2.0),
    "softmax, scores 4 and 0": Gate(Softmax(), 4.0),
    "softmax, scores 8 and 0": Gate(Softmax(), 8.0),
    SPARSE: Gate(Sparsemax(), 2.0),
}
"""Gates that are told which task it is."""
LEARNED: Mapping[str, Gate | None] = {
    "softmax, learned": Gate(Softmax(), None),
    "sparsemax, learned": Gate(Sparsemax(), None),
    "top 1, learned": None,
}
"""Gates that see the image and learn; None is that of `nn.MixtureOfExperts`."""


class Mixture(nn.Module):
    r"""Attention to the answers of two experts, each a network of one hidden layer of 64.

    .. math:: y = \sum_i w_i f_i(x), \qquad w = \mathrm{normalizer}(q k_1, q k_2)

    of a query q that is the task's, or learned of the image x.

    Args:
        pixels: of an image.
        gate: how experts are weighed.

    Source:
        Jacobs, Jordan, Nowlan, Hinton 1991, "Adaptive Mixtures of Local Experts": where the gate leaves an expert out,
        what others learn does not interfere with it.

    Example:
        >>> output, weights, _ = Mixture(9, GATES[SPARSE])(torch.rand(5, 9), 1)
        >>> output.shape, weights[0].tolist()
        (torch.Size([5, 10]), [0.0, 1.0])
    """

    def __init__(self, pixels: int, gate: Gate) -> None:
        super().__init__()
        self.gate = gate
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(pixels, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, _CLASSES)) for _ in range(2)
        )
        self.query = nn.Linear(pixels, _KEY) if gate.score is None else None
        self.keys = nn.Parameter(torch.randn(2, _KEY)) if gate.score is None else None

    def forward(self, images: Tensor, task: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits `(batch, 10)`, weights `(batch, 2)`, and what is added to the loss: nothing."""
        query, keys = self._asked(images, task)
        value = torch.stack([expert(images) for expert in self.experts], 1)
        output, aux = attend(
            query, keys, value, score=Dot(), normalizer=self.gate.normalizer, aux=AuxRequest(weights=True)
        )
        assert aux.weights is not None
        return output[:, 0], aux.weights[:, 0], output.new_zeros(())

    def expert(self, place: int) -> list[Tensor]:
        """Return what an expert has learned."""
        return list(self.experts[place].parameters())

    def _asked(self, images: Tensor, task: int) -> tuple[Tensor, Tensor]:
        if self.query is not None and self.keys is not None:
            return self.query(images)[:, None], self.keys.expand(len(images), -1, -1)
        keys = torch.eye(2, device=images.device).expand(len(images), -1, -1)
        return (self.gate.score or 0.0) * keys[:, task : task + 1], keys


class _TopOne(nn.Module):
    """`nn.MixtureOfExperts` of two, of which an image is given to one; its first ten features are the logits."""

    def __init__(self, pixels: int) -> None:
        super().__init__()
        self.mixture = MixtureOfExperts(pixels, num_experts=2, k=1, hidden_dim=_HIDDEN)

    def forward(self, images: Tensor, task: int) -> tuple[Tensor, Tensor, Tensor]:
        output, balance, aux = self.mixture(images[:, None], aux=AuxRequest(weights=True))
        return output[:, 0, :_CLASSES], aux.weights[:, 0], balance.loss

    def expert(self, place: int) -> list[Tensor]:
        return [self.mixture.inner[place], self.mixture.outer[place]]


def forgotten(
    name: str, optimizer: str, digits: Digits, seed: int, budget: Budget, device: torch.device
) -> dict[str, Any]:
    """Train on the digits 0 to 4, then on 5 to 9, and return what became of the first ones.

    Args:
        name: of the gate, a key of `GATES` or `LEARNED`.
        optimizer: a key of `OPTIMIZERS`; each task has a new one.
        digits: the images.
        seed: of weights and batches, which are the same for all gates.
        budget: of each task.
        device: where.

    Returns:
        "before" and "after", the share of the first task's test that is right before and after the second is learned,
        of all ten answers; "second", that of the second; "own", what the first task's images give in the mean to the
        expert that they give most to; "weight", what the second task's images give to the same; "moved", how far its
        parameters went in the second task, over their norm; "same", whether they and the answers to the first task's
        test are the same bit for bit.
    """
    gate = {**GATES, **LEARNED}[name]
    with seeded(seed, "isolation"):
        pixels = digits.train.shape[1]
        model = (_TopOne(pixels) if gate is None else Mixture(pixels, gate)).to(device)
    tasks = [_Task.of(digits, place, seed, device) for place in range(2)]
    made, rate = OPTIMIZERS[optimizer]

    spent = [fit(model, lambda step: tasks[0].loss(model, step), budget, rate, made)]
    logits, weights = tasks[0].answered(model)
    chosen = int(weights.argmax())
    known = [parameter.detach().clone() for parameter in model.expert(chosen)]
    spent.append(fit(model, lambda step: tasks[1].loss(model, step), budget, rate, made))
    (after, _), (second, others) = (task.answered(model) for task in tasks)
    gone = [now.detach() - then for now, then in zip(model.expert(chosen), known, strict=True)]
    return {
        "before": tasks[0].right(logits),
        "after": tasks[0].right(after),
        "second": tasks[1].right(second),
        "own": float(weights[chosen]),
        "weight": float(others[chosen]),
        "moved": _norm(gone) / _norm(known),
        "same": not any(bool(one.any()) for one in gone) and torch.equal(after, logits),
        "parameters": size(model),
        "steps": sum(one.steps for one in spent),
        "seconds": round(sum(one.seconds for one in spent), 3),
    }


@dataclass(frozen=True, eq=False)
class _Task:
    """Digits of some classes, to be named among all.

    Args:
        number: 0 or 1: of the gate's expert.
        seed: of batches.
        train, classes, test, truth: as `Digits` has them, on the device.
    """

    number: int
    seed: int
    train: Tensor
    classes: Tensor
    test: Tensor
    truth: Tensor

    @classmethod
    def of(cls, digits: Digits, number: int, seed: int, device: torch.device) -> "_Task":
        """Return the task of the lower half of all classes, or of the upper one."""
        found = []
        for images, names in ((digits.train, digits.classes), (digits.test, digits.truth)):
            classes = torch.from_numpy(names)
            there = (classes >= _CLASSES // 2) == bool(number)
            found += [images[there].to(device), classes[there].to(device)]
        return cls(number, seed, *found)

    def loss(self, model: nn.Module, step: int) -> Tensor:
        """Of a batch, which is a function of the step."""
        chosen = torch.randint(
            len(self.train), (_BATCH,), generator=generator(self.seed, "images", self.number, step)
        ).to(self.train.device)
        logits, _, extra = model(self.train[chosen], self.number)
        found: Tensor = F.cross_entropy(logits, self.classes[chosen]) + extra
        return found

    @torch.no_grad()
    def answered(self, model: nn.Module) -> tuple[Tensor, Tensor]:
        """The logits of the test, and the mean weights of both experts."""
        logits, weights, _ = model(self.test, self.number)
        return logits, weights.double().mean(0)

    def right(self, logits: Tensor) -> float:
        """The share of the test that is right."""
        return float((logits.argmax(-1) == self.truth).double().mean())


def _norm(tensors: list[Tensor]) -> float:
    return float(torch.stack([tensor.norm() for tensor in tensors]).norm())
