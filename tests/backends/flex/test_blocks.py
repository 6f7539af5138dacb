import pytest
import torch

from saccade import masks
from saccade.backends.flex.blocks import block_mask
from saccade.backends.flex.folding import Fold
from saccade.structure import Grid


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
