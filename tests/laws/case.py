"""One call drawn from the tables: its tensors by name, what `attend` takes, and what the textbook says."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from laws import oracle
from laws.table import GATES, PRIMES, TABLES, Sizes
from saccade import AuxOutput, AuxRequest, attend
from saccade.backends.blockwise.engine import ENGINES, engine_named

Inputs = dict[str, Tensor]


@dataclass(frozen=True)
class Case:
    """Names of members, a backend, sizes, a dtype; `broadcast` narrows dimensions of the tensors at random."""

    score: str = "scaled_dot"
    normalizer: str = "softmax"
    mask: str = "none"
    bias: str = "none"
    gate: str = "none"
    read: str = "soft"
    backend: str = "reference"
    sizes: Sizes = PRIMES
    dtype: torch.dtype = torch.float64
    broadcast: bool = False

    def member(self, kind: str) -> Any:
        return TABLES[kind][getattr(self, kind)]

    def traits(self) -> set[str]:
        return {trait for kind in TABLES for trait in self.member(kind).traits}

    def inputs(self, seed: int = 0) -> Inputs:
        """All tensors of the call: "query", "key", "value", then "score.v" and so on."""
        generator, n = torch.Generator().manual_seed(seed), self.sizes
        width = n.c if any("c" in spec.axes for spec in self.member("score").specs.values()) else n.d
        made = {
            name: torch.randn(*n.batch, length, dim, generator=generator, dtype=torch.float64)
            for name, length, dim in (("query", n.q, n.d), ("key", n.k, width), ("value", n.k, n.e))
        }
        for kind in TABLES:
            for name, spec in self.member(kind).specs.items():
                made[f"{kind}.{name}"] = spec.tensor(generator, n)
        made = self.narrowed(made) if self.broadcast else made
        return {name: self.cast(name, tensor) for name, tensor in made.items()}

    def cast(self, name: str, tensor: Tensor) -> Tensor:
        return tensor.to(self.dtype) if tensor.is_floating_point() and name != "read.uniform" else tensor

    def narrowed(self, made: Inputs) -> Inputs:
        """The tensors with batch dimensions of size 1 here and there: of query, key and value one keeps each."""
        rng, rank = random.Random(str(self)), len(self.sizes.batch)
        kept = [rng.choice(("query", "key", "value")) for _ in range(rank)]
        for name in made:
            for dim in range(rank):
                spec = self.spec(name)
                if (spec is None and name != kept[dim]) or (spec is not None and spec.axes[:1] == ("*",)):
                    made[name] = (
                        made[name].narrow(dim, 0, min(1, self.sizes.batch[dim])) if rng.random() < 0.5 else made[name]
                    )
        return made

    def spec(self, name: str) -> Any:
        kind, _, field = name.partition(".")
        return self.member(kind).specs[field] if field else None

    def of(self, kind: str, inputs: Inputs) -> Inputs:
        return {name.partition(".")[2]: tensor for name, tensor in inputs.items() if name.startswith(kind + ".")}

    def arguments(self, inputs: Inputs) -> dict[str, Any]:
        """What `attend` takes beside query, key and value."""
        return {kind: self.member(kind).build(**self.of(kind, inputs)) for kind in TABLES}

    def run(self, inputs: Inputs, aux: AuxRequest | None = None, **more: Any) -> Any:
        arguments = {**self.arguments(inputs), "backend": self.backend, **more}
        return attend(inputs["query"], inputs["key"], inputs["value"], aux=aux, **arguments)

    def on(self, backend: str) -> "Case":
        return replace(self, backend=backend)

    def everything(self, *, weights: bool = False, lse: bool = True) -> AuxRequest:
        """All statistics that this combination defines."""
        hard, one = "hard" in self.member("read").traits, "one" in self.member("normalizer").traits
        defined_lse = self.normalizer in ("softmax", "temperature", "temperature_tensor", "sink")
        return AuxRequest(
            weights=weights,
            lse=lse and defined_lse,
            index=hard,
            log_prob=hard and "undrawn" not in self.member("read").traits,
            entropy=one and self.normalizer != "sum_eps" and self.member("gate") is GATES["none"],
            top=3,
            received=True,
        )

    def allowed(self, inputs: Inputs) -> Tensor:
        """Who may attend to whom, `(*batch, Lq, Lk)`."""
        n = self.sizes
        lengths = (n.q, n.k)
        mask = self.member("mask").truth(lengths, **self.of("mask", inputs))
        bias = self.member("bias").truth(lengths, **self.of("bias", inputs))
        allowed = torch.ones(*n.batch, n.q, n.k, dtype=torch.bool)
        allowed = allowed if mask is None else allowed & mask
        return allowed if bias is None else allowed & (bias != -torch.inf)

    def truth(self, inputs: Inputs) -> tuple[Tensor, AuxOutput]:
        """Output and every statistic by the textbook."""
        inputs = {name: tensor.double() if tensor.is_floating_point() else tensor for name, tensor in inputs.items()}
        return self.textbook(inputs)

    def textbook(self, inputs: Inputs) -> tuple[Tensor, AuxOutput]:
        """The plain formula in the dtype of the inputs."""
        n = self.sizes
        lengths, allowed = (n.q, n.k), self.allowed(inputs)
        scores = (
            self.member("score").truth(inputs["query"], inputs["key"], **self.of("score", inputs)).expand(allowed.shape)
        )
        bias = self.member("bias").truth(lengths, **self.of("bias", inputs))
        scores = scores if bias is None else scores + torch.where(allowed, bias, 0)
        weights = self.member("normalizer").truth(scores, allowed, **self.of("normalizer", inputs))
        gate = self.member("gate").truth(lengths, **self.of("gate", inputs))
        weights = weights if gate is None else weights * gate
        acting, index = self.member("read").truth(weights, allowed, **self.of("read", inputs))
        temperature = {"temperature": 0.5, "temperature_tensor": inputs.get("normalizer.temperature")}.get(
            self.normalizer, 1.0
        )
        chosen = (
            None
            if index is None or not n.k
            else oracle.ratio(weights.gather(-1, index.clamp(min=0)[..., None])[..., 0], weights.sum(-1))
        )
        found = AuxOutput(
            weights=weights,
            lse=oracle.log_partition(scores, allowed, temperature),
            index=index,
            log_prob=None
            if index is None
            else torch.zeros(index.shape, dtype=scores.dtype)
            if chosen is None
            else torch.where(index >= 0, chosen, 1).log(),
            entropy=oracle.entropy(weights),
            top=oracle.top(weights, allowed, 3),
            received=weights.sum(-2),
        )
        return acting @ inputs["value"], found


def differentiable(inputs: Inputs, *but: str) -> Inputs:
    """The same tensors, the floating ones as leaves that ask for gradients."""
    return {
        name: tensor.detach().clone().requires_grad_(tensor.is_floating_point() and name not in ("read.uniform", *but))
        for name, tensor in inputs.items()
    }


def learning(inputs: Inputs) -> list[Tensor]:
    return [tensor for tensor in inputs.values() if tensor.requires_grad]


@contextmanager
def pairs_a_block(pairs: int) -> Iterator[None]:
    """Blocks of at most so many pairs of a query and a key, in every engine."""
    before = {engine: engine.pairs for engine in map(engine_named, ENGINES)}
    try:
        for engine in before:
            object.__setattr__(engine, "pairs", pairs)
        yield
    finally:
        for engine, number in before.items():
            object.__setattr__(engine, "pairs", number)
