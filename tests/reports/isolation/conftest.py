import pytest

from saccade.reports.isolation.forgetting import GATES, LEARNED, SOFT, SPARSE, UNIFORM
from saccade.reports.isolation.gradients import GRAPH, WAYS, graph

SPENT = {"steps": 9, "seconds": 1.5, "parameters": 1000}
LOST = {UNIFORM: 0.9, SOFT: 0.2, SPARSE: 0.0}


def made_up(lost=LOST, adam=0.9, deviation=2e-16, leak=0.0, same=True, seeds=3):
    """report.json of gates that lose shares of the first task; seeds differ by half a point where some is lost."""
    rows = [{"part": "graph", "model": way, "seed": 0, **graph(way)} for way in GRAPH]
    for seed in range(1, seeds + 1):
        for way in WAYS:
            about = {"part": "gradients", "model": way, "seed": seed, "zeros": 3, "values": 440}
            rows.append({**about, "deviation": deviation, "leak": leak})
        for optimizer in ("sgd", "adam"):
            for gate in (*GATES, *LEARNED):
                found = lost.get(gate, 0.1)
                found = adam if optimizer == "adam" and found else found
                about = {"part": "forgetting", "optimizer": optimizer, "model": gate, "seed": seed, "before": 0.95}
                kept = same and gate == SPARSE
                about |= {"after": 0.95 - found - 0.005 * seed * bool(found), "second": 0.9, "same": kept}
                weight = 0.0 if gate == SPARSE else 0.1
                rows.append({**about, "own": 1 - weight, "weight": weight, "moved": weight, **SPENT})
    runs = {
        str(place): {
            **{key: row[key] for key in ("model", "seed", *SPENT)},
            "budget": {"max_steps": 9, "max_minutes": 1},
        }
        for place, row in enumerate(rows)
        if "steps" in row
    }
    where = {"hardware": {"device": "cpu"}, "versions": {"torch": "2"}}
    arguments = {"data": "some digits"}
    return {"report": "isolation", "command": "c", "arguments": arguments, "runs": runs, "rows": rows, **where}


@pytest.fixture
def content():
    """A report whose claim holds."""
    return made_up()
