"""Calls by the kernels: results of an aligned call, and gradients of its leaves."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from saccade._call.call import Call
from saccade._definitions.numerics import HALF, shares, wide
from saccade.auxiliary import top
from saccade.backends.blockwise.blocks import floating_results, result_names
from saccade.backends.blockwise.engine import Kind, Whole
from saccade.backends.triton import fused
from saccade.backends.triton.setup import gradients_of, inputs_of, is_plain, setup_of
from saccade.normalizers import Entmax, Identity, Sparsemax
from saccade.reads import Argmax, Read, Sample, Soft, TopK, pick
from saccade.scores import Additive, Cosine, General

__all__ = ["WHOLE"]

Results = dict[str, Tensor]


def residual_names(call: Call) -> list[str]:
    """Tensors that a backward reads again beside the results."""
    names = [] if call.aux.lse else ["norms"]
    if isinstance(call.normalizer, Sparsemax | Entmax) or getattr(call.normalizer, "sink", None) is not None:
        names.append("wholes")
    if call.aux.weights:  # the read is of the weights that are returned
        return names
    if leading(call) and not returns_leading(call):
        names += "top_weights", "top_keys"
    if isinstance(call.read, Sample):
        names.append("drawn")
    if call.read.chooses and call.read.differentiable:
        names.append("soft")
    return names


def leading(call: Call) -> int:
    """Number of the largest weights of a row for the read and the statistics."""
    if call.aux.weights:
        return 0
    count = call.read.k if isinstance(call.read, TopK) else int(isinstance(call.read, Argmax))
    return min(max(count, call.aux.top), call.key.shape[-2])


def returns_leading(call: Call) -> bool:
    """Whether the largest weights of the kernels are those that the call returns."""
    if call.read.chooses or isinstance(call.normalizer, Identity):
        return False
    return min(call.aux.top, call.key.shape[-2]) == leading(call)


def forward(call: Call) -> list[Tensor]:
    """All results, then the residuals."""
    setup, aux, count = setup_of(call, inputs_of(call)), call.aux, leading(call)
    results = fused.forward(setup, entropy=aux.entropy, top=count)
    results["lse"] = norms = results["norms"]
    if aux.weights:
        results["weights"] = fused.weights(setup, results)
    if aux.received:
        results["received"] = fused.received(setup, results)
    if count:
        weights, keys = results["top_weights"], results["top_keys"]
        if returns_leading(call):
            results |= {"top_values": weights, "top_indices": keys}
        elif aux.top:
            values, indices = top(weights[..., : aux.top], keys[..., : aux.top])
            results |= {"top_values": values.clone(memory_format=torch.contiguous_format), "top_indices": indices}
        if aux.index:
            results["index"] = keys[..., 0].contiguous()
    if isinstance(call.read, Sample) and not aux.weights:
        assert call.read.uniform is not None
        uniform = call.read.uniform.to(norms.dtype).expand(norms.shape).contiguous()
        results["drawn"], results["log_prob"] = fused.drawn(setup, results, uniform)
        if aux.index:
            results["index"] = results["drawn"].clone()
    if not isinstance(call.read, Soft) and not aux.weights:
        results["soft"], results["output"] = results["output"], read(call, call.value, results)
    return [results[name] for name in (*result_names(call), *residual_names(call))]


def read(call: Call, value: Tensor, results: Results) -> Tensor:
    """The output of a read of one key or of the largest weights."""
    if isinstance(call.read, TopK):
        weights, keys = (results[name][..., : call.read.k] for name in ("top_weights", "top_keys"))
        rows = pick(wide(value), keys.flatten(-2)).unflatten(-2, keys.shape[-2:])
        output: Tensor = (shares(weights)[..., None, :] @ rows)[..., 0, :]
        return output.to(value.dtype)
    return pick(value, results["drawn"] if isinstance(call.read, Sample) else results["top_keys"][..., 0])


def backward(
    call: Call, grads: Sequence[Tensor | None], needed: Sequence[bool], kept: Sequence[Tensor]
) -> list[Tensor]:
    """Gradients of the needed leaves, from those of the floating results."""
    kept = [tensor.contiguous() for tensor in kept]  # transforms and hooks on saved tensors may change strides
    results = dict(zip((*result_names(call), *residual_names(call)), kept, strict=True))
    upstream = {n: grad for n, grad in zip(floating_results(call), grads, strict=True) if grad is not None}
    inputs, names = inputs_of(call), own_inputs(call, needed)
    if names is not None and weighs_output(call.read):
        of_kernels = fused.backward(setup_of(call, inputs), **looked(results, upstream))
        return list(gradients_of(call, inputs, of_kernels, names).values())
    leaves = [leaf.tensor.detach() for leaf in call.leaves()]
    moving = [leaf.requires_grad_() for leaf, needs in zip(leaves, needed, strict=False) if needs]
    with torch.enable_grad():
        moved = call.with_leaves(iter(leaves))
        outputs, pulled = outside(moved, results, upstream)
        recorded = inputs_of(finite(moved) if made_of_rows(call) else moved)
    tensors = recorded.tensors()
    names = [name for name, tensor in tensors.items() if tensor.requires_grad]
    of_kernels = fused.backward(setup_of(call, inputs, learns="bias" in names), **looked(results, upstream))
    summed = gradients_of(call, recorded, of_kernels, names)
    outputs, pulled = [*outputs, *(tensors[name] for name in names)], [*pulled, *summed.values()]
    return list(torch.autograd.grad(outputs, moving, pulled, allow_unused=True, materialize_grads=True))


def weighs_output(read: Read) -> bool:
    """Whether the output has the gradients of a read of all weights."""
    return isinstance(read, Soft) or (read.chooses and read.differentiable)


def own_inputs(call: Call, needed: Sequence[bool]) -> list[str] | None:
    """Names of inputs that need a gradient, or None if others than the call's do."""
    count = sum(needed)
    if count != sum(needed[:3]) or not is_plain(call.score):
        return None
    if isinstance(call.score, Additive) and call.query.dtype in HALF:
        return None
    return [name for name, needs in zip(("query", "key", "value"), needed, strict=False) if needs]


