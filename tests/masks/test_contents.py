import pytest
import torch

from masks.drawn import dense
from saccade import masks


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_centre_of_a_half_type_rounds_no_distance(dtype):
    center = torch.tensor([0.9941, 4096.0]).to(dtype)
    found = dense(masks.Around(center, 2.0), q=2, k=4200)
    exact = (torch.arange(4200) - center.double()[:, None]).abs() <= 2
    assert torch.equal(found, exact)
    assert exact.sum(1).tolist() == [3, 5]
