import pytest
import torch

from saccade import merge
from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError


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


@pytest.mark.parametrize(
    ("outputs", "lses", "error", "said"),
    [
        (3, [], ArgumentTypeError, "outputs: expected a sequence of tensors, got int"),
        ([torch.ones(1, 1)], 3, ArgumentTypeError, "lses: expected a sequence of tensors, got int"),
        ([torch.ones(1, 1, dtype=torch.int64)], [torch.zeros(1)], ArgumentTypeError, "outputs: expected floating"),
        ([torch.tensor(1.0)], [torch.tensor(1.0)], ShapeError, r"outputs: expected shape \(\.\.\., Lq, Dv\), got"),
        ([torch.ones(1, 1)], [torch.zeros(1, device="meta")], ArgumentError, "outputs: expected all parts on one"),
    ],
)
def test_what_are_no_parts_is_refused(outputs, lses, error, said):
    with pytest.raises(error, match=said):
        merge(outputs, lses)
