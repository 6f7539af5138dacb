"""Calls of the kernels, and the plain formula of their results and gradients."""

from dataclasses import dataclass

import torch

from saccade._definitions import simplex
from saccade.auxiliary import entropy as entropy_of
from saccade.backends.triton import fused
from saccade.backends.triton.blocks import Allowed
from saccade.backends.triton.fused import Setup

ENTRIES, SMALL = 2, 16


@dataclass(frozen=True)
class Case:
    score: int = fused.DOT
    normalizer: int = fused.SOFTMAX
    alpha: float = 1.0
    mask: str = "none"
    bias: int = 0
    softcap: float | None = None
    factors: bool = False
    sinks: bool = False
    eps: float = 0.0
    dropout_p: float = 0.0
    v_of_entries: bool = False
    sizes: tuple[int, int, int, int] = (37, 41, 8, 5)

    @property
    def scale(self):
        return {fused.DOT: self.sizes[2] ** -0.5, fused.ADDITIVE: 1.0, fused.DISTANCE: -0.1}[self.score]


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def spans(q_len, k_len, *, back, ahead):
    """Intervals (1, N, Lq) of a window about the diagonal, those of every fifth query empty."""
    i = torch.arange(q_len)
    starts, ends = (i - back).clamp(0, k_len), (i + ahead).clamp(0, k_len)
    ends = torch.where(i % 5 == 4, starts, ends)
    return (part.int().expand(1, ENTRIES, q_len).contiguous() for part in (starts, ends))


