import pytest
import torch

from models.translators import LENGTHS, SOURCE, TARGET
from saccade.models.padded import Padded
from saccade.models.rnnsearch import Options, RNNSearch
from saccade.reports.soft_hard import noise as module
from saccade.reports.soft_hard.noise import LEARNED, PAPER, estimators, noise
from saccade.tasks.translate import Translate
from saccade.tasks.translate.batches import Batch
from tiers import rest_slow


class Task(Translate):
    """Batches and models without a corpus."""

    def batch(self, step):
        return Batch(Padded(SOURCE, LENGTHS), TARGET)

    def build(self):
        return RNNSearch(13, 11, self.settings)


@pytest.fixture
def trained():
    def make(**options):
        settings = Options(hidden_dim=10, embedding_dim=6, **options)
        task = Task(settings, None, None)
        return task, task.build()

    return make


@pytest.mark.slow
def test_every_estimator_is_tried_at_the_same_weights(trained, monkeypatch):
    monkeypatch.setattr(module, "BATCHES", 2)
    task, model = trained(read="reinforce", samples=3)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    wanted = estimators(2, 0.1)
    found = noise(wanted, task, model, 1)
    assert list(found) == [name for name in wanted if name != PAPER]
    assert all(len(one["batches"]) == 2 for one in found.values())
    assert all(one["variance"] > 0 for one in found.values())
    assert noise(wanted, task, model, 1) == found != noise(wanted, task, model, 2)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


@pytest.mark.slow
def test_the_papers_estimator_is_right_but_noisier(trained):
    task, model = trained(**estimators(2, 0.1)[PAPER])
    model.reinforce.average.fill_(12.0)
    found = noise(estimators(2, 0.1), task, model, 1)
    assert list(found) == ["leave-one-out", PAPER, "straight-through"]
    assert found[PAPER]["variance"] > found["leave-one-out"]["variance"] > 0
    assert model.reinforce.average == 12.0


@pytest.mark.parametrize("options", rest_slow([{}, {"read": "straight-through"}, estimators(2, 0.1)["leave-one-out"]]))
def test_a_baseline_that_was_not_learned_is_not_tried(trained, options):
    task, model = trained(**options)
    assert list(noise(estimators(2, 0.1), task, model, 1)) == ["leave-one-out", "straight-through"]


def test_more_draws_for_a_sentence_are_less_noise(trained):
    task, model = trained(read="reinforce")
    few, many = (noise({LEARNED: estimators(samples, 0.1)[LEARNED]}, task, model, 1)[LEARNED] for samples in (2, 32))
    assert many["variance"] < few["variance"] / 4
