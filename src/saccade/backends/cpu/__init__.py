"""Attention on the CPU with kernels compiled by Numba.

A call of a few queries is one kernel (`steps`), and so are the weights of a few draws from a memory (`draws`). Any
other goes by blocks of queries (`blockwise`), with kernels in place of some of the reference's formulas (`engine`).
"""

import torch
from torch import Tensor

from saccade._call.call import Call
from saccade._definitions.numerics import tracing, transforming
from saccade.auxiliary import AuxOutput
from saccade.backends import blockwise, reference
from saccade.backends.blockwise import plan
from saccade.backends.blockwise.blocks import widened
from saccade.backends.cpu import draws, fused, steps, unmasked
from saccade.backends.cpu.engine import ENGINE
from saccade.backends.offers import Answer, Answers, Offer, Pairs, Refusal
from saccade.kernels.threads import numba_missing, reason
from saccade.normalizers import Entmax, Softmax, Sparsemax
from saccade.reads import Sample
from saccade.scores import Additive

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)

# Least pairs of a query and a key for these kernels with `auto`. This holds for a softmax with a mask, an entropy, the
# largest weights or a draw.
LITTLE_SOFT = 1 << 16
LITTLE_PLAIN = 1 << 19  # least pairs for these kernels with `auto`, for any other softmax
LITTLE_ADDITIVE = 1 << 20  # least bytes of additive terms for these kernels with `auto`
# Pairs of a call computed at once, with 4 MiB of weights and as much of scores. It is recorded, not computed again in
# the backward.
AT_ONCE = 1 << 20


def offer(call: Call, rivals: Answers | None = None) -> Answer:
    """Whether the kernels run here; whether they gain anything where "auto" chooses."""
    tensors = [leaf.tensor for leaf in call.leaves() if leaf.tensor.is_floating_point()]
    if tracing() or transforming():  # inside the blocks' operators and rules the tensors are plain ones
        away = next((tensor.device.type for tensor in tensors if tensor.device.type != "cpu"), None)
        refusal = numba_missing() or blockwise.unsupported(call)
        refusal = refusal or (f"its kernels run on a CPU, and this is on {away}" if away else None)
    else:
        refusal = reason(*tensors, dtypes=DTYPES)
    if refusal is not None:
        return Refusal(refusal)
    return Offer(peak_bytes, pairs, None if rivals is None else unwise(call))


def unwise(call: Call) -> str | None:
    """Reason for `auto` to avoid this backend, or None."""
    little = "for a call this small the plain formula is faster"
    if isinstance(call.normalizer, Entmax):
        return None  # of any size: the formula halves an interval 28 times
    if isinstance(call.score, Additive):
        alone = call.cache is None and call.state is None  # a loop's reads of a memory gain by summing their gradients
        return little if alone and not tracing() and reference.peak_bytes(call) <= LITTLE_ADDITIVE else None
    normalizer, request = call.normalizer, call.aux
    if isinstance(normalizer, Sparsemax):
        return None  # likewise: the formula sorts
    soft = isinstance(normalizer, Softmax) and normalizer.sink is None
    more = isinstance(call.read, Sample) or bool(request.entropy or request.top)
    if not soft and not more:
        return "nothing of this call is compiled"
    least = LITTLE_SOFT if more or call.mask is not None else LITTLE_PLAIN
    return little if not tracing() and call.pairs < least else None


def peak_bytes(call: Call) -> int:
    """Memory beside inputs and output: a block, packed queries, keys and gradients."""
    size = 8 if call.query.dtype == torch.float64 else 4
    packed = 2 * size * (call.query.numel() + call.key.numel()) if isinstance(call.score, Additive) else 0
    return blockwise.peak_bytes(ENGINE, call) + packed


def run(call: Call) -> tuple[Tensor, AuxOutput]:
    if steps.serves_step(call):
        return steps.run(call), AuxOutput()
    if draws.serves_draws(call):
        return draws.run(call)
    if unmasked.serves(call):
        return unmasked.run(call)
    if not one_block(call):
        return blockwise.run(ENGINE, fused.multiplied(call))
    block = ENGINE.prepare(widened(call.aligned()))
    grid = block.grid()
    output, statistics = ENGINE.read(block, grid, *ENGINE.weigh(block, grid))
    return output.to(call.value.dtype), statistics


def one_block(call: Call) -> bool:
    """Whether all of the call is one block, kept for a backward."""
    if not call.built_in or tracing() or transforming():
        return False
    return call.pairs <= min(AT_ONCE, ENGINE.pairs)


def pairs(call: Call) -> Pairs:
    """The computed pairs: all, or those of a window's intervals, or of blocks."""
    if one_block(call):
        return plan.pairs(call, ENGINE.pairs, all_of_them=True)
    return fused.pairs(fused.multiplied(call).aligned()) or blockwise.counted(ENGINE, call)
