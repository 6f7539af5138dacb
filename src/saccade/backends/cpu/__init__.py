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

PAIRS = 1 << 16
"""Pairs of a query and a key up to which `auto` takes this backend: it keeps their weights for the backward. Of one
batch entry, so that it is the same for a batch as for each of it alone.
"""


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
    shared = math.prod(call.batch) > min(math.prod(part.shape[:-2]) for part in (call.key, call.value))
    if shared and call.mask is not None:
        return "it would copy keys that several queries share under masks of their own"
    pairs = call.query.shape[-2] * call.key.shape[-2]
    return f"it keeps the weights, and {pairs:,} a sequence are too many" if pairs > PAIRS else None


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
    # Reads share their sums where the tensors are the memory's own, not folded or expanded for this query.
    own = call.key.ndim == call.value.ndim == 3 and inputs.key.shape == call.key.shape
    steps = call.steps if own and inputs.value.shape == call.value.shape else None
    output: Tensor = attention(*inputs, float(call.normalizer.temperature), steps)
    return output.reshape(shape), AuxOutput()
