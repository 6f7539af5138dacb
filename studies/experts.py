"""Experts with and without balancing losses (Shazeer et al. 2017, appendix A)."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from saccade import look
from saccade._definitions.numerics import divide
from saccade.auxiliary import AuxRequest
from saccade.errors import ArgumentError
from saccade.look import Dots
from saccade.nn import MixtureOfExperts
from saccade.nn.gating import squared_variation
from saccade.tasks.batches import in_batches
from saccade.tasks.task import Job
from saccade.tasks.text.special import PADDING
from saccade.tasks.translate.codec import encode, pad, padded
from saccade.tasks.translate.data.corpus import Corpus, Pair
from saccade.train.balance import balances
from saccade.train.randomness import seeded
from studies.frame.claims import NOTHING, Claim, Verdict, judged, rule, together, worded
from studies.frame.options import Trained
from studies.frame.page import COSTS, SPEED, about_data, costs, deviations, paragraphs, picture, sentence
from studies.frame.scores import metric_name
from studies.frame.seeds import over_seeds, spread
from studies.frame.study import Study
from studies.frame.training import Part, Trainings, Variant, tested, whole_test

DENSE = "no experts"
BATCHES = 10  # of training, over which balance is averaged
SHUFFLES = 10  # of experts among tokens
_TOKENS = 4000  # read at once
_MEASURED = {"importance": "CV(importance)", "load": "CV(load)", "most": "max / mean load"}
_SHARES = ("token", "token by chance", "group", "group by chance")
PAPER = {
    "no loss": (0.0, 0.0, 39.8, 3.04, 3.01, 17.80),
    "importance 0.2": (0.2, 0.0, 35.6, 0.06, 0.17, 1.47),
    "load 0.2": (0.0, 0.2, 35.7, 0.22, 0.04, 1.15),
    "importance 0.1, load 0.1": (0.1, 0.1, 35.6, 0.06, 0.05, 1.14),
    "importance 0.01, load 0.01": (0.01, 0.01, 35.7, 0.48, 0.11, 1.37),
    "importance 1, load 1": (1.0, 1.0, 35.7, 0.03, 0.02, 1.07),
}
"""Table 6 of the paper, after five public transcriptions that agree.

Weights of the losses of importance and load, test perplexity, CV(importance), CV(load), largest over mean load. A token
takes 4 of 256 experts."""
WITHOUT, BOTH = "no loss", "importance 0.1, load 0.1"  # which the paper trains with


@dataclass(frozen=True, kw_only=True)
class Options(Trained):
    """Options of the study."""

    experts: int = 16
    """Experts in the place of the feed-forward network of every other layer."""

    top_k: int = 2
    """Number of experts that a token takes."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 <= self.experts <= 1 << 16:
            raise ArgumentError(f"--experts: expected a number from 2 to {1 << 16:,}, got {self.experts}")
        if not 1 <= self.top_k < self.experts:
            raise ArgumentError(f"--top-k: expected 1 or more, below --experts = {self.experts}, got {self.top_k}")


def variants(options: Options) -> list[Variant]:
    """Return a model without experts and one a setting; --quick has time for two."""
    budget: dict[str, Any] = {"max_steps": None} if options.quick else {}  # its minutes are planned
    size = {"experts": options.experts, "top_k": options.top_k, **budget}
    losses = {name: {"importance_weight": row[0], "load_weight": row[1]} for name, row in PAPER.items()}
    names = (WITHOUT, BOTH) if options.quick else PAPER
    experts = [Variant(name, "transformer", {**size, **losses[name]}) for name in names]
    return [Variant(DENSE, "transformer", budget), *experts]


def _parts(corpus: Corpus, options: Options) -> list[Part]:
    pairs = tested(corpus)

    def measured(task: Job, model: Any, seed: int) -> dict[str, Any]:
        predictor: Any = task.predictor
        shares = specialization(task, model, pairs, predictor.groups(pairs))
        return {"perplexity": round(perplexity(task, model, pairs), 6), **balanced(task, model, seed), **shares}

    return [*whole_test(corpus, options), Part({"measured": "balance"}, measured)]


def balanced(task: Job, model: nn.Module, seed: int) -> dict[str, float]:
    """Return how evenly tokens go to experts in training, with noise and dropout.

    Means over batches and mixtures of the coefficients of variation of "importance" and "load", as the paper estimates
    them, and of "most", the largest load over the mean. Nothing of a model without experts.
    """
    device = next(model.parameters()).device
    model.train()
    try:
        with seeded(seed, "balance"), torch.no_grad(), balances(model) as mixtures:
            for step in range(BATCHES):
                task.loss(model, task.batch(step).to(device))
    finally:
        model.eval()
    rows = []
    for balance in (mixture.balance for mixture in mixtures):
        variations = (float(squared_variation(amounts).sqrt()) for amounts in (balance.importance, balance.load))
        rows.append([*variations, float(divide(balance.load.max(), balance.load.mean()))])
    columns = zip(_MEASURED, zip(*rows, strict=True), strict=True) if rows else ()
    return {name: round(statistics.fmean(numbers), 6) for name, numbers in columns}


