"""Experts in training: what their uneven loads cost, and how many tokens each took while something was measured.

Neither a task nor a model has to know of it: what every `saccade.nn.MixtureOfExperts` returns is collected on its way.
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

__all__ = ["Balanced", "balances", "expert_shares", "loads", "with_balance", "with_loads"]

_METRIC = "expert_load"


class Balanced(NamedTuple):
    """What one call of a mixture returned of its balance.

    Args:
        name: of the mixture in the model, without the last part.
        balance: what it returned.
    """

    name: str
    balance: Balance


@contextmanager
def balances(model: nn.Module) -> Iterator[list[Balanced]]:
    """Collect the balance of each call of a mixture within a model while the block runs; gradients flow through it.

    Args:
        model: any module; without mixtures the list stays empty.

    Yields:
        The list, in the order of the calls; it grows as they happen.

    >>> import torch
    >>> model = nn.ModuleDict({"experts": MixtureOfExperts(4, 3)})
    >>> with balances(model) as found:
    ...     output, balance = model["experts"](torch.randn(5, 4))
    >>> found[0].balance is balance
    True
    """
    found: list[Balanced] = []
    names: dict[nn.Module, str] = {
        module: name.rpartition(".")[0] or name
        for name, module in model.named_modules()
        if isinstance(module, MixtureOfExperts)
    }

    def take(module: nn.Module, args: Any, result: Any) -> None:
        found.append(Balanced(names[module], result[1]))

    with hooked(names, take):
        yield found


def with_balance(loss: Loss, found: Sequence[Balanced]) -> Loss:
    """A batch's loss and the mixtures' own, which are weighed already.

    >>> import torch
    >>> with_balance(Loss(torch.tensor(2.0), 5), []).total.item()
    2.0
    """
    total = loss.total
    for one in found:
        total = total + one.balance.loss.to(total.dtype)
    return replace(loss, total=total) if found else loss


def loads(found: Sequence[Balanced]) -> dict[str, Tensor]:
    """How many tokens each expert took, `(experts,)`, by mixture.

    >>> import torch
    >>> with balances(mixture := MixtureOfExperts(4, 1, 1)) as found:
    ...     output = mixture(torch.randn(5, 4))
    >>> loads(found)
    {'': tensor([5])}
    """
    taken: dict[str, Tensor] = {}
    for name, balance in found:
        taken[name] = taken[name] + balance.taken if name in taken else balance.taken
    return taken


def with_loads(result: Evaluation, found: Sequence[Balanced]) -> Evaluation:
    """An evaluation, and how its tokens were spread over experts: for each mixture the largest load over the mean, and
    as its groups the share of each expert, counted from 1; of all tokens that were read and written meanwhile.
    """
    metrics, groups = dict(result.metrics), dict(result.groups)
    for name, taken in loads(found).items():
        shares = (taken / taken.sum().clamp(min=1)).tolist()
        metric = f"{_METRIC}_{name}" if name else _METRIC
        metrics[metric] = round(max(shares) * len(shares), 6)
        groups[metric] = {str(number): round(share, 6) for number, share in enumerate(shares, 1)}
    return replace(result, metrics=metrics, groups=groups) if found else result


def expert_shares(result: Evaluation) -> dict[str, dict[str, float]]:
    """The share of each expert, as metrics.jsonl has it of a validation.

    >>> expert_shares(Evaluation({"expert_load_layers.0": 1.5}, {"expert_load_layers.0": {"1": 0.75, "2": 0.25}}))
    {'validation_expert_load_layers.0_shares': {'1': 0.75, '2': 0.25}}
    """
    return {f"validation_{name}_shares": part for name, part in result.groups.items() if name.startswith(_METRIC)}
