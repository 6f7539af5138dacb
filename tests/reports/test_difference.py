import torch

from saccade.reports.difference import packed, unpacked
from tiers import every


@every("count", [1, 3, 4, 5, 17])
def test_which_images_were_right_is_packed_and_unpacked(count):
    right = [bool(bit) for bit in torch.randint(0, 2, (count,), generator=torch.Generator().manual_seed(count))]
    assert unpacked(packed(right), count) == right
