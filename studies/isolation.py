"""Gradients of attended values, and forgetting of experts (Jacobs et al. 1991)."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade import look
from saccade._system.environment import choose_device
from saccade.attention import attend
from saccade.auxiliary import AuxRequest
from saccade.look._charts import STYLES
from saccade.look._figure import FAINT, INK, Page, draw_picture
from saccade.nn import MixtureOfExperts
from saccade.normalizers import Entmax, Normalizer, Sigmoid, Softmax, Sparsemax
from saccade.scores import Dot
from saccade.train.randomness import generator, seeded
from studies.frame.claims import Claim, Exact, conclude, decided, tabled
from studies.frame.digits import Digits, OnDigits, open_data
from studies.frame.direct import Budget, fit, job, size
from studies.frame.folder import select
from studies.frame.page import costs, curve, picture
from studies.frame.seeds import Numbers, over_seeds
from studies.frame.study import Study, Work

BUDGET, QUICK = Budget(500, 5.0), Budget(200, 0.1)  # of a task
EXACT = 1e-12  # a distance of rounding in float64, over the largest gradient
WAYS: Mapping[str, Normalizer] = {
    "uniform": Softmax(),  # of scores that are all 0
    "softmax": Softmax(),
    "softmax, masked": Softmax(),
    "sigmoid": Sigmoid(),
    "entmax 1.5": Entmax(),
    "sparsemax": Sparsemax(),
}
GRAPH = ("uniform", "softmax", "sparsemax")
_SCORES, _VALUE, _UPSTREAM = (1.2, 0.1, 0.8, -0.6, -1.0), (0.3, -0.7, 1.1, 0.4, -0.2), 2.0  # of the small graphs
UNIFORM, SOFT, SPARSE = "uniform", "softmax, scores 2 and 0", "sparsemax, scores 2 and 0"
OPTIMIZERS: Mapping[str, tuple[Any, float]] = {"sgd": (torch.optim.SGD, 0.3), "adam": (torch.optim.Adam, 2e-3)}
GATES: Mapping[str, tuple[Normalizer, float | None]] = {  # the normalizer, and the score of a task's own expert
    UNIFORM: (Softmax(), 0.0),
    **{f"softmax, scores {score} and 0": (Softmax(), float(score)) for score in (1, 2, 4, 8)},
    SPARSE: (Sparsemax(), 2.0),
}
_TOP = "top 1, learned"  # the gate of `nn.MixtureOfExperts`
LEARNED = {"softmax, learned": (Softmax(), None), "sparsemax, learned": (Sparsemax(), None), _TOP: None}
_CLASSES, _HIDDEN, _KEY, _BATCH = 10, 64, 16, 64


def compared(way: str, seed: int) -> dict[str, float]:
    r"""Compare gradients by autograd with their formula over 40 random graphs.

    .. math:: y_t = \sum_i w_{ti} v_i \quad\Rightarrow\quad
        \frac{\partial L}{\partial v_i} = \sum_t w_{ti} \frac{\partial L}{\partial y_t}

    "deviation" is the largest distance over the largest gradient, "zeros" are those of all "values" without a weight,
    and "leak" is the largest gradient of these and their keys.
    """
    numbers = generator(seed, "gradients", way)
    sizes = ((40, 3, 5), (40, 3, 7), (40, 11, 5), (40, 11, 7))
    query, upstream, key, value = (torch.randn(size, dtype=torch.float64, generator=numbers) for size in sizes)
    mask = torch.rand(40, 1, 11, generator=numbers) < 0.5 if way.endswith("masked") else None
    weights, to_key, to_value = _gradients(way, 2.0 * query, key, value, upstream, mask)
    expected = (weights[..., None] * upstream[..., None, :]).sum(-3)  # term by term, without a product of ours
    unread = (weights == 0).all(-2)
    leaks = torch.cat([to_value[unread].flatten(), to_key[unread].flatten(), torch.zeros(1)]).abs()
    deviation = float((to_value - expected).abs().max() / expected.abs().max())
    return {"deviation": deviation, "zeros": int(unread.sum()), "values": unread.numel(), "leak": float(leaks.max())}


def _gradients(
    way: str, query: Tensor, key: Tensor, value: Tensor, upstream: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The weights, and the gradients of keys and values."""
    leaves, query = (key.requires_grad_(), value.requires_grad_()), query * (way != UNIFORM)
    request = AuxRequest(weights=True)
    output, aux = attend(query, *leaves, score=Dot(), normalizer=WAYS[way], mask=mask, aux=request)
    to_key, to_value = torch.autograd.grad(output, leaves, upstream)
    assert aux.weights is not None
    return aux.weights.detach(), to_key, to_value


