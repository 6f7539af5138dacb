"""Backends that are wrong on purpose, each in one of the ways that attention is commonly got wrong.

Each is the reference with one mistake. A law that lets one of them pass would not be a law.
"""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from saccade import AuxOutput, AuxRequest, biases, masks, normalizers, reads, scores
from saccade._call.call import Call
from saccade.backends import reference
from saccade.backends.offers import Offer

Result = tuple[Tensor, AuxOutput]
WRONG: dict[str, Callable[[Call], Result]] = {}


def wrong(run: Callable[[Call], Result]) -> Callable[[Call], Result]:
    WRONG[run.__name__] = run
    return run


def backend(run: Callable[[Call], Result]) -> Any:
    """What the table of backends holds."""
    return SimpleNamespace(offer=lambda call, rivals=None: Offer(lambda call: 0), run=run)


def weighed(call: Call) -> tuple[Tensor, Tensor | None, Tensor | None]:
    return reference.weigh(call, call.grid())


@wrong
def masks_with_a_large_number(call: Call) -> Result:
    """-1e9 in place of a mask: an empty row attends uniformly."""
    if call.mask is None or not call.query.shape[-2]:
        return reference.run(call)
    allowed = call.mask.dense(call.grid())
    call = replace(reference.cleaned(call), mask=None)
    scores = reference.compared(call, call.grid()).masked_fill(~allowed, -1e9)
    return reference.run(replace(call, score=lambda query, key: scores))


@wrong
def lets_hidden_values_through(call: Call) -> Result:
    """0 · NaN is NaN."""
    return reference.attention(call, call.grid())


@wrong
def multiplies_forbidden_gates(call: Call) -> Result:
    """Multiplies all of the gate into the weights: 0 · NaN again."""
    weights, allowed, lse = weighed(replace(call, gate=None))
    gate = call.gate.tensor if isinstance(call.gate, biases.Weights) else 1.0
    return reference.read(call, call.grid(), weights * gate, allowed, lse)


@wrong
def forgets_the_scale(call: Call) -> Result:
    return reference.run(replace(call, score=scores.Dot()) if isinstance(call.score, scores.ScaledDot) else call)


@wrong
def leaves_a_trace_of_forbidden_keys(call: Call) -> Result:
    weights, allowed, lse = weighed(call)
    return reference.read(call, call.grid(), weights + 1e-12, allowed, lse)


@wrong
def takes_the_higher_of_equals(call: Call) -> Result:
    """Chooses from the far end."""
    weights, allowed, lse = weighed(call)
    last = weights.shape[-1] - 1
    turned = None if allowed is None else allowed.flip(-1)
    output, aux = reference.read(replace(call, value=call.value.flip(-2)), call.grid(), weights.flip(-1), turned, lse)
    index = None if aux.index is None else torch.where(aux.index < 0, -1, last - aux.index)
    top = None if aux.top is None else (aux.top[0], torch.where(aux.top[1] < 0, -1, last - aux.top[1]))
    return output, replace(aux, index=index, top=top)


@wrong
def does_not_scale_what_dropout_leaves(call: Call) -> Result:
    output, aux = reference.run(call)
    return output * (1 - call.dropout_p), aux


@wrong
def drops_before_it_reports(call: Call) -> Result:
    """Returns the weights after dropout."""
    weights, allowed, lse = weighed(call)
    return reference.read(replace(call, dropout_p=0.0), call.grid(), reference.dropout(call, weights), allowed, lse)


@wrong
def draws_its_own_noise(call: Call) -> Result:
    return reference.run(call if call.noise is None else replace(call, noise=torch.randint(1 << 32, call.noise.shape)))


@wrong
def draws_its_own_uniforms(call: Call) -> Result:
    if not isinstance(call.read, reads.Sample):
        return reference.run(call)
    return reference.run(replace(call, read=replace(call.read, uniform=torch.full_like(call.read.uniform, 0.99))))


@wrong
def accumulates_in_half(call: Call) -> Result:
    """Adds in the inputs' own type, one value after another."""
    weights = weighed(call)[0].to(call.value.dtype)
    output = torch.zeros(*call.batch, weights.shape[-2], call.value.shape[-1], dtype=call.value.dtype)
    for j in range(weights.shape[-1]):
        output = output + weights[..., j : j + 1] * call.value[..., j : j + 1, :]
    return output, AuxOutput()


@wrong
def rounds_the_scores(call: Call) -> Result:
    """Scores and weights in six bits."""
    weights, allowed, lse = weighed(call)
    return reference.read(call, call.grid(), (weights * 64).round() / 64, allowed, lse)


@wrong
def is_causal_by_one_too_many(call: Call) -> Result:
    """Compares with the wrong length where Lq ≠ Lk."""
    if isinstance(call.mask, masks.Causal) and call.query.shape[-2] != call.key.shape[-2]:
        grid = call.grid()
        call = replace(call, mask=masks.Dense(grid.keys() <= grid.queries() + 1 + masks.shift(call.mask.align, grid)))
    return reference.run(call)


@wrong
def scales_by_the_batch(call: Call) -> Result:
    """What a sequence gives depends on who else is in the batch."""
    weights, allowed, lse = weighed(call)
    return reference.read(call, call.grid(), weights * (1 + 1e-9 * weights.detach().amax()), allowed, lse)


@wrong
def is_never_the_same_twice(call: Call) -> Result:
    output, aux = reference.run(call)
    return output * (1 + 1e-13 * torch.rand((), dtype=output.dtype)), aux


@wrong
def counts_keys_by_position(call: Call) -> Result:
    """A bias that nobody asked for."""
    weights, allowed, lse = weighed(call)
    return reference.read(
        call, call.grid(), weights * (1 + 1e-6 * torch.arange(weights.shape[-1], dtype=weights.dtype)), allowed, lse
    )


@wrong
def knows_its_neighbours(call: Call) -> Result:
    """The output of a query depends on the one before it."""
    output, aux = reference.run(call)
    return output + 1e-6 * output.detach().cumsum(-2), aux


@wrong
def gives_no_gradient_to_keys(call: Call) -> Result:
    return reference.run(replace(call, key=call.key.detach()))


@wrong
def has_no_second_derivative(call: Call) -> Result:
    """The gradient as a constant."""
    output, aux = reference.run(call)
    return _Once.apply(output), aux


class _Once(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.square()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad * 2 * ctx.saved_tensors[0].detach()


@wrong
def reports_bits_for_nats(call: Call) -> Result:
    output, aux = reference.run(call)
    return output, replace(aux, lse=None if aux.lse is None else aux.lse / torch.log(torch.tensor(2.0)))


@wrong
def receives_before_the_gate(call: Call) -> Result:
    output, aux = reference.run(call)
    if call.gate is None or not call.aux.received:
        return output, aux
    _, ungated = reference.run(replace(call, gate=None, aux=AuxRequest(received=True)))
    return output, replace(aux, received=ungated.received)


@wrong
def normalizes_after_the_gate(call: Call) -> Result:
    weights, allowed, lse = weighed(call)
    return reference.read(
        call, call.grid(), normalizers.Sum()(weights, allowed) if call.gate is not None else weights, allowed, lse
    )


@wrong
def mixes_the_batch_up(call: Call) -> Result:
    """A rule for vmap that returns the samples in another order."""
    output, aux = reference.run(call)
    return _Mixed.apply(output), aux


class _Mixed(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        """Nothing is needed."""

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any], x: Tensor) -> tuple[Tensor, int]:
        return _Mixed.apply(x.movedim(in_dims[0], 0).flip(0)), 0
