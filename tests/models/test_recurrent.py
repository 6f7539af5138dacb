import pytest
import torch

from models.translators import gru
from saccade.errors import ArgumentError
from saccade.kernels.gates import gated
from saccade.models.recurrent import LockedDropout, Options


def test_the_gated_unit_is_torchs():
    torch.manual_seed(0)
    cell = torch.nn.GRUCell(3, 5, dtype=torch.double)
    x, h = torch.randn(4, 3).double(), torch.randn(4, 5).double()
    entering, before = x @ cell.weight_ih.T + cell.bias_ih, h @ cell.weight_hh.T + cell.bias_hh
    torch.testing.assert_close(gated(entering, before, h), cell(x, h))
    torch.testing.assert_close(gated(entering, before, h), gru(entering, before, h))


@pytest.mark.parametrize(
    ("name", "value"),
    [("hidden_dim", 7), ("hidden_dim", 0), ("embedding_dim", 0), ("embedding_dim", 10**20), ("dropout", 1.0)],
)
def test_sizes_of_nothing_are_refused_by_name(name, value):
    with pytest.raises(ArgumentError, match=f"--{name.replace('_', '-')}"):
        Options(**{name: value})


def test_locked_dropout_drops_a_feature_at_all_steps_or_none():
    torch.manual_seed(0)
    dropped = LockedDropout(0.25)(torch.ones(400, 3, 7))
    assert torch.equal(dropped, dropped[:, :1].expand_as(dropped))
    torch.testing.assert_close(dropped.unique(), torch.tensor([0, 4 / 3]))
    assert abs(float(dropped.mean()) - 1) < 0.05
    assert torch.equal(LockedDropout(0.25).eval()(torch.ones(2, 3, 4)), torch.ones(2, 3, 4))
