"""Experts in training: the loss of uneven loads, and the loads in an evaluation.

The returned values of every `saccade.nn.MixtureOfExperts` are collected by hooks, so tasks and models need no code.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from torch import Tensor, nn

from saccade._threads import hooked
from saccade.nn import MixtureOfExperts
from saccade.nn.experts import Balance
from saccade.train.task import Evaluation, Loss

_METRIC = "expert_load"


class Balanced(NamedTuple):
    """The balance of one call, and its mixture.

    The name is that of the mixture in the model, without its last part.
    """

    name: str
    balance: Balance


@contextmanager
def balances(model: nn.Module) -> Iterator[list[Balanced]]:
    """Collect the balance of each call of a mixture while the block runs.

    The balances have the order of the calls.
    """
    collected: list[Balanced] = []
    names: dict[nn.Module, str] = {
        module: name.rpartition(".")[0] or name
        for name, module in model.named_modules()
        if isinstance(module, MixtureOfExperts)
    }

    def take(module: nn.Module, args: Any, result: Any) -> None:
        collected.append(Balanced(names[module], result[1]))

    with hooked(names, take):
        yield collected


def with_balance(loss: Loss, collected: Sequence[Balanced]) -> Loss:
    """Return a batch's loss plus the weighted losses of its mixtures."""
    for call in collected:
        loss = replace(loss, total=loss.total + call.balance.loss.to(loss.total.dtype))
    return loss


def loads(collected: Sequence[Balanced]) -> dict[str, Tensor]:
    """Return the number of tokens of each expert, `(experts,)`, by mixture."""
    taken: dict[str, Tensor] = {}
    for name, balance in collected:
        taken[name] = taken[name] + balance.taken if name in taken else balance.taken
    return taken


def with_loads(result: Evaluation, collected: Sequence[Balanced]) -> Evaluation:
    """Return an evaluation with the loads of experts.

    The metric of a mixture is its largest load over the mean, and its groups are the shares of experts 1, 2, ...
    """
    metrics, groups = dict(result.metrics), dict(result.groups)
    for name, taken in loads(collected).items():
        shares = (taken / taken.sum().clamp(min=1)).tolist()
        metric = f"{_METRIC}_{name}" if name else _METRIC
        metrics[metric] = round(max(shares) * len(shares), 6)
        groups[metric] = {str(number): round(share, 6) for number, share in enumerate(shares, 1)}
    return replace(result, metrics=metrics, groups=groups) if collected else result


def expert_shares(result: Evaluation) -> dict[str, dict[str, float]]:
    """Return the shares of experts in a validation for metrics.jsonl."""
    return {f"validation_{name}_shares": part for name, part in result.groups.items() if name.startswith(_METRIC)}
