import pytest
import torch

from saccade.cli import main
from studies import isolation as study
from studies.frame.digits import open_data
from studies.frame.direct import Budget
from studies.isolation import (
    EXACT,
    GATES,
    GRAPH,
    LEARNED,
    OPTIMIZERS,
    SOFT,
    SPARSE,
    STUDY,
    UNIFORM,
    WAYS,
    Findings,
    Mixture,
    compared,
    forgotten,
    graph,
)
from study_rows import complete, described, published, stored, write_mnist
from tiers import every

SPENT = {"steps": 9, "seconds": 1.5, "parameters": 1000}
LOST = {UNIFORM: 0.9, SOFT: 0.2, SPARSE: 0.0}
CPU = torch.device("cpu")


def made_up(lost=LOST, adam=0.9, deviation=2e-16, leak=0.0, same=True, seeds=3):
    """report.json of gates that lose shares of the first task; seeds differ by half a point if any is lost."""
    rows = [{"part": "graph", "model": way, "seed": 0, **graph(way)} for way in GRAPH]
    for seed in range(1, seeds + 1):
        for way in WAYS:
            about = {"part": "gradients", "model": way, "seed": seed, "zeros": 3, "values": 440}
            rows.append({**about, "deviation": deviation, "leak": leak})
        for optimizer in ("sgd", "adam"):
            for gate in (*GATES, *LEARNED):
                loss = lost.get(gate, 0.1)
                loss = adam if optimizer == "adam" and loss else loss
                about = {"part": "forgetting", "optimizer": optimizer, "model": gate, "seed": seed, "before": 0.95}
                about |= {"after": 0.95 - loss - 0.005 * seed * bool(loss), "second": 0.9}
                weight = 0.0 if gate == SPARSE else 0.1
                moved = {"own": 1 - weight, "weight": weight, "moved": weight, "same": same and gate == SPARSE}
                rows.append({**about, **moved, **SPENT})
    budget = {"max_steps": 9, "max_minutes": 1}
    runs = {
        str(place): {**{key: row[key] for key in ("model", "seed", *SPENT)}, "budget": budget}
        for place, row in enumerate(rows)
        if "steps" in row
    }
    about = {"report": "isolation", "command": "c", "arguments": {"data": "some digits"}, "runs": runs, "rows": rows}
    return {**about, "hardware": {"device": "cpu"}, "versions": {"torch": "2"}}


@every(
    ("changed", "result"),
    [
        ({}, "reproduced"),
        ({"seeds": 1}, "not decided"),
        ({"deviation": 2 * EXACT}, "contradicted"),
        ({"leak": 1e-300}, "contradicted"),
        ({"same": False}, "contradicted"),
        ({"lost": {**LOST, UNIFORM: 0.1}}, "contradicted"),
        ({"lost": {**LOST, SOFT: 0.0}}, "not decided"),
        ({"adam": 0.0}, "not decided"),
    ],
)
def test_the_numbers_decide(changed, result):
    assert Findings(made_up(**changed)).verdict.result == result


@every("way", WAYS)
def test_gradients_of_values_are_weight_times_outputs(way):
    result = compared(way, 3)
    assert result["deviation"] < 1e-15 and result["leak"] == 0 and result["values"] == 40 * 11
    assert (result["zeros"] > 50) is (way in ("sparsemax", "entmax 1.5", "softmax, masked"))


def test_a_gradient_that_leaks_is_measured(monkeypatch):
    def straight(scores, mask):
        """Read the largest score of each row, with the gradient of all scores."""
        hard = (scores == scores.amax(-1, keepdim=True)).to(scores.dtype)
        return hard + scores - scores.detach()

    monkeypatch.setattr(study, "WAYS", {"straight through": straight})
    assert compared("straight through", 1)["leak"] > 0


@pytest.mark.parametrize("way", GRAPH)
def test_a_graph_has_weights_and_gradients(way):
    result = graph(way)
    assert sum(result["weights"]) == pytest.approx(1) and result["told"] == 2
    assert result["gradients"] == pytest.approx([2 * weight for weight in result["weights"]])
    assert (0.0 in result["gradients"]) is (way == "sparsemax")


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """Forty images of noise, which a network can tell apart."""
    return open_data(str(write_mnist(tmp_path_factory.mktemp("data") / "m")))


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_zero_weights_keep_an_expert_bit_for_bit(optimizer, digits):
    uniform, soft, sparse = (
        forgotten(gate, optimizer, digits, 1, Budget(30, 5.0), CPU) for gate in (UNIFORM, SOFT, SPARSE)
    )
    assert sparse["same"] and sparse["moved"] == sparse["weight"] == 0 and sparse["before"] == sparse["after"]
    assert not soft["same"] and soft["moved"] > 0 and soft["weight"] == pytest.approx(0.1192, abs=1e-4)
    assert uniform["own"] == uniform["weight"] == 0.5 and uniform["steps"] == 60


