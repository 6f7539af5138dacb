"""What the laws share: built-in data cut down, and a run of each model, trained once for all of them."""

import pytest
import torch

from saccade import runs
from tasks.laws.table import CASES, questions, settings, shrink


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """For one test at a time: other tests of the same process see the data as they are."""
    shrink(monkeypatch.setattr)


@pytest.fixture(autouse=True)
def quiet(capsys):
    """What training says is no matter here."""


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """Gives the run of a task and a model, trained when it is first asked for and not to be changed."""
    folder, found = tmp_path_factory.mktemp("laws"), {}

    def run(task, model, **more):
        key = (task, model, *sorted(more.items()))
        if key not in found:
            place = folder / f"{task}-{model}-{len(found)}"
            torch.manual_seed(0)
            found[key] = runs.train(task, run=place, device="cpu", **settings(task, model, **more))
        return found[key]

    return run


@pytest.fixture(params=CASES, ids=" ".join)
def run(request, small, trained):
    return trained(*request.param)


@pytest.fixture
def asked(run, tmp_path):
    """Some inputs of the run's task, as a shell would ask them."""
    folder = tmp_path / "asked"
    folder.mkdir()
    return questions(run.task, folder)
