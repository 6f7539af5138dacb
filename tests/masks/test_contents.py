import pytest
import torch

from masks.drawn import dense
from saccade import attend, errors, masks, remember


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_centre_of_a_half_type_rounds_no_distance(dtype):
    center = torch.tensor([0.9941, 4096.0]).to(dtype)
    found = dense(masks.Around(center, 2.0), q=2, k=4200)
    exact = (torch.arange(4200) - center.double()[:, None]).abs() <= 2
    assert torch.equal(found, exact)
    assert exact.sum(1).tolist() == [3, 5]


@pytest.mark.parametrize(
    ("mask", "rows"),
    [
        (masks.Intervals(torch.tensor([0, 1, 3]), torch.tensor([2, 4, 3])), ["1100", "0111", "0000"]),
        (masks.Intervals(torch.tensor([-5, 2, 9]), torch.tensor([1, 99, 99])), ["1000", "0011", "0000"]),
        (masks.Intervals(1, torch.tensor([2, 3, 0], dtype=torch.uint8)), ["0100", "0110", "0000"]),
        (masks.Intervals(torch.tensor([2]), 4), ["0011"]),
        (masks.Intervals(1, 3), ["0110"]),
        (~masks.Intervals(1, 3) & masks.Causal("start"), ["1000", "1000", "1000"]),
    ],
    ids=str,
)
def test_intervals_drawn(mask, rows):
    assert dense(mask, q=3).int().tolist() == [[int(c) for c in row] for row in rows]


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize(
    ("offsets", "rows"),
    [
        ([0, 3, 4], ["1110", "1110", "1110", "0001"]),
        ([0, 0, 1, 1, 4, 4], ["1000", "0111", "0111", "0111"]),
        (([0, 2, 2, 4], [0, 0, 3, 4]), ["0000", "0000", "0001", "0001"]),
    ],
)
def test_packed_sequences_drawn(offsets, rows, dtype):
    sides = offsets if isinstance(offsets, tuple) else (offsets,)
    mask = masks.Packed(*(torch.tensor(side, dtype=dtype) for side in sides))
    assert dense(mask, q=4).int().tolist() == [[int(c) for c in row] for row in rows]


def test_packed_sequences_of_each_example():
    x, offsets = torch.randn(2, 3, 4, 8), torch.tensor([[0, 2, 4], [0, 1, 4]])[:, None]
    for output in (attend(x, x, x, mask=masks.Packed(offsets)), attend(x, x, x, mask=masks.Packed(offsets.int()))):
        torch.testing.assert_close(output[0, :, 2:], attend(*[x[0, :, 2:]] * 3))
        torch.testing.assert_close(output[1, :, :1], x[1, :, :1])


@pytest.mark.parametrize("backend", ["reference", "chunked", "cpu", "sdpa", "auto"])
def test_intervals_of_each_example(backend):
    x, start = torch.randn(2, 3, 4, 8), torch.tensor([[0, 0, 1, 4], [2, 2, 2, 2]])[:, None]
    found = attend(x, x, x, mask=masks.Intervals(start, start + 2), backend=backend)
    torch.testing.assert_close(found[1], attend(x[1], x[1, :, 2:], x[1, :, 2:]))
    torch.testing.assert_close(found[0, :, 2], attend(x[0], x[0, :, 1:3], x[0, :, 1:3])[:, 2])
    assert (found[0, :, 3] == 0).all()


@pytest.mark.parametrize(
    ("start", "error", "message"),
    [
        (1.5, errors.ArgumentTypeError, r"start of masks.Intervals: expected integers \(\.\.\., Lq\).*got float"),
        (True, errors.ArgumentTypeError, "start of masks.Intervals: .*got bool"),
        (torch.zeros(4), errors.ArgumentTypeError, "start of masks.Intervals: expected an integer tensor, got dtype"),
        (torch.zeros(5, dtype=torch.int64), errors.ShapeError, r"start of masks.Intervals: expected .* Lq = 4, got"),
        (torch.zeros(2, 4, dtype=torch.int64), errors.ShapeError, "no leading dimensions or all 2 of query"),
        (torch.zeros(4, dtype=torch.int64, device="meta"), errors.ArgumentError, "expected device cpu"),
    ],
)
def test_intervals_that_are_none(start, error, message):
    x = torch.zeros(2, 3, 4, 8)
    with pytest.raises(error, match=message):
        attend(x, x, x, mask=masks.Intervals(start, 3))


def test_a_memory_keeps_an_interval_that_is_one_for_all_queries():
    key = torch.randn(2, 5, 8)
    memory = remember(key, key, mask=masks.Intervals(1, 3))
    torch.testing.assert_close(memory.read(key), attend(key, key[:, 1:3], key[:, 1:3]))
    with pytest.raises(errors.ArgumentError, match="one of these keys alone"):
        remember(key, key, mask=masks.Intervals(torch.tensor([0]), 3))


@pytest.mark.parametrize("ends", [(-(2**70), 3), (0, 2**70)])
def test_intervals_beyond_64_bits_are_refused(ends):
    with pytest.raises(errors.ArgumentError, match="(start|end) of masks.Intervals: expected an int of at least"):
        masks.Intervals(*ends)
