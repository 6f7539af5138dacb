from dataclasses import replace

import pytest
import torch

from saccade.reports.glimpses import noise as module
from saccade.reports.glimpses.noise import ESTIMATORS, noise
from saccade.tasks.glimpse import Glimpse
from saccade.train.task import options_class

SMALL = {"glimpses": 2, "patch": 4, "hidden_dim": 8, "glimpse_dim": 4, "batch_size": 16, "canvas": 32}


def task_of(model, **options):
    kind = options_class(Glimpse, model)
    return Glimpse.prepare(kind(model=model, data="translated", **SMALL, **options))


@pytest.fixture
def few(monkeypatch):
    for name, count in (("GROUPS", 2), ("DRAWS", 3), ("ROLLOUTS", 16)):
        monkeypatch.setattr(module, name, count)


def test_every_estimator_is_tried_at_the_same_weights(few):
    task = task_of("ram", baseline="learned", samples=1)
    model = task.build().eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    found = noise(task, model, 1)
    assert list(found) == list(ESTIMATORS) and all(len(one["batches"]) == 2 for one in found.values())
    assert all(found[name]["variance"] > 0 for name in ("learned", "moving-average"))
    assert 0 < found["moving-average"]["average"] < 1 and "average" not in found["learned"]
    assert noise(task, model, 1) == found != noise(task, model, 2)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert list(noise(replace(task, settings=replace(task.settings, samples=2)), model, 1)) == list(found)


@pytest.mark.parametrize("model", ["random", "soft-tiles"])
def test_what_learns_no_draws_has_no_noise(few, model):
    task = task_of(model)
    assert noise(task, task.build(), 1) == {}


def test_a_baseline_that_was_not_learned_is_not_tried(few):
    task = task_of("ram", baseline="moving-average", samples=1)
    assert list(noise(task, task.build(), 1)) == ["moving-average", "leave-one-out"]
