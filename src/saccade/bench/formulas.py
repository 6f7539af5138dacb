"""Usual formulas of attention, and calls made of functions and tensors."""

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from saccade import attend
from saccade.bench.row import Absent, Inputs, Prepare, Row, Run, Setup, Work

Function = Callable[..., Tensor]


def textbook(query: Tensor, key: Tensor, value: Tensor, v: Tensor) -> Tensor:
    """Additive attention: softmax(tanh(q + k) · v) value (Bahdanau et al. 2015)."""
    return torch.softmax(torch.tanh(query[..., :, None, :] + key[..., None, :, :]) @ v, -1) @ value


def keras(query: Tensor, key: Tensor, value: Tensor, v: Tensor) -> Tensor:
    """Additive attention as in Keras's AdditiveAttention, with a sum for the product."""
    scores = (v * torch.tanh(query.unsqueeze(-2) + key.unsqueeze(-3))).sum(-1)
    return torch.softmax(scores, -1) @ value


def dot(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Scaled dot-product attention, softmax(q kᵀ / √D) value (Vaswani et al. 2017, 1)."""
    return torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1) @ value


def remembered(query: Tensor, key: Tensor, value: Tensor, v: Tensor) -> Run:
    """Additive attention on prepared exponentials: Σ v − 2 v · 1 / (1 + EF)."""
    powers = (2 * key).exp()[..., None, :, :]
    total = v.sum()

    def run() -> Tensor:
        scores = total - 2 * (torch.reciprocal(1 + (2 * query).exp()[..., :, None, :] * powers) @ v)
        return torch.softmax(scores, -1) @ value

    return run


def forward(function: Function) -> Prepare:
    """Prepare function(*inputs)."""
    return lambda *inputs: lambda: function(*inputs)


def training(function: Function) -> Prepare:
    """Prepare function(*inputs) and its gradient by all learned inputs.

    >>> square = training(lambda x: x * x)(torch.tensor([3.0], requires_grad=True))
    >>> square()[0].shape
    torch.Size([1])
    """

    def prepare(*inputs: Tensor) -> Run:
        learning = [tensor for tensor in inputs if tensor.requires_grad]
        upstream: list[Tensor] = []  # gradient of the output: drawn once, equal for both sides

        def run() -> tuple[Tensor, ...]:
            output = function(*inputs)
            if not upstream:
                seeded = torch.Generator(output.device).manual_seed(0)
                upstream.append(torch.randn(output.shape, generator=seeded, device=output.device))
            return torch.autograd.grad(output, learning, upstream[0])

        return run

    return prepare


PASSES: dict[str, Callable[[Function], Prepare]] = {"forward": forward, "forward+backward": training}
"""Both ways to run a function, by the word in a row's name."""


def compiled(function: Function, prepare: Callable[[Function], Prepare] = forward) -> Prepare:
    """Prepare a function that torch.compile has made for the shapes of its inputs.

    Raises:
        Absent: it does not compile here; a CPU needs a C++ compiler.
    """

    def compile_it(*inputs: Tensor) -> Run:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the compiler about its own parts
                torch.compiler.reset()  # it silently gives up after eight shapes of a function
                run = prepare(torch.compile(function, dynamic=False))(*inputs)
                run()
        except RuntimeError as error:
            raise Absent(next(line for line in f"{error}\n{type(error).__name__}".splitlines() if line)) from error
        return run

    return compile_it


def attention(setup: Setup, options: Callable[..., dict[str, Any]]) -> Function:
    """`attend` by a setup's backend, with options made of the inputs after the value."""

    def run(query: Tensor, key: Tensor, value: Tensor, *more: Tensor) -> Tensor:
        result: Any = attend(query, key, value, backend=setup.backend, **options(*more))
        output: Tensor = result[0] if isinstance(result, tuple) else result
        return output

    return run


def normal(sizes: Sequence[int], *, grad: bool = False, v_grad: bool = False) -> Inputs:
    """Query, key and value, and a vector v that keeps additive scores around 1."""
    *batch, queries, keys, dim = sizes
    return lambda setup: (
        *(setup.normal(*batch, length, dim, grad=grad) for length in (queries, keys, keys)),
        setup.normal(dim, grad=v_grad, scale=dim**-0.5),
    )


def additive_work(terms: float, step: str = "forward") -> Work:
    """Additive terms, with the operations of a plain multiply that a term costs.

    Forward, four terms v/x, x = 1 + EF, that share one reciprocal take 4 multiply-adds for x, 2 x 3 for the sums in
    pairs, 3 to join the pairs, and 1 to add. These 14 instructions do two operations each in a product. The division is
    not counted. Backward, four terms take 9 instructions for reciprocals from a shared one, and each 1 for x, 1 for
    r(1 - r) and 3 for the sums of the gradients: 29 more.
    """
    return Work(terms, "terms", "multiply", 7.0 if step == "forward" else 21.5)


def dot_work(terms: float, step: str = "forward") -> Work:
    """The two products of so many query-key-feature terms, and four more backward."""
    return Work(4 * terms * (1 if step == "forward" else 3), "FLOP", "multiply")


def attention_row(
    setup: Setup, family: str, sizes: Sequence[int], step: str, options: Callable[..., dict[str, Any]], **more: Any
) -> Row:
    """A row of `attend` with options that depend on v.

    Args:
        setup: device, backend and threads.
        family: of the row.
        sizes: `(..., queries, keys, dim)`.
        step: "forward" or "forward+backward".
        options: of `attend`.
        more: fields of the row; the shape is `(..., keys, dim)` by default.
    """
    shape = "x".join(map(str, (*sizes[:-3], *sizes[-2:])))
    fields: dict[str, Any] = {
        "family": family,
        "shape": shape,
        "size": sizes[-2],
        "inputs": normal(sizes, grad=step != "forward"),
    }
    return Row(**({"ours": PASSES[step](attention(setup, options))} | fields | more))
