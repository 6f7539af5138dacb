"""What mixtures return of their balance is collected, added to the loss of a step, and told of an evaluation."""

import pytest
import torch
from torch import nn

from saccade import look
from saccade.nn import MixtureOfExperts
from saccade.train.balance import balances, expert_shares, loads, with_balance, with_loads
from saccade.train.task import Evaluation, Loss


class Two(nn.Module):
    """Two mixtures, one after the other."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.ModuleDict({"experts": MixtureOfExperts(4, 3, 1)})
        self.second = nn.ModuleDict({"experts": MixtureOfExperts(4, 5, 2)})

    def forward(self, x):
        return self.second["experts"](self.first["experts"](x)[0])[0]


def test_what_each_call_returned_is_collected_while_the_block_runs():
    model, x = Two(), torch.randn(7, 4)
    with balances(model) as found:
        model(x)
        model(x[:2])
    model(x)
    assert [one.name for one in found] == ["first", "second"] * 2
    assert {name: int(taken.sum()) for name, taken in loads(found).items()} == {"first": 9, "second": 18}


def test_a_recorder_beside_it_changes_nothing():
    model, x = Two().eval(), torch.randn(7, 4)
    with balances(model) as found, look.record(model) as records:
        output = model(x)
    torch.testing.assert_close(output, model(x))
    assert [name for name, _ in records] == ["first.experts", "second.experts"]
    assert all(
        torch.equal((aux.weights > 0).sum(0), one.balance.taken) for (_, aux), one in zip(records, found, strict=True)
    )


def test_loss_has_that_of_all_mixtures_with_its_gradient():
    model = Two()
    with balances(model) as found:
        total = model(torch.randn(50, 4)).mean()
    loss = with_balance(Loss(total, 50), found)
    assert loss.count == 50
    torch.testing.assert_close(loss.total, total + found[0].balance.loss + found[1].balance.loss)
    loss.total.backward()
    assert model.first["experts"].noise_gate.grad.abs().sum() > 0


def test_an_evaluation_has_the_largest_load_and_the_shares():
    model = Two().eval()
    with torch.no_grad():
        model.first["experts"].gate[1, 0] = 9.0
    with balances(model) as found:
        model(torch.tensor([[1.0, 0, 0, 0], [1.0, 0, 0, 0], [-1.0, 0, 0, 0], [1.0, 0, 0, 0]]))
    result = with_loads(Evaluation({"accuracy": 0.5}, {"accuracy": {"a": 1.0}}), found)
    assert result.metrics["expert_load_first"] == pytest.approx(2.25)
    assert result.groups["expert_load_first"] == {"1": 0.25, "2": 0.75, "3": 0.0}
    assert (result.metrics["accuracy"], result.groups["accuracy"]) == (0.5, {"a": 1.0})
    assert set(expert_shares(result)) == {"validation_expert_load_first_shares", "validation_expert_load_second_shares"}


def test_a_model_without_mixtures_is_left_as_it_is():
    loss, result = Loss(torch.tensor(1.0), 3), Evaluation({"accuracy": 0.5})
    with balances(nn.Linear(2, 2)) as found:
        assert with_balance(loss, found) is loss and with_loads(result, found) is result
