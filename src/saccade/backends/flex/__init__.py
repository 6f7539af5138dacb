"""Dot products, softmax and masks by `flex_attention` on CUDA (Dong et al. 2024).

A mask becomes a function of one query and one key (`points`), and a map of the blocks of 128 × 128 with no, some or
only allowed pairs. The kernel skips those with none. Biases and a softcap act on each score.
"""

import importlib.util
import math

import torch
from torch import Tensor

from saccade._call.call import Call
from saccade._call.dot_products import why_not_sdpa
from saccade._definitions.numerics import tracing, transforming
from saccade.auxiliary import AuxOutput
from saccade.backends import reference
from saccade.backends.flex import function, points
from saccade.backends.flex.function import BLOCK
from saccade.backends.offers import Answer, Answers, Offer, Refusal
from saccade.normalizers import Softmax

# Whether Triton, the language of torch's kernels, is there, without an import.
TRITON = importlib.util.find_spec("triton") is not None
LEAST_FEATURES = 16  # features that keys and values must have: the smallest product of Triton's
# Least pairs a head for `auto`. A call takes 3 to 7 ms on an H100 at any length (`results/benchmarks/cuda-masks.json`).
LEAST = 1 << 20


def offer(call: Call, rivals: Answers | None = None) -> Answer:
    """Whether its kernels run here and serve the call, and its reason against `auto`."""
    reason = unsupported(call)
    if reason is not None:
        return Refusal(reason)
    return Offer(peak_bytes, lambda call: None, None if rivals is None else unwise(call))


def unsupported(call: Call) -> str | None:
    """Reason against this backend for the call, or None."""
    if call.query.device.type != "cuda":
        return f"its kernels run on CUDA alone, and the tensors are on {call.query.device.type}"
    if not TRITON:
        return "torch writes its kernels in Triton, which is not installed"
    if call.query.dtype == torch.float64:
        return "its kernels sum in float32, which loses the digits of float64"
    if min(call.key.shape[-1], call.value.shape[-1]) < LEAST_FEATURES:
        return f"its kernels take {LEAST_FEATURES} features or more a key and value"
    return unserved(call)


def unserved(call: Call) -> str | None:
    """Part of the call that its kernels serve on no device, or None."""
    reason = why_not_sdpa(call, capped=True)
    if reason is not None:
        return reason
    if isinstance(getattr(call.score, "softcap", None), Tensor):
        return "its kernels know no softcap tensor"
    if call.dropout_p > 0:
        return "its kernels know no dropout"
    statistics = [name for name in call.aux.names() if name != "lse"]
    if statistics:
        return "its kernels return the output and lse, not other statistics of aux: " + ", ".join(statistics)
    if transforming():
        return "torch's kernels have no second derivative and no rule for every torch.func transform"
    return points.unknown(call)


def unwise(call: Call) -> str | None:
    """Reason for `auto` to avoid this backend, or None."""
    if tracing():
        return "under a compiler sizes are symbols, and whether skipping blocks pays depends on them"
    pairs = call.query.shape[-2] * call.key.shape[-2]
    if pairs < LEAST:
        return f"{pairs:,} pairs a head are too few for what comes before its kernel, fewer than {LEAST:,}"
    return None


def peak_bytes(call: Call) -> int:
    """Memory beside inputs and output: clean inputs, a statistic a row, the map."""
    copied = sum(t.numel() * t.element_size() for t in (call.query, call.key, call.value))
    rows = math.prod(call.batch) * call.query.shape[-2]
    if call.mask is None:
        return 4 * rows
    q_blocks, k_blocks = (-(-length // BLOCK) for length in (call.query.shape[-2], call.key.shape[-2]))
    return copied + 4 * rows + 16 * math.prod(call.batch) * q_blocks * k_blocks


def run(call: Call) -> tuple[Tensor, AuxOutput]:
    if not (call.query.shape[-2] and call.key.shape[-2] and math.prod(call.batch)):
        return reference.run(call)  # no pair: nothing to compute, but what has no rows or no keys still has a shape
    assert isinstance(call.normalizer, Softmax)
    sink = call.normalizer.sink
    output, lse = function.attention(call, lse=call.aux.lse or sink is not None)
    if sink is not None:
        # the share of the keys beside a sink is σ(lse − sink), 0 in empty rows
        empty = (lse.detach() == -torch.inf)[..., None]
        share = torch.sigmoid(lse[..., None].masked_fill(empty, 0.0) - sink).masked_fill(empty, 0.0)
        output = output * share.to(output.dtype)
    return output, AuxOutput(lse=lse if call.aux.lse else None)
