"""Keys of a module beside those of its input: `add_bias_kv` and `add_zero_attn`.

Every query may attend to them, whatever the mask. They are no part of masks, positions, memories or statistics. A
softmax over both kinds of keys is a softmax with a sink over the input's keys. The values of extra keys get the share
of the sink.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade import normalizers, reads, scores
from saccade._definitions.numerics import wide
from saccade.auxiliary import AuxOutput, AuxRequest
from saccade.errors import ArgumentError

__all__ = ["ExtraKeys", "answered", "asking", "check", "extra_keys"]


class ExtraKeys(NamedTuple):
    """Values of the extra keys, and their logits for some queries.

    Args:
        value: `(..., n, Dv)`.
        logits: scores / T `(..., Lq, n)`.
    """

    value: Tensor
    logits: Tensor

    def sunk(self, normalizer: normalizers.Softmax) -> normalizers.Softmax:
        """The softmax with the extra logits in its sink."""
        total = self.logits.logsumexp(-1, keepdim=True)
        if normalizer.sink is not None:
            total = torch.logaddexp(total, torch.as_tensor(normalizer.sink, dtype=total.dtype, device=total.device))
        return replace(normalizer, sink=total)

    def joined(self, result: tuple[Tensor, AuxOutput], sunk: normalizers.Softmax, dropout_p: float) -> Tensor:
        """The output with the extra values, weighted by exp(logit − lse of all)."""
        output, aux = result
        assert aux.lse is not None
        assert isinstance(sunk.sink, Tensor)
        total = torch.logaddexp(aux.lse[..., None].to(sunk.sink.dtype), sunk.sink)
        weights = torch.nn.functional.dropout((self.logits - total).exp(), dropout_p)
        return output + (weights @ wide(self.value)).to(output.dtype)


def extra_keys(
    score: scores.Score, normalizer: normalizers.Softmax, query: Tensor, key: Tensor | None, value: Tensor, zero: bool
) -> ExtraKeys:
    """Values and logits of the extra keys for queries `(..., Lq, D)`.

    Args:
        score, normalizer: of the module.
        query: projected, in heads.
        key, value: learned, `(..., 1, D)`. Without learned ones key is None, and value has the right shape.
        zero: whether to add a key and a value of zeros.
    """
    keys = [] if key is None else [key]
    values = [] if key is None else [value]
    if zero:
        keys.append(query.new_zeros(1, query.shape[-1]).expand(*value.shape[:-2], 1, -1))
        values.append(torch.zeros_like(value))
    logits = normalizer.scaled(score(wide(query), wide(torch.cat(keys, -2))))
    return ExtraKeys(torch.cat(values, -2), logits)


def check(name: str, score: Any, normalizer: Any, read: Any) -> None:
    """Raise `ArgumentError` about `name` if extra keys are undefined."""
    if not isinstance(score, scores.Score) or isinstance(score, scores.Location):
        got = "scores.Location" if isinstance(score, scores.Location) else "a callable"
        raise ArgumentError(f"{name}: expected a score of saccade.scores that compares contents, got {got}")
    if not isinstance(normalizer, normalizers.Softmax):
        raise ArgumentError(f"{name}: expected normalizers.Softmax, got {type(normalizer).__name__}. Leave {name} out.")
    if not isinstance(read, reads.Soft):
        raise ArgumentError(f"{name}: expected reads.Soft, got {type(read).__name__}. Leave {name} out.")


def asking(aux: AuxRequest | None) -> AuxRequest:
    """The request with lse, to join the extra keys by."""
    return AuxRequest(lse=True) if aux is None else replace(aux, lse=True)


def answered(aux: AuxRequest, statistics: AuxOutput) -> AuxOutput:
    """The requested statistics, without the lse that `asking` adds."""
    return statistics if aux.lse else replace(statistics, lse=None)
