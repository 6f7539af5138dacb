import pytest
import torch

from saccade import nn
from studies.frame.reread import GATES, WAYS, _hidden


@pytest.fixture
def lstm():
    return nn.GatedLSTM(3, 6).double().lstm


def test_an_lstm_as_it_is_has_the_outputs_of_torch(lstm):
    inputs = torch.randn(2, 7, 3, dtype=torch.float64)
    torch.testing.assert_close(_hidden(lstm, inputs, 3, "as it is"), lstm(inputs)[0])


@pytest.mark.parametrize("way", GATES[1:])
def test_a_third_of_the_units_is_changed(lstm, way):
    inputs, mark = torch.randn(2, 7, 3, dtype=torch.float64), 3
    as_it_is, changed = (_hidden(lstm, inputs, mark, name) for name in ("as it is", way))
    first = mark if way.endswith("once") else 0
    torch.testing.assert_close(changed[:, :first], as_it_is[:, :first])
    differs = changed[:, first] != as_it_is[:, first]
    assert differs.sum(-1).tolist() == [2, 2]
    if way.startswith(("hide", "erase")):
        assert bool((changed[:, first][differs] == 0).all())
    else:
        assert bool((changed[:, first][differs].abs() > as_it_is[:, first][differs].abs()).all())


def test_an_erased_unit_starts_anew_and_a_hidden_one_goes_on(lstm):
    inputs = torch.randn(2, 7, 3, dtype=torch.float64)
    hidden, erased = (_hidden(lstm, inputs, 3, f"{way} shut once") for way in ("hide", "erase"))
    torch.testing.assert_close(hidden[:, 3], erased[:, 3])
    assert not torch.allclose(hidden[:, 4], erased[:, 4])


def test_ways_of_reading_keep_a_sum_of_one():
    weights = torch.rand(2, 3, 12, dtype=torch.float64).softmax(-1)
    for way, reweigh in WAYS.items():
        torch.testing.assert_close(reweigh(weights).sum(-1), weights.sum(-1), msg=way)