def made_of_rows(call: Call) -> bool:
    """Whether rows are transformed before the kernels, some of them forbidden."""
    score = call.score
    scaled = isinstance(getattr(score, "scale", getattr(score, "bandwidth", None)), Tensor)
    return (scaled or isinstance(score, General | Cosine)) and (call.mask is not None or call.bias is not None)


def finite(call: Call) -> Call:
    """The call with zeros for rows that hold NaN.

    Such a row is forbidden and has no gradient, or its gradient is NaN already. A product of 0 and NaN would be NaN.
    """

    def cleaned(tensor: Tensor) -> Tensor:
        return tensor.masked_fill(~tensor.detach().isfinite().all(-1, keepdim=True), 0.0)

    return replace(call, query=cleaned(call.query), key=cleaned(call.key))


def outside(call: Call, results: Results, upstream: Results) -> tuple[list[Tensor], list[Tensor]]:
    """The output of a read of few keys, a function of its values, and its gradient.

    The gradient of its weights goes to `upstream`.
    """
    if "output" not in upstream or weighs_output(call.read):
        return [], []
    grad = upstream.pop("output")
    if isinstance(call.read, TopK):
        if "top_weights" not in results:
            results |= {"top_weights": results["top_values"], "top_keys": results["top_indices"]}
        weights = results["top_weights"].detach().requires_grad_()
        output = read(call, call.value.detach(), {**results, "top_weights": weights})
        [upstream["top_weights"]] = torch.autograd.grad(output, weights, grad)
    output = read(call, call.value, results)
    return ([output], [grad]) if output.requires_grad else ([], [])


def looked(results: Results, upstream: Results) -> dict[str, Any]:
    """Arguments of the kernels' backward."""
    norms = results["lse"] if "lse" in results else results["norms"]
    keys = results.get("top_keys", results.get("top_indices"))
    of_largest = [upstream[name] for name in ("top_values", "top_weights") if name in upstream]
    picks = [(keys[..., : grads.shape[-1]], grads) for grads in of_largest if keys is not None]
    looks: dict[str, Any] = {"grad": upstream.get("output")}
    if "log_prob" in upstream:  # weights sum to one: a constant gradient of theirs is none
        picks.append((results["drawn"][..., None], (upstream["log_prob"] * torch.exp(-results["log_prob"]))[..., None]))
    if picks:
        picked, grads = (torch.cat(side, -1) for side in zip(*picks, strict=True))
        looks["picks"] = picked.to(torch.int32).contiguous(), grads.to(norms.dtype).contiguous()
    for name in ("lse", "entropy", "received", "weights"):
        if name in upstream:
            looks[name + "_grad"] = upstream[name].contiguous()
    soft = results["soft"] if "soft" in results else results.get("output", norms)
    of_rows = {"norms": norms, "wholes": results.get("wholes", norms), "entropy": results.get("entropy", norms)}
    return {"results": {**of_rows, "output": soft}, **looks}


def residuals(call: Call) -> list[Kind]:
    """Shapes and dtypes of the residuals, in their order."""
    rows, dtype, count = (*call.batch, call.query.shape[-2]), wide(call.query).dtype, leading(call)
    kinds: dict[str, Kind] = {
        "top_weights": ((*rows, count), dtype),
        "top_keys": ((*rows, count), torch.int64),
        "drawn": (rows, torch.int64),
        "soft": ((*rows, call.value.shape[-1]), call.value.dtype),
    }
    return [kinds.get(name, (rows, dtype)) for name in residual_names(call)]


WHOLE = Whole(forward, backward, residuals)
