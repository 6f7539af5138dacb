"""Usual formulas of attention, and calls made of functions and tensors."""

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from saccade import AuxRequest, attend
from saccade.bench.row import Inputs, Prepare, Row, Run, Setup, Work, package
from saccade.normalizers import Entmax, Sparsemax
from saccade.reads import Sample
from saccade.scores import Additive, Cosine, ScaledDot

Function = Callable[..., Tensor]
Options = Callable[..., dict[str, Any]]
"""Options of `attend`, made of a vector v."""
WAYS: dict[str, Options] = {
    "dot": lambda v: {"score": ScaledDot()},
    "additive": lambda v: {"score": Additive(v)},
    "cosine": lambda v: {"score": Cosine(beta=4.0)},
    "sparsemax": lambda v: {"normalizer": Sparsemax()},
    "entmax 1.5": lambda v: {"normalizer": Entmax()},
    "draws": lambda v: {"read": Sample()},
    "lse": lambda v: {"aux": AuxRequest(lse=True)},
    "entropy": lambda v: {"aux": AuxRequest(entropy=True)},
    "top 4": lambda v: {"aux": AuxRequest(top=4)},
    "received": lambda v: {"aux": AuxRequest(received=True)},
}
"""Options by a word in the names of rows."""


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


def training(function: Callable[..., Any]) -> Prepare:
    """Prepare gradients of function(*inputs) by all learned inputs."""

    def prepare(*inputs: Tensor) -> Run:
        learning = [tensor for tensor in inputs if tensor.requires_grad]
        upstream: list[Tensor] = []  # gradients of the outputs: drawn once, equal for both sides

        def run() -> tuple[Tensor, ...]:
            outputs = function(*inputs)
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            if not upstream:
                seeded = torch.Generator(outputs[0].device).manual_seed(0)
                upstream.extend(torch.randn(part.shape, generator=seeded, device=part.device) for part in outputs)
            return torch.autograd.grad(outputs, learning, upstream)

        return run

    return prepare


PASSES: dict[str, Callable[[Function], Prepare]] = {"forward": forward, "forward+backward": training}
"""Both ways to run a function, by the word in a row's name."""


def compiled(function: Function, prepare: Callable[[Function], Prepare] = forward) -> Prepare:
    """Prepare a function compiled for its inputs. A CPU needs a C++ compiler."""

    def compile_it(*inputs: Tensor) -> Run:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the compiler about its own parts
            torch.compiler.reset()  # it silently gives up after eight shapes of a function
            run = prepare(torch.compile(function, dynamic=False))(*inputs)
            run()
        return run

    return compile_it


def flex(prepare: Callable[[Function], Prepare], allowed: Callable[..., Tensor] | None, *inputs: Tensor) -> Run:
    """Prepare torch's flex_attention, compiled, with a function as its block mask."""
    module, length, mask = package("torch.nn.attention.flex_attention"), inputs[0].shape[-2], None
    if allowed is not None:
        mask = module.create_block_mask(allowed, None, None, length, length, device=inputs[0].device)

    def attended(query: Tensor, key: Tensor, value: Tensor, *rest: Tensor) -> Tensor:
        output: Tensor = module.flex_attention(query, key, value, block_mask=mask)
        return output

    return compiled(attended, prepare)(*inputs)


def attention(setup: Setup, options: Options) -> Function:
    """`attend` by a setup's backend, with options made of v."""

    def run(query: Tensor, key: Tensor, value: Tensor, *v: Tensor) -> Tensor:
        result: Any = attend(query, key, value, backend=setup.backend, **options(*v))
        output: Tensor = result[0] if isinstance(result, tuple) else result
        return output

    return run


def normal(sizes: Sequence[int], grad: bool = False, v_grad: bool = False) -> Inputs:
    """Query, key and value, and a vector v that keeps additive scores around 1."""
    *batch, queries, keys, dim = sizes
    return lambda setup: (
        *(setup.normal(*batch, length, dim, grad=grad) for length in (queries, keys, keys)),
        setup.normal(dim, grad=v_grad, scale=dim**-0.5),
    )


def work_of(way: str, terms: float, step: str = "forward") -> Work:
    """Work of so many query-key-feature terms.

    Dot products are two, and four more backward. An additive term costs operations of a plain multiply. Forward, four
    terms v/x, x = 1 + EF, that share one reciprocal take 4 multiply-adds for x, 2 x 3 for the sums in pairs, 3 to join
    the pairs, and 1 to add. These 14 instructions do two operations each in a product. The division is not counted.
    Backward, four terms take 9 instructions for reciprocals from a shared one, and each 1 for x, 1 for r(1 - r) and 3
    for the sums of the gradients: 29 more.
    """
    if way == "additive":
        return Work(terms, "terms", "multiply", 7.0 if step == "forward" else 21.5)
    return Work(4 * terms * (1 if step == "forward" else 3), "FLOP", "multiply")


def joined(sizes: Iterable[int]) -> str:
    """Sizes as a row's name has them."""
    return "x".join(map(str, sizes))


def attention_row(
    setup: Setup, family: str, sizes: Sequence[int], step: str, options: Options, v_grad: bool = False, **more: Any
) -> Row:
    """A row of `attend` on `(..., queries, keys, dim)`, named by `(..., keys, dim)`."""
    fields: dict[str, Any] = {
        "shape": joined((*sizes[:-3], *sizes[-2:])),
        "size": sizes[-2],
        "inputs": normal(sizes, step != "forward", v_grad),
        "ours": PASSES[step](attention(setup, options)),
    }
    return Row(family=family, **(fields | more))


def bytes_of(length: int, dim: int) -> tuple[int, int]:
    """Float32 bytes of query, key and value, and of the output and all gradients."""
    return 3 * 4 * length * dim, 5 * 4 * length * dim


def memory_row(setup: Setup, way: str, sizes: Sequence[int], theirs: Function, **more: Any) -> Row:
    """A row of the memory of a training step beyond its inputs."""
    return attention_row(
        *(setup, f"{way} memory of training", sizes, "forward+backward", WAYS[way], way == "additive"),
        shape=joined(sizes),
        theirs=training(theirs),
        memory=True,
        warm=normal((128, 128, sizes[-1]), True, way == "additive"),  # compiles the kernels of a large call
        **more,
    )


def in_bfloat16(row: Row) -> Row:
    """A row in bfloat16, without the limit of speed of float32."""

    def converted(setup: Setup) -> tuple[Tensor, ...]:
        inputs = row.inputs(setup)
        return tuple(tensor.detach().bfloat16().requires_grad_(tensor.requires_grad) for tensor in inputs)

    work = None if row.work is None else replace(row.work, limit="")
    return replace(row, family=f"{row.family}, bfloat16", inputs=converted, work=work, far=0.03)