def masks(name, q_len, k_len):
    """A mask for the kernels, and the pairs that it allows, (N, Lq, Lk)."""
    i, j = torch.arange(q_len)[:, None], torch.arange(k_len)[None]
    every = torch.ones(ENTRIES, q_len, k_len, dtype=torch.bool)
    mask, parts = Allowed(ENTRIES), name.split("+")
    if "band" in parts:
        mask, every = mask._replace(low=-9, high=3), every & (j >= i - 9) & (j < i + 3)
    if "causal" in parts:
        mask, every = mask._replace(high=1), every & (j <= i)
    if "entry" in parts:
        first, end = torch.tensor([2, 19], dtype=torch.int32), torch.tensor([17, 38], dtype=torch.int32)
        mask = mask._replace(first=first, end=end)
        every = every & (j >= first[:, None, None]) & (j < end[:, None, None])
    if "window" in parts or "two" in parts:
        starts, ends = spans(q_len, k_len, back=20, ahead=1)
        within = (j >= starts[0, 0, :, None]) & (j < ends[0, 0, :, None])
        if "two" in parts:
            more, last = spans(q_len, k_len, back=-6, ahead=30)
            within = within | ((j >= more[0, 0, :, None]) & (j < last[0, 0, :, None]))
            starts, ends = torch.cat([starts, more]), torch.cat([ends, last])
        mask, every = mask._replace(starts=starts, ends=ends), every & within
    if "ids" in parts:
        q_ids, k_ids = (
            (torch.arange(length) * 3 // length).int().expand(ENTRIES, -1).contiguous() for length in (q_len, k_len)
        )
        mask, every = mask._replace(q_ids=q_ids, k_ids=k_ids), every & (q_ids[:, :, None] == k_ids[:, None])
    if "bytes" in parts:
        pairs = random(ENTRIES, q_len, k_len, seed=7) < -0.5
        pairs[:, : 2 * SMALL, :SMALL] = True
        pairs[:, :, SMALL : 2 * SMALL] = False
        mask, every = mask._replace(pairs=pairs.view(torch.uint8)), every & pairs
    return None if name == "none" else mask, every


def leaves_of(case):
    q_len, k_len, dim, width = case.sizes
    leaves = {
        "query": random(ENTRIES, q_len, dim, seed=1),
        "key": random(ENTRIES, k_len, dim, seed=2),
        "value": random(ENTRIES, k_len, width, seed=3),
    }
    if case.score == fused.ADDITIVE:
        leaves["v"] = random(ENTRIES, dim, seed=4) if case.v_of_entries else random(dim, seed=4)
    if case.normalizer == fused.SUM:  # sums are far from 0
        leaves["query"], leaves["key"] = leaves["query"].abs(), leaves["key"].abs()
    if case.bias:
        shapes = {fused.SLOPE: (ENTRIES,), fused.TABLE: (ENTRIES, 15), fused.PAIRS: (ENTRIES, q_len, k_len)}
        leaves["bias"] = random(*shapes[case.bias], seed=5)
    if case.factors:
        leaves["factors"] = random(ENTRIES, q_len, seed=6).abs() + 0.5
    if case.sinks:
        leaves["sinks"] = random(ENTRIES, q_len, seed=7)
    return {name: leaf.float().double() for name, leaf in leaves.items()}


def setup_of(case, leaves):
    of_bias = leaves["bias"].stride(0) if "bias" in leaves else 0
    mask = masks(case.mask, *case.sizes[:2])[0]
    of_mask = int(mask is not None and mask.entries > 1)
    steps = ENTRIES, 0, 1, 0, 1, 0, 1, 0, of_mask, 0, of_bias
    constants = {"batch": (ENTRIES,), "steps": steps, "mask": mask, "bias_kind": case.bias, "align": 1}
    constants |= {name: getattr(case, name) for name in ("score", "normalizer", "scale", "softcap", "eps", "alpha")}
    if case.dropout_p:
        constants |= {"dropout_p": case.dropout_p, "noise": noise_of(case)}
    return Setup(**{n: t.detach().float() for n, t in leaves.items()}, **constants, bias_learns=case.bias > 0)


def noise_of(case):
    return torch.randint(1 << 32, (ENTRIES, case.sizes[0]), generator=torch.Generator().manual_seed(8))


def kept(case):
    """Dropout's factors of weights, as `backends.reference.dropout` defines them."""
    if not case.dropout_p:
        return 1.0
    bits = noise_of(case)[..., None] ^ ((torch.arange(case.sizes[1]) * 0x5BD1E995) & 0xFFFFFFFF)
    for multiplier in (0x7FEB352D, 0x45D9F3B5):
        bits = ((bits ^ (bits >> 16)) * multiplier) & 0xFFFFFFFF
    bits = bits ^ (bits >> 15)
    return (bits >= int(case.dropout_p * (1 << 32))).double() / max(1 - case.dropout_p, 1e-300)


def scores_of(case, leaves):
    query, key, bias = leaves["query"], leaves["key"], leaves.get("bias")
    i, j = torch.arange(case.sizes[0])[:, None], torch.arange(case.sizes[1])[None]
    if case.score == fused.DOT:
        scores = case.scale * (query @ key.mT)
    elif case.score == fused.DISTANCE:
        scores = case.scale * (query[:, :, None] - key[:, None]).square().sum(-1)
    else:
        terms = torch.tanh(query[:, :, None] + key[:, None])
        scores = (terms * leaves["v"].reshape(-1, 1, 1, case.sizes[2])).sum(-1)
    if case.softcap:
        scores = case.softcap * torch.tanh(scores / case.softcap)
    if case.bias == fused.SLOPE:
        scores = scores - bias[:, None, None] * (i + 1 - j).abs()
    elif case.bias == fused.TABLE:
        scores = scores + bias[:, (j - i - 1).clamp(-7, 7) + 7]
    elif case.bias == fused.PAIRS:
        scores = scores + bias
    return scores


def formula(case, leaves):
    """Every result by plain tensors of queries by keys, in the dtype of the leaves."""
    scores, allowed = scores_of(case, leaves), masks(case.mask, *case.sizes[:2])[1]
    lse, factors = None, leaves.get("factors")
    if factors is not None:
        scores = scores + factors[..., None] if case.normalizer == fused.SIGMOID else scores * factors[..., None]
    if case.normalizer == fused.SOFTMAX:
        weights, lse = simplex.softmax(scores, allowed), simplex.log_partition(scores, allowed)
        if case.sinks:
            weights = weights * torch.sigmoid(lse.masked_fill(lse == -torch.inf, 0.0) - leaves["sinks"])[..., None]
    elif case.normalizer == fused.ENTMAX:
        weights = simplex.entmax(scores, torch.tensor(case.alpha, dtype=scores.dtype), allowed)
    elif case.normalizer == fused.SIGMOID:
        weights = torch.sigmoid(scores).masked_fill(~allowed, 0.0)
    else:
        weights = scores.masked_fill(~allowed, 0.0)
        if case.normalizer == fused.SUM:
            total = weights.sum(-1, keepdim=True)
            weights = weights / (total + case.eps).masked_fill(total == 0, 1.0)
    dropped = weights * kept(case)
    output = (dropped @ leaves["value"].to(dropped.dtype)).to(scores.dtype)
    return {"output": output, "lse": lse, "entropy": entropy_of(weights), "weights": weights,
            "received": weights.sum(-2), "picks": weights.gather(-1, picks_of(case).clamp(min=0))}  # fmt: skip


def picks_of(case):
    """Three keys of each row, some of them none."""
    keys = torch.rand(ENTRIES, case.sizes[0], 3, generator=torch.Generator().manual_seed(9)) * (case.sizes[1] + 5)
    return keys.long() - 5


def close(ours, exact, rough, name):
    """Error at most four times that of the plain float32 formula, and rounding of the largest."""
    error = (rough.double() - exact).abs().max()
    limit = 4 * error + 16 * torch.finfo(torch.float32).eps * exact.abs().max().clamp(min=1.0)
    assert (ours.double() - exact).abs().max() <= limit, name


def gradients(case, leaves, results, looks):
    """Gradients of all leaves by autograd, from those of the results in `looks`."""
    terms = []
    for name, seed in looks.items():
        result = results[name]
        if name == "lse":
            result = result.masked_fill(~masks(case.mask, *case.sizes[:2])[1].any(-1), 0.0)
        terms.append((result * upstream(case, name, result, seed)).sum())
    return dict(zip(leaves, torch.autograd.grad(sum(terms), list(leaves.values()), allow_unused=True), strict=True))


def upstream(case, name, result, seed):
    """A gradient of a result; picks of -1 have none."""
    gradient = random(*result.shape, seed=seed).float().to(result.dtype)
    return gradient.masked_fill(picks_of(case) < 0, 0.0) if name == "picks" else gradient


NAMES = {"query": "query", "key": "key", "value": "value", "v": "v", "factors": "factor", "sinks": "sink"}


def summed(case, gradients):
    """Gradients of the kernels by leaf, summed over the parts that they come in."""
    bias = {fused.SLOPE: "slope", fused.TABLE: "table", fused.PAIRS: "bias"}.get(case.bias)
    for name in ("v", "table", "slope"):
        if name in gradients:
            gradients[name] = gradients[name].sum(1)
    if case.score == fused.ADDITIVE and not case.v_of_entries:
        gradients["v"] = gradients["v"].sum(0)
    return {leaf: gradients[name] for leaf, name in {**NAMES, "bias": bias}.items() if name in gradients}


def twice(case, looks):
    """Results and gradients of the formula, in float64 and in float32."""
    both = []
    for dtype in (torch.float64, torch.float32):
        leaves = {name: leaf.to(dtype).requires_grad_() for name, leaf in leaves_of(case).items()}
        results = formula(case, leaves)
        both.append((results, gradients(case, leaves, results, looks)))
    return both


def assert_gradients(case, ours, exact, rough):
    for name, gradient in summed(case, ours).items():
        if exact[name] is not None:
            close(gradient, exact[name], rough[name], name)


def forward(case):
    setup = setup_of(case, leaves_of(case))
    return setup, fused.forward(setup, entropy=True)


def backward(case, setup, results, exact, looks):
    grads = {name: upstream(case, name, exact[name], seed).float() for name, seed in looks.items()}
    picks = (picks_of(case).int(), grads["picks"]) if "picks" in grads else None
    names = "lse", "entropy", "received", "weights"
    of_looks = {f"{name}_grad": grads[name] for name in names if name in grads}
    return fused.backward(setup, results, grads.get("output"), picks=picks, **of_looks)
