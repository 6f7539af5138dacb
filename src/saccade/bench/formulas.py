"""The formulas as they are usually written, which peers compute, and calls made of functions and tensors."""

import math
import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from saccade.bench.row import Absent, Prepare, Run

__all__ = ["compiled", "dot", "forward", "keras", "remembered", "textbook", "training"]

Function = Callable[..., Tensor]


def textbook(query: Tensor, key: Tensor, value: Tensor, v: Tensor) -> Tensor:
    """Additive attention: softmax(tanh(q + k) · v) value (Bahdanau et al. 2015)."""
    return torch.softmax(torch.tanh(query[..., :, None, :] + key[..., None, :, :]) @ v, -1) @ value


def keras(query: Tensor, key: Tensor, value: Tensor, v: Tensor) -> Tensor:
    """The same as Keras's AdditiveAttention computes it: a product and a sum in place of the matrix product."""
    scores = (v * torch.tanh(query.unsqueeze(-2) + key.unsqueeze(-3))).sum(-1)
    return torch.softmax(scores, -1) @ value


def dot(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Scaled dot-product attention: softmax(q kᵀ / √D) value (Vaswani et al. 2017, equation 1)."""
    return torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1) @ value


def remembered(query: Tensor, key: Tensor, value: Tensor, v: Tensor) -> Run:
    """Additive attention on exponentials of the keys that are made once: v · tanh(q + k) = Σ v − 2 v · 1 / (1 + EF)."""
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
    """Prepare function(*inputs) and the gradient by all of them that learn; nothing is accumulated.

    >>> square = training(lambda x: x * x)(torch.tensor([3.0], requires_grad=True))
    >>> square()[0].shape
    torch.Size([1])
    """

    def prepare(*inputs: Tensor) -> Run:
        learning = [tensor for tensor in inputs if tensor.requires_grad]
        upstream: list[Tensor] = []  # what comes down to the output: drawn once, the same for both sides

        def run() -> tuple[Tensor, ...]:
            output = function(*inputs)
            if not upstream:
                seeded = torch.Generator(output.device).manual_seed(0)
                upstream.append(torch.randn(output.shape, generator=seeded, device=output.device))
            return torch.autograd.grad(output, learning, upstream[0])

        return run

    return prepare


def compiled(function: Function, prepare: Callable[[Function], Prepare] = forward) -> Prepare:
    """Prepare a function that torch.compile has made for the shapes of its inputs.

    Raises:
        Absent: it does not compile here; a CPU needs a C++ compiler.
    """

    def compile_it(*inputs: Tensor) -> Run:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what the compiler says of its own parts
                # It counts the shapes a function was compiled for, and beyond eight gives up without a word.
                torch.compiler.reset()
                run = prepare(torch.compile(function, dynamic=False))(*inputs)
                run()
        except RuntimeError as error:
            raise Absent(next(line for line in f"{error}\n{type(error).__name__}".splitlines() if line)) from error
        return run

    return compile_it
