"""Host time of a call by Triton kernels: all that happens around their launches."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as sdpa

from saccade import AuxRequest, attend
from saccade.backends.triton import interpreted
from saccade.bench.formulas import joined, normal
from saccade.bench.row import Row, Run, Setup, quicker
from saccade.kernels.launch import launch
from saccade.masks import Lengths
from saccade.normalizers import Sparsemax
from saccade.scores import Additive

_SIZES = 2, 4, 16, 16, 32  # batch, heads, queries, keys, features: the kernels alone would depend on them
_CALLS: dict[str, Callable[[Tensor], dict[str, Any]]] = {
    "dot with entropy, lse, top 4": lambda v: {"aux": AuxRequest(entropy=True, lse=True, top=4)},
    "additive with lengths": lambda v: {
        "score": Additive(v),
        "mask": Lengths(torch.tensor([[16], [9]], device=v.device)),
    },
    "sparsemax": lambda v: {"normalizer": Sparsemax()},
}
_TARGETS = {"forward": 120e-6, "backward": 200e-6}


def rows(setup: Setup) -> list[Row]:
    """Return the rows of host times: a recorded forward, and its backward alone."""
    return [
        Row(
            family=f"host time, {name} {step}",
            shape=joined(_SIZES[:2] + _SIZES[3:]),
            peer="torch, its whole call",
            inputs=normal(_SIZES, grad=True),
            ours=partial(_ours, options, step),
            theirs=partial(_theirs, step),
            targets=(quicker(_TARGETS[step]),),
            same=False,
            quick=name.startswith("dot") and step == "forward",
        )
        for name, options in _CALLS.items()
        for step in _TARGETS
    ]


def _ours(options: Callable[[Tensor], dict[str, Any]], step: str, *inputs: Tensor) -> Run:
    *attended, v = inputs
    keywords = options(v)

    def forward() -> Tensor:
        result: Any = attend(*attended, **keywords, backend="triton")
        output: Tensor = result[0] if isinstance(result, tuple) else result
        return output

    stubs = without_launches()
    with stubs:
        run = forward if step == "forward" else _backward(forward, attended)

    def stubbed() -> Any:
        with stubs:
            return run()

    return stubbed


def _theirs(step: str, *inputs: Tensor) -> Run:
    query, key, value, _ = inputs
    forward = partial(sdpa, query, key, value)
    return forward if step == "forward" else _backward(forward, inputs[:3])


def _backward(forward: Callable[[], Tensor], learning: Sequence[Tensor]) -> Run:
    output = forward()
    return partial(torch.autograd.grad, output, learning, torch.ones_like(output), retain_graph=True)


class without_launches:  # noqa: N801 read as a function
    """Let Triton's backend serve any device and launch nothing; results are arbitrary.

    It is timed with the call, and a generator would take eight microseconds.
    """

    def __enter__(self) -> None:
        self._codes = launch.__code__, interpreted.__code__
        # other modules hold both functions by name, so their code is exchanged
        launch.__code__, interpreted.__code__ = _launch_nothing.__code__, _always.__code__

    def __exit__(self, *error: object) -> None:
        launch.__code__, interpreted.__code__ = self._codes


def _launch_nothing(kernel: Any, programs: int, *arguments: Any, **constants: Any) -> None:
    return None


def _always() -> bool:
    return True
