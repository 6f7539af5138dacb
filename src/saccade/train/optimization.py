"""Adam, its learning rate at each step, and its state as plain tensors."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from saccade.train.options import Options
from saccade.train.pace import Mark, progress
from saccade.train.schedules import FALLING, SCHEDULES


def learning_rate(step: int, options: Options, marks: Sequence[Mark] = (), warmup_share: float = 0.0) -> float:
    r"""Return the learning rate of a step: a linear warmup, then the schedule.

    .. math::
        \eta_n &= \eta\, (n + 1) / w & n + 1 \le w \\
        \eta_n &= \eta\, \big(f + (1 - f)\, s\big) & n + 1 > w,\quad
            t = \min\Big(1, \frac{n + 1 - w}{N - w}\Big)

    with s = √(w / (n + 1)) (inverse-sqrt), 1 (constant), 1 − t (linear) or (1 + cos πt) / 2 (cosine). It does not
    depend on the budget, so that a run stopped at 40 steps and continued to 50 is the run of 50. With marks of the
    clock, n + 1, w and N are shares of training in place of steps, and N is 1.

    Args:
        step: n, from 0 on.
        options: \(\eta\) = learning_rate, w = warmup_steps, N = schedule_steps. From step N on, the rate of the
            linear and cosine schedules is f = final_rate of \(\eta\). For other schedules f is 0.
        marks: of the clock, in a run with a budget in minutes. The first one is that of the plan.
        warmup_share: w with marks. If it is 0, the warmup has w steps.

    Source:
        Vaswani et al. 2017, "Attention Is All You Need", Eq. 3 (inverse-sqrt), with the height of the peak as a
        parameter; Loshchilov, Hutter 2017, "SGDR", Eq. 5 (cosine, without restarts).

    Example:
        >>> options = Options(learning_rate=1.0, warmup_steps=10)
        >>> [learning_rate(step, options) for step in (0, 9, 39, 159)]
        [0.1, 1.0, 0.5, 0.25]
        >>> options = Options(learning_rate=1.0, schedule="linear", warmup_steps=10, schedule_steps=20, final_rate=0.2)
        >>> [round(learning_rate(step, options), 3) for step in (4, 9, 14, 19, 1000)]
        [0.5, 1.0, 0.6, 0.2, 0.2]
        >>> marks = [Mark(0, 0.0, 0.05), Mark(12, 0.6, 0.2)]  # from step 12 on there is time for two steps
        >>> [round(learning_rate(step, options, marks, 0.5), 3) for step in (4, 9, 11, 12, 13, 1000)]
        [0.5, 1.0, 0.84, 0.52, 0.2, 0.2]
    """
    warmup, floor = options.warmup_steps, options.final_rate
    rise = (step + 1) / warmup
    by_clock = len(marks) > 1 and step >= marks[1].step  # until then the plan has the rates of its steps
    if by_clock and warmup_share:
        rise = progress(marks, step + 1) / warmup_share
    if rise <= 1:
        return options.learning_rate * rise
    fall = 1.0 if options.schedule_steps is None else min(1.0, (step + 1 - warmup) / (options.schedule_steps - warmup))
    if by_clock:
        peak = warmup_share or progress(marks, warmup)
        fall = (progress(marks, step + 1) - peak) / (1 - peak) if peak < 1 else 1.0
    return options.learning_rate * (floor + (1 - floor) * SCHEDULES[options.schedule](rise, fall))


def flat_from(options: Options) -> str | None:
    """Return a note if the learning rate is at its last before the budget ends.

    Otherwise return None.
    """
    end, budget = options.schedule_steps, options.max_steps
    if options.schedule not in FALLING or end is None or (budget is not None and budget <= end):
        return None
    way_out = "a larger --schedule-steps, in a new run, spreads it out"
    return f"the learning rate is at its last from step {end} on; {way_out}"


def make_optimizer(model: nn.Module, options: Options) -> torch.optim.Optimizer:
    """Return Adam (Kingma, Ba 2015), or AdamW (Loshchilov, Hutter 2019).

    It is AdamW if there is a weight decay. Vectors (biases, gains) are not decayed: pulling them to zero regularizes
    nothing.
    """
    fused = options.precision == "32"  # a fused one unscales gradients itself, but they are clipped first
    settings: dict[str, Any] = {"lr": options.learning_rate, "betas": (options.beta1, options.beta2), "fused": fused}
    if not options.weight_decay:
        return torch.optim.Adam(model.parameters(), **settings)
    groups = [
        {"params": [p for p in model.parameters() if p.ndim > 1], "weight_decay": options.weight_decay},
        {"params": [p for p in model.parameters() if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, **settings)


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return an optimizer's state as tensors named "parameter number.name".

    Its settings follow from the options.
    """
    state = optimizer.state_dict()["state"]
    return {
        f"{number}.{name}": tensor.contiguous() for number, tensors in state.items() for name, tensor in tensors.items()
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Restore the tensors of `optimizer_tensors`."""
    state: dict[int, dict[str, Tensor]] = {}
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for key, tensor in tensors.items():
        number, name = key.split(".", 1)
        like = parameters[int(number)]
        # A fused step needs the memory layout of the parameter.
        laid = torch.empty_like(like, dtype=tensor.dtype).copy_(tensor) if tensor.shape == like.shape else tensor
        state.setdefault(int(number), {})[name] = laid
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
