"""Attention by Triton kernels on CUDA, block by block.

The kernels replace the reference's formulas for one block of queries (`blockwise`). They compute additive scores and
their gradients without a tensor of queries by keys by features, softmax with its lse, and sparsemax and entmax with
their thresholds. Draws by inverse CDF, entropy and the largest weights are kernels too. Everything else, for example
dot products, sums over queries and the log-probability of a draw, is torch's operations within the same blocks.
"""

import importlib.util
import os
from functools import partial

from saccade._call.call import Call
from saccade._definitions.numerics import tracing, transforming
from saccade.backends import blockwise, reference
from saccade.backends.offers import Answer, Answers, Refusal
from saccade.backends.triton.blocks import prepare, read, weigh
from saccade.backends.triton.single import SINGLE
from saccade.normalizers import Entmax, Sparsemax
from saccade.reads import Sample
from saccade.scores import Additive

ENGINE = blockwise.Engine("triton", prepare, weigh, read, 1 << 23, SINGLE)

MISSING = importlib.util.find_spec("triton") is None

run = partial(blockwise.run, ENGINE)


def offer(call: Call, rivals: Answers | None = None) -> Answer:
    """Whether the kernels run here and serve the call, or the reason against `auto`."""
    device = call.query.device.type
    if device != "cuda" and not (device == "cpu" and interpreted()):
        return Refusal(
            f"its kernels run on CUDA, and the tensors are on {device}; with TRITON_INTERPRET=1, set before Triton is "
            "imported, its interpreter runs them on a CPU"
        )
    if MISSING:
        return Refusal("Triton is not installed: pip install triton")
    if not call.built_in:
        return Refusal("it computes built-in scores and normalizers, and one of them is a callable")
    return blockwise.offer(ENGINE, call, None if rivals is None else unwise(call))


def interpreted() -> bool:
    """Whether Triton runs kernels in its interpreter, on the CPU, as in tests."""
    return os.environ.get("TRITON_INTERPRET", "0").lower() in ("1", "true", "on", "yes", "y")


def unwise(call: Call) -> str | None:
    """Reason for `auto` to avoid this backend, or None."""
    if call.query.device.type == "cpu":
        return "Triton's interpreter is for tests"
    if tracing() and transforming():
        return "a transform of torch.func inside a compiler looks into no operator"
    sparse = isinstance(call.normalizer, Sparsemax | Entmax)
    plain = not sparse and not call.asks() and call.soft() and isinstance(call.score, Additive)
    if plain and reference.is_small(call):
        size = reference.peak_bytes(call)
        return f"the plain formula, which lays out no more than {size:,} bytes, is done before its kernels begin"
    if isinstance(call.score, Additive) or sparse or isinstance(call.read, Sample) or call.asks():
        return None
    return "no kernel of it takes part in this call"
