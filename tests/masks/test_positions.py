import pytest
import torch

from masks.drawn import dense
from saccade import attend, errors, masks
from tiers import every


@every(
    ("mask", "rows"),
    [
        (masks.Causal("start"), ["1000", "1100", "1110"]),
        (masks.Causal("end"), ["1100", "1110", "1111"]),
        (masks.Causal(-1), ["0000", "1000", "1100"]),
        (masks.Window(1, 0, "end"), ["1100", "0110", "0011"]),
        (masks.Window(None, 0, "start"), ["1000", "1100", "1110"]),
        (masks.Window(0, None, "start"), ["1111", "0111", "0011"]),
        (masks.Around(torch.tensor([0.5, 1.0, 9.0]), 1.0), ["1100", "1110", "0000"]),
        (masks.Lengths(torch.tensor(2)), ["1100"]),
        (masks.Prefix(3), ["1110"]),
        (masks.Documents(torch.tensor([0, 1, 1]), torch.tensor([0, 0, 1, 2])), ["1100", "0010", "0010"]),
        (~masks.Causal("start"), ["0111", "0011", "0001"]),
        (masks.Causal("start") | masks.Prefix(2), ["1100", "1100", "1110"]),
        (masks.Causal("start") & ~masks.Prefix(1), ["0000", "0100", "0110"]),
    ],
)
def test_drawn(mask, rows):
    assert dense(mask, q=3).int().tolist() == [[int(c) for c in row] for row in rows]


def test_a_block_of_queries_is_those_rows():
    mask = masks.Causal("end") & masks.Window(2, 0, "end")
    assert torch.equal(dense(mask, 5, 7, start=2, rows=2), dense(mask, 5, 7)[2:4])


def test_align_of_each_sequence_is_its_own():
    steps = torch.tensor([0, 3])
    mask = masks.Causal(steps)
    assert dense(mask, q=1, k=4).tolist() == [[[True, False, False, False]], [[True] * 4]]


def test_lengths_have_the_batch_dimensions_of_the_query():
    q, k = torch.randn(2, 3, 4, 8), torch.randn(2, 3, 5, 8)
    lengths = torch.tensor([5, 2])
    per_sequence = attend(q, k, k, mask=masks.Lengths(lengths[:, None]))
    torch.testing.assert_close(per_sequence[1], attend(q[1], k[1, :, :2], k[1, :, :2]))
    with pytest.raises(errors.ShapeError, match="lengths"):
        attend(q, k, k, mask=masks.Lengths(lengths))


@pytest.mark.parametrize("sides", [(0, 2**63 - 1), (2**63 - 1, 0)])
def test_a_window_so_wide_that_positions_would_wrap_is_refused(sides):
    with pytest.raises(errors.ArgumentError, match="(left|right): expected an int of at least 0 or None and at most"):
        masks.Window(*sides)


def test_lengths_of_bytes_count_more_keys_than_a_byte():
    x = torch.randn(2, 300, 4)
    lengths = torch.tensor([255, 3])
    found = attend(x, x, x, mask=masks.Lengths(lengths.to(torch.uint8)))
    assert torch.equal(found, attend(x, x, x, mask=masks.Lengths(lengths)))


@every("batch", [1, 1000])
@every("outside", [-1, 4])
def test_lengths_of_any_batch_are_within_the_keys(batch, outside):
    x, lengths = torch.randn(batch, 3, 2), torch.full((batch,), 3)
    assert attend(x, x, x, mask=masks.Lengths(lengths)).isfinite().all()
    lengths[-1] = outside
    with pytest.raises(errors.ArgumentError, match="expected lengths from 0 to Lk = 3, got some outside"):
        attend(x, x, x, mask=masks.Lengths(lengths))


def test_a_window_of_half_the_length_is_exported_for_every_length():
    class Half(torch.nn.Module):
        def forward(self, x):
            return attend(x, x, x, mask=masks.Window(x.shape[1] // 2, 0))

    shapes = ({1: torch.export.Dim("L", min=2)},)
    exported, x = torch.export.export(Half(), (torch.randn(2, 10, 4),), dynamic_shapes=shapes), torch.randn(2, 31, 4)
    assert torch.allclose(exported.module()(x), Half()(x), atol=1e-6)
