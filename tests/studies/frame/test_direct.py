import json

import pytest
import torch
from torch import nn

from saccade.errors import ArgumentError
from studies.frame import direct
from studies.frame.claims import Verdict
from studies.frame.direct import Budget, fit, job
from studies.frame.folder import ReportError
from studies.frame.options import Direct
from studies.frame.study import Study, Work, make


class Found:
    __module__ = "studies.a"
    verdict = Verdict("reproduced", "yes")

    def __init__(self, content):
        self.content = content

    def fields(self):
        return {"rows": [["seed"], *([str(row["seed"])] for row in self.content["rows"])]}


@pytest.fixture(autouse=True)
def empty(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def study_of(jobs, data="", decided=None):
    """A study of these jobs, whose page is a table of seeds."""
    texts = dict.fromkeys(("sentence", "title", "claim", "source"), "text")
    return Study(
        **texts,
        options=Direct,
        measure=lambda options: Work(jobs, decided or {}, data),
        compare=Found,
        plot=lambda result, folder: {},
        body="## Seeds\n\n{rows}\n\n## How it was measured\n\n{where}",
    )


def rows_of(folder):
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))["rows"]


def jobs_of(made, seeds, stop=None):
    def measure(seed):
        if seed == stop:
            raise KeyboardInterrupt
        made.append(seed)
        return {"right": 0.5, "steps": 3, "seconds": 1.0, "parameters": 7}

    return [
        job({"model": "m", "seed": seed}, lambda seed=seed: measure(seed), Budget(5, 1.0))
        for seed in range(1, seeds + 1)
    ]


def test_rows_are_made_once_and_go_on_where_they_were(tmp_path):
    made, options = [], Direct(seeds=3, threads=1)
    with pytest.raises(KeyboardInterrupt):
        make(study_of(jobs_of(made, 3, stop=3), "d", {"data": "f"}), options)
    text = make(study_of(jobs_of(made, 3), "d", {"data": "f"}), options).text
    assert text.startswith("Seeds\nseed\n1\n2\n3\n\nreproduced: yes.\nThe clock ended") and made == [1, 2, 3]
    again = make(study_of(jobs_of(made, 3), "d", {"data": "f"}), options)
    assert not again.fresh and len(rows_of(tmp_path / "reports/a-d")) == 3
    more = make(study_of(jobs_of(made, 4), "d", {"data": "f"}), Direct(seeds=4, threads=1))
    assert more.fresh and made == [1, 2, 3, 4]
    with pytest.raises(ReportError, match="made with --data f, not g"):
        make(study_of([], "d", {"data": "g"}), Direct(seeds=4))


def test_the_costs_of_a_training_are_an_entry_of_runs(tmp_path):
    make(study_of(jobs_of([], 1)), Direct(threads=1))
    content = json.loads((tmp_path / "reports/a/report.json").read_text(encoding="utf-8"))
    about = {"model": "m", "seed": 1, "steps": 3, "seconds": 1.0, "parameters": 7}
    assert content["runs"] == {"m-1": {**about, "budget": {"max_steps": 5, "max_minutes": 1.0}}}
    assert content["hardware"]["device"] == "cpu" and content["versions"]["torch"]


@pytest.mark.parametrize("optimizer", [torch.optim.Adam, torch.optim.SGD])
def test_a_model_is_fitted_in_so_many_steps(optimizer):
    torch.manual_seed(1)
    model, inputs = nn.Linear(3, 1), torch.randn(64, 3)
    wanted = inputs @ torch.tensor([[1.0], [-2.0], [0.5]])
    seen = []

    def loss(step):
        seen.append(step)
        return nn.functional.mse_loss(model(inputs), wanted)

    spent = fit(model, loss, Budget(300, 5.0), 0.1, optimizer)
    assert spent["steps"] == 300 and seen == list(range(300)) and not model.training
    assert float(loss(0).detach()) < 1e-3


def test_the_clock_ends_a_training(monkeypatch):
    now = iter(range(0, 1000, 20))
    monkeypatch.setattr(direct.time, "perf_counter", lambda: next(now))
    model = nn.Linear(1, 1)
    spent = fit(model, lambda step: model(torch.ones(1, 1)).sum(), Budget(100, 1.0), 0.1)
    assert spent == {"steps": 2, "seconds": 80}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"seeds": 0}, "--seeds: expected a number from 1 to 1000, got 0"),
        ({"max_steps": 0}, "--max-steps: expected a number above 0, got 0"),
        ({"max_minutes": -1.0}, "--max-minutes: expected a number above 0, got -1.0"),
        ({"quick": True, "max_steps": 5}, "--quick: expected no budget beside it"),
    ],
)
def test_options_that_mean_nothing(options, said):
    with pytest.raises(ArgumentError, match=said):
        Direct(**options)
