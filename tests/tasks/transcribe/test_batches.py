import pytest
import torch

from saccade.tasks.transcribe.batches import Heard, Kept, pad, stretched


def heard(size, ids=(4,), value=1.0):
    return Heard("a", torch.full((size, 3), value), list(ids))


def test_utterances_are_padded_side_by_side():
    batch = pad([heard(4, [7, 8]), heard(2, [9])]).to(torch.device("cpu"))
    assert batch.lengths.tolist() == [4, 2] and batch.frames.shape == (2, 4, 3)
    assert float(batch.frames[1, 2:].abs().sum()) == 0 and float(batch.frames[1, :2].min()) == 1
    assert batch.target.tolist() == [[1, 7, 8, 2], [1, 9, 2, 0]]


def test_stretching_changes_the_time_alone_and_follows_from_its_draws():
    ramp = Heard("a", torch.linspace(0, 1, 200)[:, None].expand(200, 2).contiguous(), [5])
    found = stretched([ramp] * 50, 0.2, torch.Generator().manual_seed(3))
    sizes = {one.size for one in found}
    assert min(sizes) >= 160 and max(sizes) <= 240 and len(sizes) > 20
    for one in found:  # a straight line stays one, from end to end
        expected = torch.linspace(0, 1, one.size)
        torch.testing.assert_close(one.frames[:, 0], expected, atol=0.01, rtol=0)
        assert one.ids == [5] and one.name == "a"
    again = stretched([ramp] * 50, 0.2, torch.Generator().manual_seed(3))
    assert [one.size for one in again] == [one.size for one in found]


def test_one_frame_may_be_stretched():
    [one] = stretched([heard(1)], 0.5, torch.Generator().manual_seed(0))
    assert one.size >= 1 and bool((one.frames == 1).all())


@pytest.mark.parametrize(("most", "made"), [(1000, 3), (100, 5), (0, 6)])
def test_what_fits_is_made_once(most, made):
    kept, count = Kept(most), []

    def make(index):
        count.append(index)
        return heard(5, value=float(index))  # 60 bytes

    for index in (0, 1, 2, 0, 1, 2):
        assert float(kept.get(index, make).frames[0, 0]) == index
    assert len(count) == made


def test_what_is_not_wanted_is_asked_once():
    kept, count = Kept(0), []

    def make(index):
        count.append(index)

    assert kept.get(3, make) is None and kept.get(3, make) is None and count == [3]
