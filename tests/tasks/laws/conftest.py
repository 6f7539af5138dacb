"""What the laws share: built-in data cut down, and a run of each model, trained once for all workers.

The first model of each task is in the fast tier, the others are slow.
"""

import os

import pytest
import torch
from filelock import FileLock

from saccade import runs
from tasks.laws.table import MARKED, missing, questions, settings, shrink


@pytest.fixture(autouse=True, scope="session")
def complete():
    """Every law fails while a task lacks its entry."""
    if sentence := missing():
        pytest.fail(sentence, pytrace=False)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """For one test at a time: other tests of the same process see the data as they are."""
    shrink(monkeypatch.setattr)


@pytest.fixture(autouse=True)
def quiet(capsys):
    """What training says is no matter here."""


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """Give the run of a task and a model: the first worker that needs it trains it, and no test may change it."""
    base = tmp_path_factory.getbasetemp()
    folder, loaded = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "laws", {}
    folder.mkdir(exist_ok=True)

    def run(task, model, **more):
        name = "-".join([task, model, *(f"{key}-{value}" for key, value in sorted(more.items()))])
        if name not in loaded:
            with FileLock(folder / f"{name}.lock"):
                if not (folder / name / "results.json").exists():
                    torch.manual_seed(0)
                    runs.train(task, run=folder / name, device="cpu", **settings(task, model, **more))
            loaded[name] = runs.load(folder / name, device="cpu")
        return loaded[name]

    return run


@pytest.fixture(params=MARKED)
def run(request, small, trained):
    """A run of every model; `each_task` leaves those of the first ones."""
    return trained(*request.param)


@pytest.fixture
def unsaved(monkeypatch):
    """Pictures are drawn but not rendered: their looks are tested elsewhere, and take their time."""
    monkeypatch.setattr("saccade.look._figure._saved", lambda figure, form: b'<svg width="1"></svg>')
    monkeypatch.setattr("saccade.look._overlays.word_by_word", lambda *given, **more: b"")


@pytest.fixture
def asked(run, tmp_path):
    """Some inputs of the run's task, as a shell would ask them."""
    folder = tmp_path / "asked"
    folder.mkdir()
    return questions(run.task, folder)
