"""ONNX's conformance cases of `Attention` and `FlexAttention`, each asked of `attend`."""

import functools
from typing import Any, NamedTuple

import numpy as np
import onnx
import torch
from onnx.backend.test.case.node import _NodeTestCases as registered
from onnx.backend.test.case.node import attention as attention_cases  # noqa: F401  registers its cases
from onnx.backend.test.case.node import flexattention as flex_cases  # noqa: F401  which `collect_testcases` does for all
from onnx.reference import ReferenceEvaluator
from torch import Tensor

from saccade import AuxRequest, attend, masks, normalizers, scores

WEIGHTS = AuxRequest(weights=True)


class Question(NamedTuple):
    """A case in our words: tensors with a dimension of heads of keys and one of the queries that share them."""

    query: Tensor
    key: Tensor
    value: Tensor
    options: dict[str, Any]


@functools.cache
def cases() -> dict[str, Any]:
    """The cases by name, without those that ask the same of an operator's expansion into others."""
    kinds = ("Attention", "FlexAttention")
    chosen = [case for case in registered if case.model.graph.node[0].op_type in kinds and "_expanded" not in case.name]
    return {case.name: case for case in chosen}


def tensor(array: Any) -> Tensor:
    if str(array.dtype) == "bfloat16":  # of the package ml_dtypes, which torch does not read
        return torch.from_numpy(array.astype(np.float32)).bfloat16()
    return torch.from_numpy(np.array(array))


def answers(case: Any) -> list[tuple[Tensor, Tensor]]:
    """Ours beside theirs, for every output of the case."""
    node = case.model.graph.node[0]
    attributes = {part.name: onnx.helper.get_attribute_value(part) for part in node.attribute}
    ((given, wanted),) = case.data_sets
    inputs = dict(zip((name for name in node.input if name), map(tensor, given), strict=True))
    named = [inputs.get(name) if name else None for name in node.input] + [None] * 7
    outputs = attention(named, attributes, case.model.opset_import)
    names = [position for position, name in enumerate(node.output) if name]
    return [(outputs(position), tensor(want)) for position, want in zip(names, wanted, strict=True)]


def attention(inputs: list[Tensor | None], attributes: dict[str, Any], opsets: Any) -> Any:
    """What each output of the operator is, by its position."""
    query, key, value, allowed, past_key, past_value, lengths, *_ = inputs
    flat = query.ndim == 3
    if flat:
        heads = (attributes["q_num_heads"], attributes["kv_num_heads"], attributes["kv_num_heads"])
        query, key, value = (
            t.unflatten(-1, (n, -1)).transpose(1, 2) for t, n in zip((query, key, value), heads, strict=True)
        )
    offset: int | Tensor = 0
    if past_key is not None:
        offset = past_key.shape[2]
        key, value = torch.cat((past_key, key), 2), torch.cat((past_value, value), 2)
    if lengths is not None:
        offset = (lengths - query.shape[2])[:, None, None]
    grouped = query.unflatten(1, (key.shape[1], -1)), key[:, :, None], value[:, :, None]
    scale, softcap = attributes.get("scale"), attributes.get("softcap") or None
    options = {
        "score": scores.ScaledDot(scale=scale, softcap=softcap),
        "mask": structured(attributes, offset, lengths),
        **modified(attributes, scale, opsets),
    }
    question = Question(*grouped, widened(options, allowed, grouped[0], key.shape[2]))

    def output(position: int) -> Tensor:
        if position in (1, 2):
            return (key, value)[position - 1]
        if position == 3:
            return matrix(question, attributes.get("qk_matmul_output_mode", 0)).flatten(1, 2)
        found = attend(question.query, question.key, question.value, **question.options).flatten(1, 2)
        return found.transpose(1, 2).flatten(2) if flat else found

    return output


def structured(attributes: dict[str, Any], offset: int | Tensor, lengths: Tensor | None) -> masks.Mask | None:
    """Causality, a window and padding."""
    sides = [attributes.get(f"{side}_window_size", -1) for side in ("left", "right")]
    left, right = (None if side < 0 else side for side in sides)
    found = [masks.Causal(offset)] if attributes.get("is_causal") else []
    found += [] if left is right is None else [masks.Window(left, right, offset)]
    found += [] if lengths is None else [masks.Lengths(lengths[:, None, None])]
    return functools.reduce(lambda first, second: first & second, found) if found else None


def widened(options: dict[str, Any], allowed: Tensor | None, query: Tensor, k_len: int) -> dict[str, Any]:
    """The options with a mask or a bias, as long as the keys, over heads and the queries that share them."""
    if allowed is None:
        return options
    boolean = allowed.dtype == torch.bool
    missing = k_len - allowed.shape[-1]
    allowed = torch.nn.functional.pad(allowed, (0, missing), value=False if boolean else -torch.inf)
    allowed = allowed[(None,) * (4 - allowed.ndim)]
    heads = query.shape[1:3] if allowed.shape[1] > 1 else (1, 1)
    allowed = allowed.unflatten(1, heads)
    if not boolean:
        return {**options, "bias": allowed}
    return {**options, "mask": allowed if options["mask"] is None else options["mask"] & allowed}


def modified(attributes: dict[str, Any], scale: float | None, opsets: Any) -> dict[str, Any]:
    """FlexAttention's graphs of operators, of scores and of probabilities, run by ONNX's own reference."""

    def run(name: str, tensor: Tensor) -> Tensor:
        model = onnx.helper.make_model(attributes[name], opset_imports=opsets)
        (found,) = ReferenceEvaluator(model).run(None, {model.graph.input[0].name: tensor.flatten(1, 2).numpy()})
        return torch.from_numpy(found).view(tensor.shape)

    found: dict[str, Any] = {}
    if "score_mod" in attributes:
        found["score"] = lambda query, key: run("score_mod", scores.ScaledDot(scale)(query, key))
    if "prob_mod" in attributes:
        found["normalizer"] = lambda scores, mask: run("prob_mod", normalizers.Softmax()(scores, mask))
    return found


def matrix(question: Question, mode: int) -> Tensor:
    """The scores (modes 0 and 1), with mask and bias (2), or the weights (3)."""
    options, tensors = question.options, question[:3]
    if mode == 3:
        return attend(*tensors, **options, aux=WEIGHTS)[1].weights.to(question.query.dtype)
    plain = {"score": options["score"], "normalizer": normalizers.Identity()}
    if mode < 2:
        return attend(*tensors, **plain, aux=WEIGHTS)[1].weights
    masked = {name: options.get(name) for name in ("mask", "bias")}
    found = attend(*tensors, **plain, **masked, aux=WEIGHTS)[1].weights
    allowed = attend(*tensors, **masked, aux=WEIGHTS)[1].weights > 0
    return found.masked_fill(~allowed, -torch.inf)