def perplexity(task: Job, model: nn.Module, pairs: Sequence[Pair]) -> float:
    """Return the perplexity of the tokens of all references, ends included."""
    device = next(model.parameters()).device
    examples = encode(pairs, task.codec.source, task.codec.target)

    def read(indices: Sequence[int]) -> list[tuple[float, int]]:
        batch = pad([examples[index] for index in indices]).to(device)
        target = batch.target[:, 1:]
        count = int((target != PADDING).sum())
        loss = count * float(model(batch.source, batch.target[:, :-1], target))
        return [(loss, count), *[(0.0, 0)] * (len(indices) - 1)]

    with torch.inference_mode():
        losses, counts = zip(*in_batches([example.size for example in examples], _TOKENS, read), strict=True)
    return math.exp(sum(losses) / sum(counts))


def specialization(task: Job, model: nn.Module, pairs: Sequence[Pair], groups: Sequence[str]) -> dict[str, float]:
    r"""Return the shares of the entropy of a source token's expert that others tell.

    They are \(I(E; Z) / H(E)\), where E is the expert of the largest weight in the encoder's last mixture, and Z
    the "token" or the "group" of its text.
    "By chance" is the mean share of experts that are shuffled among the tokens. Nothing of a model without experts.
    """
    mixtures = [name for name, module in model.named_modules() if isinstance(module, MixtureOfExperts)]
    name = next((name for name in reversed(mixtures) if name.startswith("encoder")), None)
    if name is None:
        return {}
    device, words = next(model.parameters()).device, task.codec
    sources = words.source.encode_batch([pair.source for pair in pairs])

    def read(indices: Sequence[int]) -> list[tuple[Tensor, Tensor]]:
        source = padded([sources[index] for index in indices]).to(device)
        with look.record(model, AuxRequest(top=1)) as records:
            model.encode(source)  # type: ignore[operator]
        top = next(aux.top for at, aux in records if at == name)
        assert top is not None
        rows = zip(top[1][..., 0].cpu(), source.values.cpu(), source.lengths.tolist(), strict=True)
        return [(experts[:length], ids[:length]) for experts, ids, length in rows]

    with torch.inference_mode():
        rows = in_batches([1 + len(ids) for ids in sources], _TOKENS, read)
    expert, numbers = torch.cat([experts for experts, _ in rows]), list(dict.fromkeys(groups))
    group = [torch.full_like(ids, numbers.index(name)) for (_, ids), name in zip(rows, groups, strict=True)]
    shares = {}
    for about, other in {"token": torch.cat([ids for _, ids in rows]), "group": torch.cat(group)}.items():
        shares[about], shares[f"{about} by chance"] = information(expert, other), by_chance(expert, other)
    return {about: round(share, 6) for about, share in shares.items()}


def by_chance(first: Tensor, second: Tensor) -> float:
    """Return the mean information of shuffled pairs, always the same."""
    numbers = torch.Generator().manual_seed(0)
    shuffles = (torch.randperm(len(first), generator=numbers) for _ in range(SHUFFLES))
    return statistics.fmean(information(first[order], second) for order in shuffles)


def information(first: Tensor, second: Tensor) -> float:
    """Return I(first; second) / H(first) of whole numbers, 0 if H is 0.

    >>> x = torch.tensor([0, 0, 1, 1])
    >>> information(x, torch.tensor([3, 3, 0, 0])), information(x, torch.tensor([0, 1, 0, 1]))
    (1.0, 0.0)
    """
    from sklearn.metrics import homogeneity_score

    return float(homogeneity_score(first, second)) if len(first.unique()) > 1 else 0.0


