import pytest
import torch
from torch.nn.attention.flex_attention import create_block_mask

from laws.case import Case
from laws.table import MASKS, Sizes
from saccade import masks
from saccade._definitions.structure import Grid
from saccade.backends.flex.blocks import block_mask
from saccade.backends.flex.folding import Fold
from saccade.backends.flex.points import permitted
from saccade.masks import as_mask
from tiers import every


def folded(q_len, k_len, batch=(2, 3)):
    return Fold(batch, 1, 0, Grid(q_len, k_len, 0, q_len, torch.device("cpu")), torch.float32)


def brute(mask, fold, size):
    """Which blocks hold an allowed pair, and which hold nothing else and end before the last query and key."""
    lengths = fold.grid.q_len, fold.grid.k_len
    allowed = mask.dense(fold.grid).expand(*fold.batch, *lengths)
    padded = torch.nn.functional.pad(allowed, (0, -lengths[1] % size, 0, -lengths[0] % size))
    parts = padded.unflatten(-1, (-1, size)).unflatten(-3, (-1, size)).transpose(-3, -2)
    return parts.any((-2, -1)), parts.all((-2, -1))


@pytest.mark.parametrize("mask", [masks.Causal("end"), masks.Window(2, 1, "start"), masks.Prefix(0)], ids=str)
def test_torchs_block_mask_lists_the_blocks(mask):
    fold, size = folded(11, 13), 3
    some, full = brute(mask, fold, size)
    made = block_mask(mask, fold, size)
    assert made.seq_lengths == (11, 13) and made.BLOCK_SIZE == (3, 3) and made.shape == (1, 1, 11, 13)
    assert torch.equal(made.to_dense()[0, 0].bool(), some[0, 0])
    assert torch.equal(made.full_kv_num_blocks[0, 0].long(), full[0, 0].sum(-1))
    first = made.full_kv_indices[0, 0, -2, : int(made.full_kv_num_blocks[0, 0, -2])]
    assert first.tolist() == full[0, 0, -2].nonzero()[:, 0].tolist()


REFUSED = ("where_batch",)
"""What flex does not serve: its kernels know scalars alone (`points.unknown`)."""

ESTIMATED = ("around", "documents", "composed")
"""Masks, with centres and documents in no order, of which the map may know no more than that a pair may be allowed."""


def listed(counts, indices):
    """Blocks `(B, H, query blocks, key blocks)`, from how many there are in each row, and which."""
    found = torch.zeros(indices.shape, dtype=torch.bool)
    first = torch.arange(indices.shape[-1]) < counts[..., None]
    return found.scatter(-1, indices.long(), first)


def assert_listed(mask, exactly):
    """As torch's own `create_block_mask` lists them of the same function of one query and one key."""
    fold, size, found = folded(11, 13), 3, []
    made = block_mask(mask, fold, size)
    truth = create_block_mask(permitted(mask, fold), 2, 3, 11, 13, device="cpu", BLOCK_SIZE=size)
    for one in (made, truth):
        partly = listed(one.kv_num_blocks, one.kv_indices).expand(2, 3, -1, -1)
        full = listed(one.full_kv_num_blocks, one.full_kv_indices).expand(2, 3, -1, -1)
        assert not (partly & full).any()
        found.append((partly | full, full))
    (looked_at, full), (needed, filled) = found
    assert (looked_at | ~needed).all() and (filled | ~full).all()
    assert not exactly or (torch.equal(looked_at, needed) and torch.equal(full, filled))


@every("inverted", [False, True])
@every("name", [name for name in MASKS if name not in ("none", *REFUSED)])
def test_the_lists_are_those_that_torch_makes(name, inverted):
    case = Case(mask=name, sizes=Sizes((2, 3), 11, 13))
    mask = as_mask(MASKS[name].build(**case.of("mask", case.inputs())))
    assert_listed(~mask if inverted else mask, name not in ESTIMATED)


@pytest.mark.parametrize(
    "mask",
    [
        masks.Documents(torch.arange(11) // 4, torch.arange(13) // 4),
        masks.Around(torch.arange(11) * 1.1, 2.0),
        masks.Causal("end") & masks.Lengths(torch.tensor([[5], [13]])),
    ],
    ids=["documents", "around", "causal lengths"],
)
def test_in_order_they_are_exactly_those(mask):
    assert_listed(mask, exactly=True)