@pytest.mark.slow
def test_by_sgd_a_small_weight_moves_an_expert_less(digits):
    gates = (UNIFORM, SOFT, "softmax, scores 4 and 0", "softmax, scores 8 and 0")
    sgd, adam = (
        [forgotten(gate, name, digits, 1, Budget(40, 5.0), CPU)["moved"] for gate in gates] for name in OPTIMIZERS
    )
    assert sgd == sorted(sgd, reverse=True) and sgd[0] > 50 * sgd[-1] and adam[-1] > 0.3 * adam[0]


@pytest.mark.parametrize("gate", LEARNED)
def test_gates_that_learn_are_measured(gate, digits):
    result = forgotten(gate, "adam", digits, 1, Budget(3, 5.0), CPU)
    assert 0.5 <= result["own"] <= 1 and 0 <= result["weight"] <= 1 and result["moved"] >= 0
    again = forgotten(gate, "adam", digits, 1, Budget(3, 5.0), CPU)
    assert {**again, "seconds": 0} == {**result, "seconds": 0}  # noise of a gate is that of the seed


def test_a_gate_of_the_task_weighs_its_experts():
    model, images = Mixture(9, *GATES[SOFT]), torch.rand(2, 9)
    answers = torch.stack([expert(images) for expert in model.experts])
    for task in range(2):
        output, weights, extra = model(images, task)
        expected = torch.tensor([2.0, 0.0]).softmax(0)[[task, 1 - task]]
        assert torch.allclose(weights, expected.expand(2, 2)) and float(extra) == 0
        assert torch.allclose(output, torch.einsum("e,ebc->bc", expected, answers), atol=1e-6)
    assert [len(model.expert(place)) for place in range(2)] == [4, 4]


def test_the_page_is_complete(tmp_path):
    words = ["Jacobs, Jordan, Nowlan, Hinton 1991", "**reproduced**", "Data: some digits.", "Trained by adam", "top 1"]
    words += ["within 2.0e-16", "| uniform | 2.0e-16 | 9 of 1,320 | 0.0e+00 |", "3 of 3 seeds by sgd and 3 of 3 seeds"]
    words += ["| gate | weight | first task, before | after | forgotten | second task | moved | same bits |"]
    words += ["| uniform | 0.1 | 95.0 ± 0.0 | 4.0 ± 1.2 | 91.0 ± 1.2 | 90.0 ± 0.0 | 0.1 | 0 of 3 |"]
    complete(STUDY, made_up(), tmp_path, words, "isolation", "isolation-graph")
    lost, graphs = (described(tmp_path / f"{name}.svg") for name in ("isolation", "isolation-graph"))
    assert "sgd: 91 at 0.1" in lost["desc"] and "0 at exactly 0" in lost["desc"]
    uniform = f"uniform, output's gradient 2.00: {', '.join(5 * ['weight 0.20 and gradient 0.40'])}; "
    assert graphs["title"] == "What values are told of the error" and graphs["desc"].startswith(uniform)
    sparse = "sparsemax, output's gradient 2.00: weight 0.70 and gradient 1.40, weight 0.00 and gradient 0.00"
    assert sparse in graphs["desc"]


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Two steps of every task, on few images."""
    monkeypatch.setattr(study, "BUDGET", Budget(2, 1.0))
    monkeypatch.setattr(study, "QUICK", Budget(2, 1.0))
    monkeypatch.chdir(tmp_path)
    write_mnist(tmp_path / "mnist")


def test_quick_makes_every_row_once_and_the_page(small, tmp_path, capsys):
    words = ["report", "isolation", "--quick", "--seeds", "1", "--threads", "1"]
    assert main(words) == 0
    folder = tmp_path / "reports/isolation-quick"
    rows = stored(folder)["rows"]
    assert [row["part"] for row in rows] == 3 * ["graph"] + 6 * ["gradients"] + 6 * ["forgetting"]
    assert [row["model"] for row in rows[-3:]] == [UNIFORM, SOFT, SPARSE] and rows[-1]["same"]
    assert "not decided: each value's gradient" in capsys.readouterr().out
    before = (folder / "report.json").read_bytes()
    assert main(words) == 0 and (folder / "report.json").read_bytes() == before
    assert "complete already" in capsys.readouterr().err


@pytest.mark.slow
def test_its_published_command_runs(small, tmp_path):
    assert main([*published("isolation-mnist"), "--seeds", "1", "--threads", "1"]) == 0
    assert [path.name for path in (tmp_path / "reports").iterdir()] == ["isolation-mnist"]
    assert len(stored(tmp_path / "reports/isolation-mnist")["rows"]) == 3 + 6 + 2 * 9


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--data no/such", "--data: "),
        ("--seeds 0", "--seeds: expected a number from 1 to 1000, got 0"),
        ("--quick --max-minutes 3", "--quick: expected no budget beside it"),
    ],
)
def test_options_without_meaning_are_rejected(words, message, rejects):
    rejects(f"isolation {words}", message)
