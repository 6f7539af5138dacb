"""Adam, its learning rate at each step, and its state as plain tensors."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from saccade.train.options import Options

__all__ = ["learning_rate", "make_optimizer", "optimizer_tensors", "restore_optimizer"]


def learning_rate(step: int, options: Options) -> float:
    r"""Return the learning rate of a step: a straight rise, then a fall with the square root of the step.

    .. math:: \eta_n = \eta \min\left(\frac{n + 1}{w},\ \sqrt{\frac{w}{n + 1}}\right)

    It does not depend on the budget, so that a run stopped at 40 steps and continued to 50 is the run of 50.

    Args:
        step: n, from 0 on.
        options: \(\eta\) = learning_rate, reached after w = warmup_steps.

    Source:
        Vaswani et al. 2017, "Attention Is All You Need", Eq. 3, with the height of the peak as a parameter.

    Example:
        >>> options = Options(learning_rate=1.0, warmup_steps=10)
        >>> [learning_rate(step, options) for step in (0, 9, 39, 159)]
        [0.1, 1.0, 0.5, 0.25]
    """
    rise = (step + 1) / options.warmup_steps
    return options.learning_rate * float(min(rise, rise**-0.5))


def make_optimizer(model: nn.Module, options: Options) -> torch.optim.Optimizer:
    """Return Adam (Kingma, Ba 2015) over a model's parameters, with a short memory of squares for short runs."""
    return torch.optim.Adam(model.parameters(), lr=options.learning_rate, betas=(0.9, 0.99), fused=True)


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return an optimizer's state as tensors named "parameter number.name". Its settings follow from the options."""
    state = optimizer.state_dict()["state"]
    return {f"{number}.{name}": tensor for number, tensors in state.items() for name, tensor in tensors.items()}


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Put back what `optimizer_tensors` returned."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        number, name = key.split(".", 1)
        state.setdefault(int(number), {})[name] = tensor
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
