"""Keys of a module beside those of its input: `add_bias_kv` and `add_zero_attn`.

Every query may attend to them, whatever the mask. They are no part of masks, positions, memories or statistics. A
softmax over both kinds of keys is a softmax with a sink over the input's keys. The values of extra keys get the share
of the sink.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from saccade import normalizers, reads, scores
from saccade._definitions.numerics import wide
from saccade.auxiliary import AuxRequest
from saccade.errors import ArgumentError


def check(name: str, score: Any, normalizer: Any, read: Any) -> None:
    """Raise `ArgumentError` about `name` if extra keys are undefined."""
    if not isinstance(score, scores.Score) or isinstance(score, scores.Location):
        got = "scores.Location" if isinstance(score, scores.Location) else "a callable"
        raise ArgumentError(f"{name}: expected a score of saccade.scores that compares contents, got {got}")
    if not isinstance(normalizer, normalizers.Softmax):
        raise ArgumentError(f"{name}: expected normalizers.Softmax, got {type(normalizer).__name__}. Leave {name} out.")
    if not isinstance(read, reads.Soft):
        raise ArgumentError(f"{name}: expected reads.Soft, got {type(read).__name__}. Leave {name} out.")


def attended(
    call: Callable[..., Any],
    options: dict[str, Any],
    score: scores.Score,
    query: Tensor,
    key: Tensor | None,
    value: Tensor,
    zero: bool,
) -> Any:
    """The result of `call(**options)` with extra keys, for queries in heads `(..., Lq, D)`.

    Learned key and value are `(..., 1, D)`. If there are none, key is None and value only has the right shape. `zero`
    adds a key and a value of zeros.
    """
    normalizer, aux = options["normalizer"], options["aux"]
    keys, values = ([], []) if key is None else ([key], [value])
    if zero:
        keys.append(query.new_zeros(1, query.shape[-1]).expand(*value.shape[:-2], 1, -1))
        values.append(torch.zeros_like(value))
    logits = normalizer.scaled(score(wide(query), wide(torch.cat(keys, -2))))
    sink = logits.logsumexp(-1, keepdim=True)
    if normalizer.sink is not None:
        sink = torch.logaddexp(sink, torch.as_tensor(normalizer.sink, dtype=sink.dtype, device=sink.device))
    request = replace(AuxRequest() if aux is None else aux, lse=True)
    output, statistics = call(**{**options, "normalizer": replace(normalizer, sink=sink), "aux": request})
    total = torch.logaddexp(statistics.lse[..., None].to(sink.dtype), sink)
    weights = torch.nn.functional.dropout((logits - total).exp(), options["dropout_p"])
    output = output + (weights @ wide(torch.cat(values, -2))).to(output.dtype)
    if aux is None:
        return output
    return output, statistics if aux.lse else replace(statistics, lse=None)
