"""Additive attention on the CPU in one pass over the keys, compiled by Numba: scores, softmax and read together."""

import math

from torch import Tensor

from saccade.auxiliary import AuxOutput
from saccade.backends.cpu.additive import attention
from saccade.backends.cpu.folding import folded
from saccade.call import Call
from saccade.kernels.team import reason
from saccade.normalizers import Softmax
from saccade.scores import Additive, exponentials

WEIGHTS = 32 << 20
"""Bytes of weights, which are kept for the backward, up to which `auto` takes this backend."""


def unsupported(call: Call) -> str | None:
    """Why this backend cannot serve the call, or None."""
    if not isinstance(call.score, Additive):
        return f"it computes additive scores, and this is {type(call.score).__name__}"
    normalizer = call.normalizer
    if not isinstance(normalizer, Softmax) or normalizer.sink is not None or isinstance(normalizer.temperature, Tensor):
        return "it computes a softmax of one temperature, without a sink"
    for name, given in (("bias", call.bias), ("gate", call.gate)):
        if given is not None:
            return f"it takes no {name}"
    if not call.soft() or call.dropout_p or call.asks():
        return "it returns the expected value alone: no draws, dropout or statistics"
    return reason(call.query, call.key, call.value, call.score.v)


def unwise(call: Call) -> str | None:
    """Why `auto` passes it over although it could serve the call, or None."""
    size = peak_bytes(call)
    return f"it keeps the weights, {size:,} bytes" if size > WEIGHTS else None


def peak_bytes(call: Call) -> int:
    """What it allocates beside inputs and output: the weights."""
    return 4 * math.prod(call.batch) * call.query.shape[-2] * call.key.shape[-2]


def run(call: Call) -> tuple[Tensor, AuxOutput]:
    """The output."""
    shape = (*call.batch, call.query.shape[-2], call.value.shape[-1])
    powers = exponentials(call.key.detach()) if call.cache is None else call.cache
    mask = None if call.mask is None else call.mask.dense(call.grid())
    assert isinstance(call.score, Additive)
    assert isinstance(call.normalizer, Softmax)
    inputs = folded(call.batch, call.query, call.key, call.value, call.score.v, powers, mask)
    output: Tensor = attention(*inputs, float(call.normalizer.temperature), call.steps)
    return output.reshape(shape), AuxOutput()
