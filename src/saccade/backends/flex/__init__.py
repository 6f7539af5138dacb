"""Dot products, softmax and masks by `flex_attention` on CUDA (Dong et al. 2024).

A mask becomes a function of one query and one key (`points`), and a map of the blocks of 128 × 128 with no, some or
only allowed pairs. The kernel skips those with none. Biases and a softcap act on each score.
"""

import importlib.util
import math

import numpy as np
import torch
from torch import Tensor

from saccade import masks
from saccade._call.call import Call
from saccade._call.dot_products import is_causal, why_not_sdpa
from saccade._definitions.numerics import tracing, transforming
from saccade._definitions.structure import Grid
from saccade.auxiliary import AuxOutput
from saccade.backends import reference
from saccade.backends.flex import function, points
from saccade.backends.flex.function import BLOCK
from saccade.backends.offers import Answer, Answers, Offer, Refusal
from saccade.masks import Mask
from saccade.normalizers import Softmax

# Whether Triton, the language of torch's kernels, is there, without an import.
TRITON = importlib.util.find_spec("triton") is not None
LEAST_FEATURES = 16  # features that keys and values must have: the smallest product of Triton's
# Least pairs of all heads for `auto`, in half types and in float32. A call takes 3 to 7 ms on an H100 at any length.
# torch's kernels with a dense mask take 2 to 3.5 ms for 2²⁹ pairs in bfloat16, the longest measured call
# (`results/benchmarks/cuda-masks.json`), and 17 ms trained in float32. Both limits follow from these times.
PAIRS, FLOAT_PAIRS = 1 << 31, 1 << 29
LEAST = 1 << 20  # least pairs a head for `auto`, of calls beyond torch's other kernels
SPARSE = 0.75  # largest share of allowed pairs for `auto`, beside torch's other kernels
# Assumed share of allowed pairs of packed documents, intervals and functions. Their ids and ends are not read, and no
# function runs.
PACKED = 0.5


def offer(call: Call, rivals: Answers | None = None) -> Answer:
    """Whether its kernels run here and serve the call, and its reason against `auto`."""
    reason = unsupported(call)
    if reason is not None:
        return Refusal(reason)
    return Offer(peak_bytes, lambda call: None, None if rivals is None else unwise(call, rivals))


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


def unwise(call: Call, rivals: Answers) -> str | None:
    """Reason for `auto` to avoid this backend, or None."""
    if tracing():
        return "under a compiler sizes are symbols, and whether skipping blocks pays depends on them"
    pairs = call.query.shape[-2] * call.key.shape[-2]
    if pairs < LEAST:
        return f"{pairs:,} pairs a head are too few for what comes before its kernel, fewer than {LEAST:,}"
    if rivals.of("sdpa").reason is not None:
        return None
    # torch's other kernels are at least as fast where too little of the mask can be skipped
    if call.mask is None:
        return "without a mask no block can be skipped"
    if is_causal(call):
        return "torch's other kernels know this mask themselves, skip the same blocks and compile nothing"
    least = FLOAT_PAIRS if call.query.dtype == torch.float32 else PAIRS
    if call.pairs < least:
        return f"{call.pairs:,} pairs are too few to make a map of blocks for, fewer than {least:,}"
    share = allowed(call.mask, call.query.shape[-2], call.key.shape[-2])
    if share > SPARSE:
        return f"about {share:.0%} of the pairs may be allowed, too many for skipping blocks to pay"
    return None


def allowed(mask: Mask, q_len: int, k_len: int) -> float:
    """Upper bound of the share of allowed pairs, roughly, without reading a tensor."""
    if isinstance(mask, masks.Both):
        return min(allowed(mask.first, q_len, k_len), allowed(mask.second, q_len, k_len))
    if isinstance(mask, masks.Either):
        return min(allowed(mask.first, q_len, k_len) + allowed(mask.second, q_len, k_len), 1.0)
    if isinstance(mask, masks.Causal | masks.Window) and not isinstance(mask.align, Tensor):
        left, right = (None, 0) if isinstance(mask, masks.Causal) else (mask.left, mask.right)
        shift = int(masks.shift(mask.align, Grid(q_len, k_len, 0, q_len, torch.device("cpu"))))
        return banded(left, right, shift, q_len, k_len)
    if isinstance(mask, masks.Prefix) and not isinstance(mask.length, Tensor):
        return min(mask.length / k_len, 1.0)
    if isinstance(mask, masks.Around):
        return min((2 * mask.radius + 1) / k_len, 1.0)
    return PACKED if isinstance(mask, masks.Documents | masks.Packed | masks.Intervals | masks.Where) else 1.0


def banded(left: int | None, right: int | None, shift: int, q_len: int, k_len: int, samples: int = 64) -> float:
    """Share of the pairs from `left` before to `right` after the diagonal."""
    positions = np.arange(1, 2 * samples, 2) * q_len // (2 * samples) + shift
    first = np.zeros_like(positions) if left is None else (positions - left).clip(min=0)
    last = k_len - 1 if right is None else (positions + right).clip(max=k_len - 1)
    return float((last - first + 1).clip(min=0).sum()) / (samples * k_len)


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
