"""Checks of a call, once at the public edge. Everything below relies on them."""

from typing import Any

import torch
from torch import Tensor

from saccade._call.call import NOTHING, Arguments, Call
from saccade._call.dot_products import name_of
from saccade._call.lazy_value import lazy
from saccade._call.user_subclasses import by_definition
from saccade._definitions.checks import number, same_device
from saccade._definitions.functions import functions
from saccade._definitions.numerics import broadcast_shapes
from saccade._definitions.state import BackendState
from saccade._definitions.structure import Definition, Extent, aligned
from saccade.auxiliary import AuxRequest
from saccade.biases import as_bias, as_gate
from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError
from saccade.masks import Prepared, as_mask
from saccade.normalizers import Normalizer, Softmax
from saccade.reads import Read, Sample
from saccade.scores import Score

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


def tensors(query: Any, key: Any, value: Any, first: str = "query") -> None:
    """Reject all but floating tensors of one dtype and device and of fitting shapes.

    Errors call the query `first`: "key" if there are no queries yet and the keys are passed twice.
    """
    named = ((first, query), ("key", key), ("value", value))
    for name, tensor in named:
        if not isinstance(tensor, Tensor):
            raise ArgumentTypeError(f"{name}: expected a tensor, got {type(tensor).__name__}")
        if tensor.layout != torch.strided or tensor.is_nested:
            got = "a nested one" if tensor.is_nested else f"layout {tensor.layout}"
            raise ArgumentTypeError(f"{name}: expected a dense tensor, got {got}; pad it and give masks.Lengths")
        if tensor.ndim < 2:
            raise ShapeError(
                f"{name}: expected at least 2 dimensions (..., length, features), got shape {tuple(tensor.shape)}"
            )
        if tensor.dtype not in DTYPES:
            raise ArgumentTypeError(
                f"{name}: expected a floating dtype (float32, float64, bfloat16, float16), got dtype {tensor.dtype}"
            )
    for name, tensor in named[1:]:
        if tensor.dtype != query.dtype:
            expected = f"expected dtype {query.dtype}, that of {first}"
            raise ArgumentError(f"{name}: {expected}, got dtype {tensor.dtype}; convert one of them")
        same_device(name, tensor, query.device, first)
    if value.shape[-2] != key.shape[-2]:
        raise ShapeError(
            f"value: expected length {key.shape[-2]}, that of key, got {value.shape[-2]} in shape {tuple(value.shape)}"
        )


def batch_of(query: Tensor, key: Tensor, value: Tensor) -> tuple[int, ...]:
    """Broadcast the leading dimensions, or raise an error with the argument's name."""
    batch = tuple(query.shape[:-2])
    if key.shape[:-2] == batch and value.shape[:-2] == batch:
        return batch
    for name, tensor in (("key", key), ("value", value)):
        try:
            batch = tuple(broadcast_shapes(batch, tensor.shape[:-2]))
        except RuntimeError:
            raise ShapeError(
                f"{name}: expected leading dimensions that broadcast with {batch}, got {tuple(tensor.shape[:-2])} "
                f"in shape {tuple(tensor.shape)}"
            ) from None
    return batch


def checked_call(arguments: Arguments) -> Call:
    """Return the `Call` of valid arguments, or raise an error with a name."""
    query, key, value, score, mask, bias, gate, normalizer, read, dropout_p, aux, _, memory, cache, state = arguments
    values = lazy(value, key)
    value = value if values is None else values.placeholder(key, key.shape[-1])  # until the function is called
    tensors(query, key, value)
    batch = batch_of(query, key, value)
    probability(dropout_p)
    prepared = mask if isinstance(mask, Prepared) else None
    mask = None if mask is None else as_mask(mask)
    if memory is not None:  # with all dimensions of the query, so that none can be taken for another
        remembered = as_mask(aligned(memory, ("q", "k"), query.ndim - 2))
        mask = remembered if mask is None else mask & remembered
    bias = None if bias is None else as_bias(bias)
    gate = None if gate is None else as_gate(gate)
    request = NOTHING if aux is None else aux
    kinds(score, normalizer, read, request)
    score, normalizer = by_definition(score), by_definition(normalizer)
    extent = Extent.of(batch, query, key)
    if prepared is not None:
        prepared.check(extent)
        prepared = prepared if memory is None else None  # composed with another mask, it is the plain mask
    if isinstance(score, Score):
        score.check(extent)
    if isinstance(normalizer, Normalizer):
        normalizer.check(extent)
    if mask is not None:
        mask.check(extent)
    if bias is not None:
        bias.check(extent, "bias")
    if gate is not None:
        gate.check(extent, "gate")
    read.check(extent)
    defined(request, normalizer, gate, read)
    once = None
    if extent.values:
        once = BackendState() if prepared is None and functions(mask) else getattr(prepared, "state", None)
    kept = cache, state if extent.values else None, once, values
    return Call(query, key, value, score, mask, bias, gate, normalizer, read, dropout_p, None, request, *kept)


def probability(dropout_p: Any) -> None:
    number("dropout_p", dropout_p, least=0)
    if dropout_p > 1:
        raise ArgumentError(f"dropout_p: expected a probability from 0 to 1, got {dropout_p}")


def kinds(score: Any, normalizer: Any, read: Any, aux: Any) -> None:
    """Check that score and normalizer are instances, read and aux of their classes."""
    for name, thing, module in (("score", score, "scores"), ("normalizer", normalizer, "normalizers")):
        if isinstance(thing, type):
            got = thing.__name__
            raise ArgumentTypeError(f"{name}: expected an instance, got the class {got}; write {got}(...)")
        other = isinstance(thing, Definition) and not isinstance(thing, Score if name == "score" else Normalizer)
        if other or not callable(thing):
            expected = f"expected one of saccade.{module} or a callable"
            raise ArgumentTypeError(f"{name}: {expected}, got {type(thing).__name__}")
    if not isinstance(read, Read):
        raise ArgumentTypeError(f"read: expected one of saccade.reads, such as reads.Soft(), got {read!r}")
    if not isinstance(aux, AuxRequest):
        raise ArgumentTypeError(f"aux: expected a saccade.AuxRequest or None, got {type(aux).__name__}")


def defined(aux: AuxRequest, normalizer: Any, gate: Any, read: Read) -> None:
    """Raise `ArgumentError` for a statistic that this combination does not define."""
    if aux.lse and not isinstance(normalizer, Softmax):
        expected = "normalizers.Softmax, the only one with a log-partition"
        raise ArgumentError(f"aux.lse: expected {expected}, got {name_of(normalizer)}")
    if aux.index and not read.chooses:
        expected = "a read that takes one key (Sample, Argmax)"
        raise ArgumentError(f"aux.index: expected {expected}, got reads.{type(read).__name__}")
    if aux.log_prob and not isinstance(read, Sample):
        expected = "reads.Sample, the only one that draws (as for index)"
        raise ArgumentError(f"aux.log_prob: expected {expected}, got reads.{type(read).__name__}")
    if aux.entropy and gate is not None:
        raise ArgumentError("aux.entropy: expected rows that sum to one, got a gate. Request weights instead.")
    if aux.entropy and not (isinstance(normalizer, Normalizer) and normalizer.sums_to_one):
        expected = "a normalizer whose rows sum to one (Softmax without sink, Sparsemax, Entmax, Sum without eps)"
        raise ArgumentError(f"aux.entropy: expected {expected}, got {name_of(normalizer)}")
