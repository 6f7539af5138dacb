import pytest
import torch

from reports.test_digits import write_mnist
from saccade.reports.digits import open_data
from saccade.reports.direct import Budget
from saccade.reports.isolation.forgetting import GATES, LEARNED, OPTIMIZERS, SOFT, SPARSE, UNIFORM, Mixture, forgotten

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """Forty images of noise, which can be told apart."""
    return open_data(str(write_mnist(tmp_path_factory.mktemp("data") / "m")))


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_zero_weights_keep_an_expert_bit_for_bit(optimizer, digits):
    found = {gate: forgotten(gate, optimizer, digits, 1, Budget(30, 5.0), CPU) for gate in (UNIFORM, SOFT, SPARSE)}
    assert found[SPARSE]["same"] and found[SPARSE]["moved"] == 0 and found[SPARSE]["weight"] == 0
    assert found[SPARSE]["before"] == found[SPARSE]["after"]
    assert (
        not found[SOFT]["same"]
        and found[SOFT]["moved"] > 0
        and found[SOFT]["weight"] == pytest.approx(0.1192, abs=1e-4)
    )
    assert found[UNIFORM]["own"] == found[UNIFORM]["weight"] == 0.5 and found[UNIFORM]["steps"] == 60


@pytest.mark.slow
def test_by_sgd_a_small_weight_moves_an_expert_less(digits):
    gates = (UNIFORM, SOFT, "softmax, scores 4 and 0", "softmax, scores 8 and 0")
    moved = {
        name: [forgotten(gate, name, digits, 1, Budget(40, 5.0), CPU)["moved"] for gate in gates] for name in OPTIMIZERS
    }
    assert moved["sgd"] == sorted(moved["sgd"], reverse=True) and moved["sgd"][0] > 50 * moved["sgd"][-1]
    assert moved["adam"][-1] > 0.3 * moved["adam"][0]


@pytest.mark.parametrize("gate", LEARNED)
def test_gates_that_learn_are_measured_too(gate, digits):
    found = forgotten(gate, "adam", digits, 1, Budget(3, 5.0), CPU)
    assert 0.5 <= found["own"] <= 1 and 0 <= found["weight"] <= 1 and found["moved"] >= 0


def test_the_gate_is_told_the_task_and_weighs_its_experts():
    model, images = Mixture(9, GATES[SOFT]), torch.rand(2, 9)
    for task in range(2):
        output, weights, extra = model(images, task)
        expected = torch.tensor([2.0, 0.0]).softmax(0)[[task, 1 - task]]
        assert torch.allclose(weights, expected.expand(2, 2)) and float(extra) == 0
        answers = torch.stack([expert(images) for expert in model.experts])
        assert torch.allclose(output, torch.einsum("e,ebc->bc", expected, answers), atol=1e-6)
    assert [len(model.expert(place)) for place in range(2)] == [4, 4]