class Findings:
    """Balance and perplexity over seeds, and the verdict."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.rows: list[dict[str, Any]] = content["rows"]
        self.models = list(dict.fromkeys(row["model"] for row in self.rows))
        self.claims, names = list[Claim](), {"load": "CV(load)", "perplexity": "perplexity"}
        for model, name in product([name for name in self.models if name not in (DENSE, WITHOUT)], names):
            lower = over_seeds(self.values(WITHOUT, name), self.values(model, name))
            text = f"{names[name]} is lower with {model} than with no loss"
            self.claims.append(Claim(text, lower, f"by {lower.text(4)}"))
        results = judged([claim.number for claim in self.claims])
        load, perplexity = together(results[::2]), together(results[1::2])
        loads = [statistics.fmean(self.values(model, "most")) for model in (WITHOUT, BOTH)]
        reason = f"that losses even loads out is {load}, that they lower perplexity {perplexity}; the largest load is "
        reason += f"{loads[0]:.1f} times the mean without losses and {loads[1]:.2f} times with both"
        scored = any(row.get("score", 0) > 0 for row in self.rows)
        self.verdict = Verdict(together(results), reason) if scored else NOTHING

    def values(self, model: str, name: str) -> list[float]:
        return [row[name] for row in self.rows if row["model"] == model and name in row]

    def _row(self, model: str, names: Sequence[str], decimals: int) -> list[str]:
        values = (self.values(model, name) for name in names)
        return [spread(numbers, decimals, 1) if numbers else "" for numbers in values]

    def _tested(self, model: str) -> str:
        """The largest load over the mean on the test split, a mean over mixtures."""
        runs = [run["metrics"] for run in self.content["runs"].values() if run["model"] == model]
        loads = [[load for name, load in run.items() if name.startswith("expert_load")] for run in runs]
        return spread([statistics.fmean(mixtures) for mixtures in loads], 2, 1) if all(loads) else ""

    def fields(self) -> dict[str, Any]:
        scored = next(row for row in self.rows if "score" in row)
        metric = metric_name(scored["metric"])
        balance = [["losses", "test perplexity", metric, *_MEASURED.values(), "the same on test"]]
        for model in self.models:
            scores = self._row(model, ("perplexity", "score"), 4)
            balance.append([model, *scores, *self._row(model, [*_MEASURED], 2), self._tested(model)])
        names = [name for name in _SHARES if any(name in row for row in self.rows)]
        shares = [[model, *self._row(model, names, 2)] for model in self.models if self.values(model, "token")]
        header = ["losses", "test perplexity", *_MEASURED.values()]
        figures = [[name, f"{row[2]}", *(f"{number:.2f}" for number in row[3:])] for name, row in PAPER.items()]
        chance = f" By chance: experts shuffled among the tokens, the mean over {SHUFFLES} shuffles."
        return {
            "balance": balance,
            "claims": paragraphs(*(f"{sentence(claim)}." for claim in worded(self.claims).split("; "))),
            "rule": rule(len(self.claims)),
            "paper": [header, *figures],
            "shares": [["losses", *(f"known from the {name}" for name in names)], *shares],
            "chance": chance * ("token by chance" in names),
            "costs": costs(self.content, self.models, "losses", (*COSTS, SPEED)),
            "data": about_data(self.content, scored["sentences"]),
        }


def _plot(result: Findings, folder: Path) -> dict[str, str]:
    models = [model for model in result.models if result.values(model, "load")]
    names = ("importance", "load")
    series = [Dots(name, *deviations(result.values(model, name) for model in models)) for name in names]
    title = "How unevenly experts are loaded"
    label = "coefficient of variation; bars: the standard deviation over seeds"
    return {"picture": picture(look.dots(models, series, folder / "experts", label=label, title=title), title)}


STUDY = Study(
    sentence="losses even the load of experts and lower the error (Shazeer et al. 2017, appendix A, table 6)",
    title="Experts and their balance",
    claim="Without losses a gate loads its experts unevenly, and the model is worse for it. Either of two losses, of "
    "the weights that experts get (importance) and of the tokens that they may expect (load), makes loads even, at any "
    "of five settings.",
    source="Shazeer et al. 2017, appendix A, table 6, there of 256 experts in a language model, "
    "https://arxiv.org/abs/1701.06538",
    options=Options,
    measure=Trainings(variants, _parts),
    compare=Findings,
    plot=_plot,
    body="""
{picture}

## Balance

{balance}

± is the standard deviation over seeds, and ± of a difference half of its 95% interval over seeds (Student's t, Welch's
degrees of freedom). Balance is that of 10 batches of training, with noise and dropout: the mean over batches and
mixtures. On the test split nothing is noisy and tokens are counted (importance and load: equation 10 of the paper).

{claims}

{rule}

The paper's figures:

{paper}

## What experts know

{shares}

The share of the entropy of a source token's first expert, in the encoder's last mixture, that the token or the group of
its text (in built-in dates, the language) tells, on the test split.{chance}

## What it costs

{costs}

## How it was measured

All models are trained by one recipe but for the weights of the losses. Of {arguments[experts]} experts a token takes
{arguments[top_k]}, in every other layer. The model without experts has one network in their place, as large as an
expert. Perplexity is that of the test split's references. The claim is reproduced if all settings are better than no
loss, and contradicted if one is worse.

{data}

{runs}
""",
)
