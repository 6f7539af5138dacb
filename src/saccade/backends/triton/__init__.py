"""Attention in one launch each way by Triton kernels, on CUDA.

A program computes a block of queries against the blocks of keys that the mask leaves: scores, weights and statistics
never lie in memory (`kernels.fused`). `setup` makes the kernels' tensors of a call, and `whole` its results.
"""

import os
from functools import partial

import torch
from torch import Tensor

from saccade._call.call import Call, closing_over
from saccade._definitions.functions import functions
from saccade._definitions.numerics import tracing, transforming
from saccade._definitions.state import BackendState
from saccade._definitions.structure import Definition, foreign
from saccade.auxiliary import AuxOutput
from saccade.backends import blockwise, reference
from saccade.backends.offers import Answer, Answers, Offer, Refusal
from saccade.backends.triton.blocks import LARGEST
from saccade.backends.triton.whole import WHOLE
from saccade.kernels.launch import MISSING
from saccade.normalizers import Entmax, Identity, Sigmoid, Softmax, Sparsemax, Sum
from saccade.reads import Argmax, Sample, Soft, TopK
from saccade.scores import Gaussian, Kernel

ENGINE = blockwise.Engine("triton", lambda call: call, reference.weigh, reference.read, 1 << 23, WHOLE)

WIDEST = 256  # most features of a key and of a value, which lie in registers
MANY = 16  # most of the largest weights of a row


def run(call: Call) -> tuple[Tensor, AuxOutput]:
    if tracing() or transforming():
        return blockwise.recorded(ENGINE, call.aligned())
    # the backward reads the blocks that the forward found
    if call.mask is not None and (call.once is None or capturing(call)):
        object.__setattr__(call, "once", BackendState())
    return blockwise.recorded(ENGINE, call)


def capturing(call: Call) -> bool:
    """Whether a CUDA graph records the call: its lists lie in the memory of the graph."""
    return call.query.device.type == "cuda" and torch.cuda.is_current_stream_capturing()


def offer(call: Call, rivals: Answers | None = None) -> Answer:
    """Offer of the kernels, or Refusal. With rivals ("auto"), slow calls are refused."""
    reason = unsupported(call)
    if reason is not None:
        return Refusal(reason)
    return OFFER if rivals is None else OFFER._replace(reason=unwise(call, rivals))


def unsupported(call: Call) -> str | None:
    """Reason against the kernels for the call, or None."""
    device = call.query.device.type
    if device != "cuda" and not (device == "cpu" and interpreted()):
        return (
            f"its kernels run on CUDA, and the tensors are on {device}; with TRITON_INTERPRET=1, set before Triton is "
            "imported, its interpreter runs them on a CPU"
        )
    if device == "cpu" and call.query.dtype == torch.bfloat16:
        return "Triton's interpreter multiplies bfloat16 as integers"
    if MISSING:
        return "Triton is not installed: pip install triton"
    if not call.built_in:
        return "it computes built-in scores and normalizers, and one of them is a callable"
    return blockwise.unsupported(call) or unserved(call)


def unserved(call: Call) -> str | None:
    """A part of the call that the kernels do not compute, or None."""
    if call.query.dtype == torch.float64:
        return "its kernels sum in float32, which loses the digits of float64"
    (q_len, q_dim), (k_len, k_dim), width = call.query.shape[-2:], call.key.shape[-2:], call.value.shape[-1]
    widest = max(q_dim, k_dim, width)
    if not (q_dim and k_dim and width) or widest > WIDEST:
        return f"its kernels take 1 to {WIDEST} features"
    if max(q_len, k_len) * (widest + 1) > LARGEST:
        return "its offsets within a sequence have 32 bits"
    for part in (call.score, call.normalizer, call.mask, call.bias):
        if isinstance(part, Definition) and foreign(part):
            return "its kernels know no class of yours"
    if functions(call.bias) or (functions(call.mask) and closing_over(call)):
        return "its kernels call no function of yours"
    if call.gate is not None:
        return "its kernels know no gate"
    return of_score(call) or of_normalizer(call) or of_read(call)


def of_score(call: Call) -> str | None:
    score = call.score
    if isinstance(score, Kernel):
        return "its kernels know no score of compact support"
    if isinstance(score, Gaussian):
        bandwidth = score.bandwidth
        many = isinstance(bandwidth, Tensor) and bandwidth.ndim > 1 and bandwidth.shape[-2] != 1
        return "its kernels know no bandwidth of single queries" if many else None
    return "its kernels know no softcap tensor" if isinstance(getattr(score, "softcap", None), Tensor) else None


def of_normalizer(call: Call) -> str | None:
    normalizer = call.normalizer
    if not isinstance(normalizer, Softmax | Sparsemax | Entmax | Sigmoid | Sum | Identity):
        return f"its kernels do not know the normalizer {type(normalizer).__name__}"
    if isinstance(normalizer, Entmax) and (isinstance(normalizer.alpha, Tensor) or not 1 <= normalizer.alpha <= 2):
        return "its kernels know an alpha from 1 to 2, and no tensor of them"
    return None


def of_read(call: Call) -> str | None:
    read, normalizer = call.read, call.normalizer
    if isinstance(read, Soft) and not call.aux.top:
        return None
    if not isinstance(read, Soft) and call.dropout_p > 0:
        return "its kernels know dropout with the soft read alone"
    if max(call.aux.top, read.k if isinstance(read, TopK) else 0) > MANY:
        return f"its kernels find at most {MANY} largest weights of a row"
    ranks = call.aux.top or isinstance(read, TopK | Argmax | Sample)
    if ranks and not call.key.shape[-2]:
        return "its kernels rank at least one key"
    if ranks and isinstance(normalizer, Sum):
        return "its kernels do not rank weights that may change their sign with the sum"
    unlikely = isinstance(normalizer, Identity) or (call.aux.log_prob and not getattr(normalizer, "sums_to_one", False))
    if isinstance(read, Sample) and unlikely:
        return "its kernels draw from weights that sum to one"
    return None


def peak_bytes(call: Call) -> int:
    """Memory beside inputs and output: gradients, statistics, laid out pairs."""
    rows, size = call.pairs // max(call.key.shape[-2], 1), 4
    copies = 2 * (call.query.numel() + call.key.numel() + call.value.numel())
    laid_out = call.pairs if call.bias is not None or call.aux.weights else 0
    bytes_of_mask = call.pairs if functions(call.mask) else 0
    return size * (copies + 4 * rows + laid_out) + bytes_of_mask


OFFER = Offer(peak_bytes, partial(blockwise.counted, ENGINE))
"""The offer for a call that names the kernels."""


def interpreted() -> bool:
    """Whether Triton runs kernels in its interpreter, on the CPU, as in tests."""
    return os.environ.get("TRITON_INTERPRET", "0").lower() in ("1", "true", "on", "yes", "y")


def unwise(call: Call, rivals: Answers) -> str | None:
    """Reason why "auto" passes over a call that the kernels could serve, or None."""
    if call.query.device.type == "cpu":
        return "Triton's interpreter is for tests"
    if tracing() and transforming():
        return "a transform of torch.func inside a compiler looks into no operator"
    if functions(call.mask) and rivals.of("flex").reason is None:
        return "it would lay a mask by a function out, which flex compiles"
    return None
