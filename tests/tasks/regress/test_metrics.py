import pytest
import torch
from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score

from saccade.tasks.regress.metrics import measured


def test_measures_are_those_of_scikit_learn():
    wanted = torch.randn(50, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    found = wanted + 0.4 * torch.randn(50, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    metrics, parts = measured(found, wanted, torch.ones(3), [""] * 50)
    assert metrics["r2"] == pytest.approx(r2_score(wanted, found)) and parts == {}
    assert metrics["mae"] == pytest.approx(mean_absolute_error(wanted, found))
    assert metrics["mse"] == pytest.approx(mean_squared_error(wanted, found))


def test_groups_are_in_their_order_and_add_up():
    wanted = torch.arange(12.0, dtype=torch.float64)[:, None]
    groups = [("10", "2", "-1.5 to 0", "0 to 3")[n % 4] for n in range(12)]
    within = wanted < 6
    metrics, parts = measured(wanted + 1, wanted, torch.ones(1), groups, within, 0.9)
    assert list(parts["r2"]) == ["-1.5 to 0", "0 to 3", "2", "10"]
    assert sum(parts["r2"].values()) / 4 == pytest.approx(metrics["r2"])
    assert metrics["coverage"] == {"score": 0.5, "signature": "0.9 is expected"}


@pytest.mark.parametrize("number", [0.1, 0.0, 1e30])
def test_the_mean_of_answers_that_are_alike_may_be_another_number(number):
    """0.1 thrice has the mean 0.10000000000000002."""
    wanted = torch.full((3, 1), number, dtype=torch.float64)
    metrics, _ = measured(wanted + 0.5, wanted, torch.tensor([1.0]), [""] * 3)
    assert metrics["r2"] == pytest.approx(0.75 if number < 1 else 1.0)


def test_answers_are_compared_with_those_of_training():
    metrics, _ = measured(torch.ones(1, 1), torch.zeros(1, 1), torch.tensor([2.0]), [""])
    assert metrics["r2"] == pytest.approx(0.75)
