import pytest

from saccade.reports.isolation import gradients
from saccade.reports.isolation.gradients import GRAPH, WAYS, compared, graph
from tiers import every


@every("way", WAYS)
def test_values_are_weight_times_outputs(way):
    found = compared(way, 3)
    assert found["deviation"] < 1e-15 and found["leak"] == 0 and found["values"] == 40 * 11
    sparse = way in ("sparsemax", "entmax 1.5", "softmax, masked")
    assert (found["zeros"] > 50) is sparse


def test_a_gradient_where_nothing_is_read_is_found(monkeypatch):
    monkeypatch.setattr(gradients, "WAYS", {"straight through": lambda scores, mask: _straight(scores)})
    assert gradients.compared("straight through", 1)["leak"] > 0


def _straight(scores):
    """The largest of each row is read, and its gradient is that of all scores: straight through."""
    hard = (scores == scores.amax(-1, keepdim=True)).to(scores.dtype)
    return hard + scores - scores.detach()


@pytest.mark.parametrize("way", GRAPH)
def test_a_graph_has_the_numbers_that_are_drawn(way):
    found = graph(way)
    assert sum(found["weights"]) == pytest.approx(1) and found["told"] == 2
    assert found["gradients"] == pytest.approx([2 * weight for weight in found["weights"]])
    assert (0.0 in found["gradients"]) is (way == "sparsemax")
