import torch

from saccade import merge


def test_parts_that_are_empty_weigh_nothing():
    outputs = [torch.ones(2, 3), torch.full((2, 3), 7.0)]
    lses = [torch.zeros(2), torch.tensor([-torch.inf, -torch.inf])]
    assert torch.equal(merge(outputs, lses), outputs[0])
    assert (merge(outputs[1:], lses[1:]) == 0).all()


def test_merge_has_finite_gradients_where_every_part_is_empty():
    lse = torch.full((2,), -torch.inf, requires_grad=True)
    output = torch.zeros(2, 3, requires_grad=True)
    merge([output, output], [lse, lse]).sum().backward()
    assert lse.grad.isfinite().all() and output.grad.isfinite().all()
