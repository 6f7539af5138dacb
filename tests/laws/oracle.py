"""The textbook, in plain PyTorch of any dtype, written without the library: what the laws hold it against."""

import math

import torch
from torch import Tensor


def distance(query: Tensor, key: Tensor) -> Tensor:
    return (query[..., :, None, :] - key[..., None, :, :]).square().sum(-1).sqrt()


def normalized(x: Tensor) -> Tensor:
    return x / x.norm(dim=-1, keepdim=True)


def positions(lengths: tuple[int, int], align: "int | Tensor" = 0) -> tuple[Tensor, Tensor]:
    """Key positions of queries (..., Lq, 1) and of keys (1, Lk)."""
    shift = align[..., None, None] if isinstance(align, Tensor) else align
    return torch.arange(lengths[0])[:, None] + shift, torch.arange(lengths[1])[None]


def end(lengths: tuple[int, int]) -> int:
    return lengths[1] - lengths[0]


def ratio(numerator: Tensor, denominator: Tensor) -> Tensor:
    return torch.where(denominator != 0, numerator / torch.where(denominator != 0, denominator, 1), 0)


# ---------------------------------------------------------------- normalizers: (scores, allowed) -> weights


def softmax(scores: Tensor, allowed: Tensor, temperature: "float | Tensor" = 1.0, sink: Tensor | None = None) -> Tensor:
    if not scores.shape[-1]:
        return scores
    scores = scores / temperature
    top = torch.where(allowed, scores, -math.inf).amax(-1, keepdim=True)
    top = torch.where(top.isfinite(), top, 0)
    mass = torch.where(allowed, (torch.where(allowed, scores, 0) - top).exp(), 0)
    return ratio(mass, mass.sum(-1, keepdim=True) + (0 if sink is None else (sink - top).exp()))


def entmax(scores: Tensor, allowed: Tensor, alpha: "float | Tensor") -> Tensor:
    """p = [(α − 1) s − τ]₊^{1/(α − 1)}, α > 1, τ by bisection, then by one Newton step that autograd sees."""
    if not scores.shape[-1]:
        return scores
    z, power = torch.where(allowed, (alpha - 1) * scores, -1e4), 1 / (alpha - 1)
    with torch.no_grad():
        high = z.amax(-1, keepdim=True)
        low = high - 1
        for _ in range(80):
            middle = (low + high) / 2
            heavy = (z - middle).clamp(min=0).pow(power).sum(-1, keepdim=True) >= 1
            low, high = torch.where(heavy, middle, low), torch.where(heavy, high, middle)
    inside = (z > low) & allowed
    gap = torch.where(inside, z - low, 1)
    slope = torch.where(inside, power * gap ** (power - 1), 0).sum(-1, keepdim=True).detach()
    low = low + ratio(torch.where(inside, gap**power, 0).sum(-1, keepdim=True) - 1, slope)
    gap = torch.where(inside, z - low, 1)
    return torch.where(inside & (gap > 0), gap.clamp(min=1e-300) ** power, 0)


def share(scores: Tensor, allowed: Tensor, eps: float = 0.0) -> Tensor:
    mass = torch.where(allowed, scores, 0)
    total = mass.sum(-1, keepdim=True)
    return torch.where(total == 0, 0, ratio(mass, total + eps))


def log_partition(scores: Tensor, allowed: Tensor, temperature: "float | Tensor" = 1.0) -> Tensor:
    return torch.where(allowed, scores / temperature, -math.inf).logsumexp(-1)


# ------------------------------------------------------- reads: (weights, allowed) -> (weights that act, index)


def soft(weights: Tensor, allowed: Tensor) -> tuple[Tensor, None]:
    return weights, None


def one_hot(index: Tensor, like: Tensor) -> Tensor:
    hot = torch.zeros_like(like)
    return (
        hot.scatter(-1, index.clamp(min=0)[..., None], (index >= 0).to(like.dtype)[..., None])
        if like.shape[-1]
        else hot
    )


def sample(weights: Tensor, allowed: Tensor, uniform: Tensor) -> tuple[Tensor, Tensor]:
    cumulative, index = weights.cumsum(-1), torch.full(weights.shape[:-1], -1)
    for j in reversed(range(weights.shape[-1])):
        index = torch.where(cumulative[..., j] > uniform * weights.sum(-1), j, index)
    return one_hot(index, weights), index


def argmax(weights: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    index, best = torch.full(weights.shape[:-1], -1), torch.full(weights.shape[:-1], -math.inf, dtype=weights.dtype)
    for j in range(weights.shape[-1]):
        better = allowed[..., j] & (weights[..., j] > best)
        index, best = torch.where(better, j, index), torch.where(better, weights[..., j], best)
    index = torch.where((weights * allowed != 0).any(-1), index, -1)
    return one_hot(index, weights), index


def top_k(weights: Tensor, allowed: Tensor, k: int) -> tuple[Tensor, None]:
    kept, rest = torch.zeros_like(weights), weights
    for _ in range(min(k, weights.shape[-1])):
        hot, _ = argmax(rest, allowed)
        kept, rest = kept + hot * weights, torch.where(hot > 0, -math.inf, rest)
    return ratio(kept, kept.sum(-1, keepdim=True)), None


# ---------------------------------------------------------------- statistics


def entropy(weights: Tensor) -> Tensor:
    return -torch.where(weights > 0, weights * torch.where(weights > 0, weights, 1).log(), 0).sum(-1)


def top(weights: Tensor, allowed: Tensor, count: int) -> tuple[Tensor, Tensor]:
    order = torch.where(allowed, weights, -math.inf).sort(dim=-1, descending=True, stable=True).indices[..., :count]
    values = weights.gather(-1, order)
    return values, torch.where(values == 0, -1, order)
