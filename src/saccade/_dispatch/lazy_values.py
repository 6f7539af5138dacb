"""Lazy values: a function computes the values of the chosen keys.

A hard read needs one value a query, `reads.TopK(k)` needs k. The weights alone choose these keys. So a
call whose value is a function runs on any backend without values, with the chosen keys among its statistics. Then the
function is called once, for each chosen key once:

    Sample, Argmax      aux.index  ─┐
    TopK                aux.top    ─┴─▶ distinct keys ──▶ function(index) ──▶ output
    Soft and what is "straight_through" take all values: the function is asked for every key that may be attended to
"""

import math
from dataclasses import replace

import torch

from saccade._call.call import Call
from saccade._call.lazy_value import LazyValue
from saccade._definitions.numerics import shares, wide
from saccade._dispatch.choose import Plan, Planning, Result, Running
from saccade.auxiliary import AuxOutput
from saccade.backends import reference
from saccade.reads import Soft, TopK, largest
from saccade.scores import Score


def run(call: Call, backend: str, rest: Running) -> Result:
    """Output and statistics by the rest of the passes, of a call with lazy values."""
    values = call.values
    if values is None:
        return rest(call, backend)
    if not call.read.sparse:
        return rest(filled(call, values), backend)
    return read(call, values, rest(choosing(call), backend)[1])


def plan(call: Call, backend: str, rest: Planning) -> Plan:
    """The plan of the call. The values of a Soft read have the features of keys."""
    values = call.values
    if values is None:
        return rest(call, backend)
    total, once = math.prod(values.shape), "by one call of the function"
    if not call.read.sparse:
        words = f"of all {total:,} keys, {once}: {type(call.read).__name__} reads them all"
        return replace(rest(replace(call, values=None), backend), values=words)
    count = call.read.k if isinstance(call.read, TopK) else 1
    limit = min(total, math.prod(call.batch) * call.query.shape[-2] * count)
    words = f"of the keys that are read alone, at most {limit:,} of {total:,}, {once}"
    return replace(rest(choosing(call), backend), values=words)


def choosing(call: Call) -> Call:
    """The call without values that finds the few chosen keys."""
    assert call.values is not None
    call = replace(call, value=call.values.placeholder(call.key), values=None)
    if not isinstance(call.read, TopK):
        return replace(call, aux=replace(call.aux, index=True))
    if call.dropout_p > 0:  # which are the largest is decided behind it
        return replace(call, read=Soft(), dropout_p=0.0, aux=replace(call.aux, weights=True))
    return replace(call, read=Soft(), aux=replace(call.aux, top=max(call.read.k, call.aux.top)))


def read(call: Call, values: LazyValue, statistics: AuxOutput) -> Result:
    """Output and statistics of a call, from the statistics of its `choosing` one.

    A key of weight 0 is not among those that TopK reads.
    """
    rank, aux, top = len(call.batch), call.aux, statistics.top
    if not isinstance(call.read, TopK):
        index = statistics.index
        assert index is not None
        return values.gather(index, rank, call.query), replace(statistics, index=index if aux.index else None)
    if call.dropout_p > 0:
        full_weights, allowed = statistics.weights, None
        assert full_weights is not None
        if not isinstance(call.score, Score):
            allowed = full_weights.detach() != 0  # the score may have forbidden some
        elif call.mask is not None or call.bias is not None:
            allowed = reference.allowed_keys(call, call.grid()).expand(full_weights.shape)
        dropped = reference.dropout(call.with_randomness(), full_weights)
        weights, index = largest(dropped, call.read.k, allowed)
        index = index.masked_fill(weights.detach() == 0, -1)
    else:
        assert top is not None
        weights, index = (part[..., : call.read.k] for part in top)
    rows = values.gather(index, rank, call.query)
    output = (shares(weights)[..., None, :] @ wide(rows))[..., 0, :].to(rows.dtype)
    top = (top[0][..., : aux.top], top[1][..., : aux.top]) if aux.top and top is not None else None
    return output, replace(statistics, weights=statistics.weights if aux.weights else None, top=top)


def filled(call: Call, values: LazyValue) -> Call:
    """The call with the values of all keys, zeros for keys that nothing may attend to."""
    call = replace(call, values=None)
    index = torch.arange(values.k_len, device=call.query.device).expand(values.shape)
    if call.mask is not None or call.bias is not None:
        index = index.masked_fill(~reference.shared(reference.participants(call)[0], call.value), -1)
    elif values.entries is None:
        rows = values.at(torch.arange(index.numel(), device=index.device), call.query)
        return replace(call, value=rows.view(*values.shape, rows.shape[-1]))
    return replace(call, value=values.gather(index, len(values.shape) - 1, call.query))
