"""Patterns of the literature without a tensor of Lq × Lk, against their definitions pair by pair."""

from typing import NamedTuple

import pytest
import torch

from calls import drawn
from saccade import AuxRequest, attend, explain, masks, scores
from saccade._definitions.structure import Grid

BATCH = (2, 3)


class Pattern(NamedTuple):
    """A mask `(q_len, k_len)` of lengths, and whether query i of batch entry b may attend to key j."""

    mask: object
    allowed: object
    lengths: tuple[int, int]


def natten(size, length):
    """The `size` nearest keys; at the edges the window moves inwards (Hassani et al. 2023)."""
    start = (torch.arange(length) - size // 2).clamp(0, length - size)

    def allowed(b, i, j):
        nearest = sorted(range(length), key=lambda key: (abs(key - i), key))[:size]
        return min(nearest) <= j <= max(nearest)

    return Pattern(masks.Intervals(start, start + size), allowed, (length, length))


def sliding_tiles(tile, radius, length):
    """All keys of the tiles within a radius of the query's own (Zhang et al. 2025, in one dimension)."""
    first = (torch.arange(length) // tile - radius) * tile
    mask = masks.Intervals(first, first + (2 * radius + 1) * tile)
    return Pattern(mask, lambda b, i, j: abs(i // tile - j // tile) <= radius, (length, length))


def flamingo(text, images, cells):
    """A word looks at the last image before it, the first words at none (Alayrac et al. 2022, section 2.3)."""
    generator = torch.Generator().manual_seed(0)
    begins = torch.rand(BATCH[0], text, generator=generator) < 3 / text
    last = begins.cumsum(-1).clamp(max=images)
    start = (last - 1) * cells
    mask = masks.Intervals(start[:, None], (last * cells)[:, None])

    def allowed(b, i, j):
        before = min(sum(begins[b, : i + 1].tolist()), images)
        return before > 0 and j // cells == before - 1

    return Pattern(mask, allowed, (text, images * cells))


def block_diffusion(block, length):
    """Noised tokens, then clean ones: a noised block sees itself and the clean blocks before, a clean one those up to
    itself (Arriola et al. 2025, section 3).
    """

    def function(i, j):
        clean_i, clean_j = i >= length, j >= length
        block_i, block_j = i % length // block, j % length // block
        own = (block_i == block_j) & (clean_i == clean_j)
        return own | (clean_j & (block_i > block_j))

    def allowed(b, i, j):
        if i < length:
            return i // block == j // block if j < length else (j - length) // block < i // block
        return j >= length and (j - length) // block <= (i - length) // block

    return Pattern(masks.Where(function), allowed, (2 * length, 2 * length))


def dilated(radius, step, length):
    """Every `step`-th key within a radius (Beltagy et al. 2020, section 3.1)."""
    mask = masks.Window(radius, radius) & masks.Where(lambda i, j: (i - j) % step == 0)
    return Pattern(mask, lambda b, i, j: abs(i - j) <= radius and (i - j) % step == 0, (length, length))


PATTERNS = {
    "natten": lambda scale: natten(5, 31 * scale),
    "natten, even": lambda scale: natten(4, 31 * scale),
    "sliding tiles": lambda scale: sliding_tiles(4, 1, 30 * scale),
    "flamingo": lambda scale: flamingo(29 * scale, 3, 7 * scale),
    "block diffusion": lambda scale: block_diffusion(4, 14 * scale),
    "dilated": lambda scale: dilated(6, 3, 31 * scale),
}


def laid_out(pattern):
    q_len, k_len = pattern.lengths
    rows = [[[bool(pattern.allowed(b, i, j)) for j in range(k_len)] for i in range(q_len)] for b in range(BATCH[0])]
    return torch.tensor(rows)[:, None]


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_is_its_definition(name):
    pattern = PATTERNS[name](1)
    q_len, k_len = pattern.lengths
    found = pattern.mask.dense(Grid(q_len, k_len, 0, q_len, torch.device("cpu")))
    assert torch.equal(found.expand(*BATCH, q_len, k_len), laid_out(pattern).expand(*BATCH, q_len, k_len))


@pytest.mark.parametrize("backend", ["chunked", "cpu", "sdpa"])
@pytest.mark.parametrize("score", [scores.ScaledDot(), scores.Additive(torch.ones(4, dtype=torch.float64))])
@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_by_blocks_is_its_tensor(name, score, backend):
    if (type(score), backend) == (scores.Additive, "sdpa"):
        pytest.skip("torch's kernels know no additive score")
    pattern = PATTERNS[name](10)
    query, key = (drawn(*BATCH, length, 4, seed=length, dtype=torch.float64) for length in pattern.lengths)
    q_len, k_len = pattern.lengths
    dense = pattern.mask.dense(Grid(q_len, k_len, 0, q_len, torch.device("cpu")))
    found = []
    for mask, one in ((pattern.mask, backend), (dense.expand(*BATCH, q_len, k_len), "reference")):
        leaves = [tensor.clone().requires_grad_() for tensor in (query, key)]
        aux = None if backend == "sdpa" else AuxRequest(received=True)
        output = attend(*leaves, leaves[1], score=score, mask=mask, backend=one, aux=aux)
        output, received = (output, None) if aux is None else (output[0], output[1].received)
        found.append((output, received, torch.autograd.grad(output.square().sum(), leaves)))
    torch.testing.assert_close(*found)


@pytest.mark.parametrize(
    ("mask", "most"),
    [
        (natten(128, 8000).mask, 3),
        (sliding_tiles(64, 1, 8000).mask, 1.1),
        (flamingo(8000, 3, 2600).mask, 1.5),
        (block_diffusion(64, 4000).mask, 1.1),
        (dilated(128, 2, 8000).mask, 5),
    ],
    ids=["natten", "sliding tiles", "flamingo", "block diffusion", "dilated"],
)
def test_what_a_pattern_leaves_out_is_not_computed(mask, most):
    x = torch.zeros(*BATCH, 8000, 2)
    key = x[..., :7800, :] if isinstance(mask, masks.Intervals) and mask.start.ndim > 1 else x
    pairs = explain(x, key, key, mask=mask, score=scores.Additive(torch.ones(2))).pairs
    assert 0 < pairs.allowed <= pairs.computed <= most * pairs.allowed and pairs.computed < 0.4 * pairs.all
