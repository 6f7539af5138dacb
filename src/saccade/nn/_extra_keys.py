"""Keys that belong to a module and not to its input: torch's `add_bias_kv` and `add_zero_attn`.

Every query may attend to them, whatever the mask. They are no part of masks, positions, memories or statistics: a
softmax over keys and these is the softmax over the keys with a sink, whose share their values get.
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
    """Values of a module's own keys, and the logits of these keys for some queries.

    Args:
        value: `(..., n, Dv)`.
        logits: scores / T `(..., Lq, n)`.
    """

    value: Tensor
    logits: Tensor

    def sunk(self, normalizer: normalizers.Softmax) -> normalizers.Softmax:
        """The softmax with these keys' logits as a sink, beside the one that it has."""
        total = self.logits.logsumexp(-1, keepdim=True)
        if normalizer.sink is not None:
            total = torch.logaddexp(total, torch.as_tensor(normalizer.sink, dtype=total.dtype, device=total.device))
        return replace(normalizer, sink=total)

    def joined(self, found: tuple[Tensor, AuxOutput], sunk: normalizers.Softmax, dropout_p: float) -> Tensor:
        """The output with what is read of these keys: each has exp(logit − lse of all) of the weight."""
        output, aux = found
        assert aux.lse is not None
        assert isinstance(sunk.sink, Tensor)
        total = torch.logaddexp(aux.lse[..., None].to(sunk.sink.dtype), sunk.sink)
        weights = torch.nn.functional.dropout((self.logits - total).exp(), dropout_p)
        return output + (weights @ wide(self.value)).to(output.dtype)


def extra_keys(
    score: scores.Score, normalizer: normalizers.Softmax, query: Tensor, key: Tensor | None, value: Tensor, zero: bool
) -> ExtraKeys:
    """What queries `(..., Lq, D)` make of the module's own keys.

    Args:
        score, normalizer: the module's.
        query: projected, in heads.
        key, value: learned ones `(..., 1, D)`; key is None where there are none, value tells the features then.
        zero: whether a key and a value of zeros are there, too.
    """
    keys = [] if key is None else [key]
    values = [] if key is None else [value]
    if zero:
        keys.append(query.new_zeros(1, query.shape[-1]).expand(*value.shape[:-2], 1, -1))
        values.append(torch.zeros_like(value))
    logits = normalizer.scaled(score(wide(query), wide(torch.cat(keys, -2))))
    return ExtraKeys(torch.cat(values, -2), logits)


def check(name: str, score: Any, normalizer: Any, read: Any) -> None:
    """Raises `ArgumentError`, naming the argument, where keys beside those of the input mean nothing."""
    if not isinstance(score, scores.Score) or isinstance(score, scores.Location):
        got = "scores.Location" if isinstance(score, scores.Location) else "a callable"
        raise ArgumentError(f"{name}: expected a score of saccade.scores that compares contents, got {got}")
    if not isinstance(normalizer, normalizers.Softmax):
        raise ArgumentError(f"{name}: expected normalizers.Softmax, got {type(normalizer).__name__}; leave {name} out")
    if not isinstance(read, reads.Soft):
        raise ArgumentError(f"{name}: expected reads.Soft, got {type(read).__name__}; leave {name} out")


def asking(aux: AuxRequest | None) -> AuxRequest:
    """The request with the log-sum-exp that the keys are joined by."""
    return AuxRequest(lse=True) if aux is None else replace(aux, lse=True)


def answered(aux: AuxRequest, found: AuxOutput) -> AuxOutput:
    """The statistics without a log-sum-exp that nobody asked for."""
    return found if aux.lse else replace(found, lse=None)