def graph(way: str) -> dict[str, Any]:
    """Return a graph for the picture: weights and gradients of five values."""
    key, value = (torch.tensor(numbers, dtype=torch.float64)[:, None] for numbers in (_SCORES, _VALUE))
    query = torch.ones(1, 1, dtype=torch.float64)
    weights, _, to_value = _gradients(way, query, key, value, _UPSTREAM * query)
    return {"weights": weights[0].tolist(), "gradients": to_value[:, 0].tolist(), "told": _UPSTREAM}


class Mixture(nn.Module):
    r"""Attention to two experts with a hidden layer of 64, \(y = \sum_i w_i f_i(x)\).

    The query is that of the task, or learned of the image x.

    >>> output, weights, _ = Mixture(9, *GATES[SPARSE])(torch.rand(5, 9), 1)
    >>> output.shape, weights[0].tolist()
    (torch.Size([5, 10]), [0.0, 1.0])
    """

    def __init__(self, pixels: int, normalizer: Normalizer, score: float | None) -> None:
        super().__init__()
        self.normalizer, self.score = normalizer, score
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(pixels, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, _CLASSES)) for _ in range(2)
        )
        self.query = nn.Linear(pixels, _KEY) if score is None else None
        self.keys = nn.Parameter(torch.randn(2, _KEY) if score is None else torch.eye(2), score is None)

    def forward(self, images: Tensor, task: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits `(batch, 10)`, weights `(batch, 2)`, and 0 to add to the loss."""
        keys, value = self.keys.expand(len(images), -1, -1), torch.stack([expert(images) for expert in self.experts], 1)
        query = (self.score or 0.0) * keys[:, task : task + 1] if self.query is None else self.query(images)[:, None]
        request = AuxRequest(weights=True)
        output, aux = attend(query, keys, value, score=Dot(), normalizer=self.normalizer, aux=request)
        assert aux.weights is not None
        return output[:, 0], aux.weights[:, 0], output.new_zeros(())

    def expert(self, index: int) -> list[Tensor]:
        return list(self.experts[index].parameters())


class _TopOne(nn.Module):
    """`nn.MixtureOfExperts`, one of two an image; ten features are the logits."""

    def __init__(self, pixels: int) -> None:
        super().__init__()
        self.mixture = MixtureOfExperts(pixels, num_experts=2, k=1, hidden_dim=_HIDDEN)

    def forward(self, images: Tensor, task: int) -> tuple[Tensor, Tensor, Tensor]:
        output, balance, aux = self.mixture(images[:, None], aux=AuxRequest(weights=True))
        return output[:, 0, :_CLASSES], aux.weights[:, 0], balance.loss

    def expert(self, index: int) -> list[Tensor]:
        return [self.mixture.inner[index], self.mixture.outer[index]]


def forgotten(
    name: str, optimizer: str, digits: Digits, seed: int, budget: Budget, device: torch.device
) -> dict[str, Any]:
    """Train on the digits 0 to 4, then on 5 to 9, and return the effect on the first.

    "before" and "after" are the share right of the first task, and "second" that of the second. "own" and "weight" are
    the mean weights of the first task's expert for either, and "moved" is the relative distance of its parameters.
    "same" is whether these and the answers are equal bit for bit.
    """
    gate, lower = {**GATES, **LEARNED}[name], _CLASSES // 2
    with seeded(seed, "isolation"):
        pixels = digits.train.shape[1]
        model = (_TopOne(pixels) if gate is None else Mixture(pixels, *gate)).to(device)
    trains, tests = (
        [[part[(labels >= lower) == bool(task)].to(device) for part in (images, labels)] for task in range(2)]
        for images, labels in ((digits.train, digits.classes), (digits.test, digits.truth))
    )

    def loss(task: int, step: int) -> Tensor:
        images, labels = trains[task]
        chosen = torch.randint(len(images), (_BATCH,), generator=generator(seed, "images", task, step)).to(device)
        logits, _, balance = model(images[chosen], task)
        total: Tensor = F.cross_entropy(logits, labels[chosen]) + balance
        return total

    @torch.no_grad()
    def answered(task: int) -> tuple[Tensor, Tensor, float]:
        logits, weights, _ = model(tests[task][0], task)
        return logits, weights.double().mean(0), float((logits.argmax(-1) == tests[task][1]).double().mean())

    kind, rate = OPTIMIZERS[optimizer]
    with seeded(seed, "noise"):  # of the gate of `nn.MixtureOfExperts`
        spent = [fit(model, partial(loss, 0), budget, rate, kind)]
        logits, weights, before = answered(0)
        expert = int(weights.argmax())
        learned = nn.utils.parameters_to_vector(model.expert(expert)).detach()
        spent.append(fit(model, partial(loss, 1), budget, rate, kind))
    (later, _, after), (_, others, second) = answered(0), answered(1)
    move = nn.utils.parameters_to_vector(model.expert(expert)).detach() - learned
    return {
        "before": before,
        "after": after,
        "second": second,
        "own": float(weights[expert]),
        "weight": float(others[expert]),
        "moved": float(move.norm() / learned.norm()),
        "same": not bool(move.any()) and torch.equal(later, logits),
        "parameters": size(model),
        "steps": sum(part["steps"] for part in spent),
        "seconds": round(sum(part["seconds"] for part in spent), 3),
    }


def _measure(options: OnDigits) -> Work:
    digits, device = open_data(options.data), choose_device(options.device)
    budget = (QUICK if options.quick else BUDGET).within(options)
    both = Budget(2 * budget.steps, 2 * budget.minutes)
    jobs = [job({"part": "graph", "model": way, "seed": 0}, partial(graph, way)) for way in GRAPH]
    for seed in range(1, options.seeds + 1):
        jobs += [job({"part": "gradients", "model": way, "seed": seed}, partial(compared, way, seed)) for way in WAYS]
        for optimizer in OPTIMIZERS:
            for gate in (UNIFORM, SOFT, SPARSE) if options.quick else (*GATES, *LEARNED):
                about = {"part": "forgetting", "optimizer": optimizer, "model": gate, "seed": seed}
                jobs.append(job(about, partial(forgotten, gate, optimizer, digits, seed, budget, device), both))
    return Work(jobs, {"data": digits.fingerprint}, options.name)


class Findings:
    """Gradients, forgetting by gate, and the verdict."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.rows = [{**row, "lost": row.get("before", 0) - row.get("after", 0)} for row in content["rows"]]
        self.gates = [name for name in (*GATES, *LEARNED) if select(self.rows, model=name)]
        far, leak = (
            max(row[column] for row in select(self.rows, part="gradients")) for column in ("deviation", "leak")
        )
        kept = " and ".join(f"{self._kept(SPARSE, by)} seeds by {by}" for by in OPTIMIZERS)
        stay = Exact(all(row["same"] for row in select(self.rows, model=SPARSE)))
        soft, sparse = "uniform weights forget more than soft ones", "soft weights forget more than sparse ones"
        formula = f"within {far:.1e} of it"
        self.claims = [
            Claim("each value's gradient is its weights times those of the outputs", Exact(far <= EXACT), formula),
            Claim("a value that nothing reads, and its key, are told exactly 0", Exact(leak == 0), f"{leak:g}"),
            Claim("by sparse weights the first task's expert and answers stay, bit for bit", stay, kept),
            self._more(UNIFORM, SOFT, "sgd", soft),
            self._more(SOFT, SPARSE, "sgd", sparse),
            self._more(SOFT, SPARSE, "adam", sparse),
        ]
        self.verdict = conclude(self.claims)

    def numbers(self, gate: str, by: str, column: str) -> Numbers:
        return np.array([float(row[column]) for row in select(self.rows, model=gate, optimizer=by)])

    def _kept(self, gate: str, by: str) -> str:
        same = self.numbers(gate, by, "same")
        return f"{same.sum():.0f} of {len(same)}"

    def _more(self, gate: str, other: str, by: str, text: str) -> Claim:
        difference = over_seeds(self.numbers(gate, by, "lost") - self.numbers(other, by, "lost"))
        return Claim(f"by {by} {text}", difference, f"{difference.times(100).text(1)} points")

    def _table(self, by: str) -> list[list[str]]:
        table = [["gate", "weight", "first task, before", "after", "forgotten", "second task", "moved", "same bits"]]
        for gate in self.gates:
            shares = [over_seeds(self.numbers(gate, by, name)) for name in ("before", "after", "lost", "second")]
            weight, moved = (f"{self.numbers(gate, by, column).mean():.2g}" for column in ("weight", "moved"))
            percent = [share.times(100).text(1) for share in shares]
            table.append([gate, weight, *percent, moved, self._kept(gate, by)])
        return table

    def fields(self) -> dict[str, Any]:
        gradients = [["weights", "distance from the formula", "values that nothing reads", "largest gradient of these"]]
        for way in WAYS:
            rows = select(self.rows, part="gradients", model=way)
            far, leak = (f"{max(row[column] for row in rows):.1e}" for column in ("deviation", "leak"))
            unread = f"{sum(row['zeros'] for row in rows):,} of {sum(row['values'] for row in rows):,}"
            gradients.append([way, far, unread, leak])
        return {
            "claims": tabled(self.claims),
            "decided": decided(len(self.claims)),
            "gradients": gradients,
            **{by: self._table(by) for by in OPTIMIZERS},
            "costs": costs(self.content, self.gates, "gate"),
        }


def _plot(result: Findings, folder: Path) -> dict[str, str]:
    titles = "What values are told of the error", "What is forgotten by the weight of the expert that knows it"
    graphs = select(result.rows, part="graph")
    stories = []
    for about in graphs:
        pairs = zip(about["weights"], about["gradients"], strict=True)
        edges = [f"weight {weight:.2f} and gradient {gradient:.2f}" for weight, gradient in pairs]
        stories.append(f"{about['model']}, output's gradient {about['told']:.2f}: {', '.join(edges)}")
    drawn = draw_picture(folder / "isolation-graph", partial(_draw, graphs), titles[0], "Graphs", stories)
    gates = [gate for gate in GATES if gate in result.gates]
    weights = [float(result.numbers(gate, "sgd", "weight").mean()) for gate in gates]
    lost = {by: [over_seeds(result.numbers(gate, by, "lost")) for gate in gates] for by in OPTIMIZERS}
    curves = look.curves(
        [curve(by, range(len(gates)), shares, 100) for by, shares in lost.items()],
        folder / "isolation",
        ticks=[(index, f"{weight:.2g}" if weight else "exactly 0") for index, weight in enumerate(weights)],
        labels=("weight of the first task's expert in the second task; bars: 95% over seeds", "points forgotten"),
        title=titles[1],
        note="The gate is told the task; two experts",
    )
    return {"graph": picture(drawn, titles[0]), "picture": picture(curves, titles[1])}


def _draw(graphs: Sequence[Mapping[str, Any]], page: Page) -> None:
    """A panel a normalizer: values, an output, and on edges weights and gradients."""
    blue, red, output = STYLES[0][0], STYLES[1][0], (0.8, 0.5)
    node = {"boxstyle": "circle,pad=0.4", "facecolor": "white"}
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    for panel, about in enumerate(graphs):
        axes = page.axes(3.3 * panel, 0, 3.3, 3.6, xlim=(0, 1), ylim=(0, 1))
        axes.set_axis_off()
        write = partial(axes.text, ha="center", va="center", fontsize=9)
        write(0.5, 0.96, about["model"], color=INK)
        for index, (weight, gradient) in enumerate(zip(about["weights"], about["gradients"], strict=True)):
            height, colour = 0.84 - 0.76 * index / (len(about["weights"]) - 1), INK if weight else FAINT
            edge = {"color": blue, "linewidth": 0.6 + 6.0 * weight} if weight else {"color": FAINT, "linestyle": ":"}
            axes.plot((0.32, output[0]), (height, output[1]), zorder=1, **edge)
            write(0.32, height, f"v{index + 1}", color=colour, bbox={**node, "edgecolor": colour})
            write(0.48, height + (output[1] - height) / 3, f"{weight:.2f}", color=blue, bbox=box)
            write(0.19, height, f"{gradient:.2f}", color=red)
        write(*output, "y", color=INK, bbox={**node, "edgecolor": INK})
        write(output[0], 0.61, f"∂L/∂y = {about['told']:.2f}", color=red)
        write(0.19, 0.93, "∂L/∂v", color=red)


STUDY = Study(
    sentence="values of weight 0 get no gradient, so their experts forget nothing (Jacobs et al. 1991, section 1)",
    title="What is not attended to does not change",
    claim="Attention masks the error that is propagated back: a value's gradient is its weight times the output's, and "
    "0 if the weight is 0, so that parts which are not attended to do not change when new data arrive.",
    source="The gradient of a weighted sum; Jacobs, Jordan, Nowlan, Hinton 1991, 'Adaptive Mixtures of Local Experts', "
    "section 1, for experts",
    options=OnDigits,
    measure=_measure,
    compare=Findings,
    plot=_plot,
    body="""
{graph}

Blue: the weights, by which values are read. Red: the gradients, which flow back along the same edges. Dotted: a weight
of exactly 0.

## What is claimed

{claims}

{decided}

## Gradients

{gradients}

Gradients of `attend` by autograd are compared with the formula in float64, over 40 random graphs a seed of three
queries and eleven values. The distance is over the largest gradient, and up to 1e-12 counts as rounding. Masked weights
are those of a softmax with half of the keys forbidden.

## Two tasks, one after the other

{picture}

Trained by sgd, in percent of the test:

{sgd}

Trained by adam, in percent of the test:

{adam}

## How it was measured

Two experts, networks of one hidden layer of 64, are weighed by attention. The tasks are the digits 0 to 4, then 5 to 9,
both among all ten, each with a new optimizer. The gate gets the task: its own expert has the score 1 to 8, the other 0.
Learned gates get the image alone (a query of 16 numbers and two keys, or `nn.MixtureOfExperts`) and decide nothing.
`weight` is that of the first task's expert in the second task, `moved` the relative distance of its parameters. By SGD
(gradients of norm 1 at most, a rate along half a cosine) an expert with a small weight moves less. Adam divides the
weight out, unless it is exactly 0.

{costs}

Steps and seconds are those of both tasks, in the mean over sgd and adam. Data: {arguments[data]}.

{where}
""",
)
