"""Lightning's side: which batches a process takes, what is random in a step, and how the trainer is set."""

import itertools
import warnings
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch

from saccade.train.fit import train
from saccade.train.randomness import derive
from saccade.train.ranks import Ranks
from saccade.train.results import Training, TrainState
from tiny import Line, line_options


@pytest.fixture
def engine():
    """The module, whose import takes Lightning's seconds."""
    from saccade.train import engine

    return engine


@pytest.mark.parametrize(("world", "step"), [(1, 0), (1, 7), (2, 0), (3, 5)])
def test_the_processes_share_the_batches_and_lose_none(engine, world, step):
    task, state = SimpleNamespace(batch=lambda step: step), TrainState(step)  # batches are their steps
    trainings = [Training(None, task, None, None, Ranks(rank=rank, world=world), state=state) for rank in range(world)]
    taken = [list(itertools.islice(engine._Steps(training), 4)) for training in trainings]
    assert sorted(itertools.chain(*taken)) == list(range(step * world, (step + 4) * world))
    assert all(own[0] == step * world + rank for rank, own in enumerate(taken))


def test_randomness_follows_from_seed_and_step(tmp_path, monkeypatch):
    drawn, original = {}, Line.loss

    def loss(self, model, batch):
        step = next((number for number in range(5) if torch.equal(batch, self.batch(number))), None)
        if step is not None:  # no batch that is measured
            drawn.setdefault(step, []).append(torch.initial_seed())
        return original(self, model, batch)

    monkeypatch.setattr(Line, "loss", loss)
    train(Line, line_options(tmp_path / "a", max_steps=3, validation_steps=50, seed=5))
    torch.manual_seed(99)
    train(Line, line_options(tmp_path / "a", max_steps=5, validation_steps=50, seed=5))
    assert drawn == {step: [derive(5, "step", step)] for step in range(5)}


def test_training_leaves_numbers_warnings_and_modes_alone(tmp_path):
    filters, precision = list(warnings.filters), torch.get_float32_matmul_precision()
    train(Line, line_options(tmp_path / "a", max_steps=2, matmul_precision="medium"))
    assert warnings.filters == filters and torch.get_float32_matmul_precision() == precision
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize(
    ("changed", "device", "step", "expected"),
    [
        ({}, "cpu", 0, {"max_steps": 30, "precision": "32-true", "gradient_clip_val": 1.0}),
        ({"max_steps": None, "max_minutes": 1.0, "clip": 0.5}, "cpu", 0, {"max_steps": -1, "gradient_clip_val": 0.5}),
        ({"precision": "bf16"}, "cpu", 0, {"precision": "bf16-mixed", "accelerator": "cpu", "devices": 1}),
        ({}, "cuda:1", 12, {"max_steps": 18, "accelerator": "gpu", "devices": [1]}),  # the steps that are left
    ],
)
def test_the_trainer_is_set_by_the_options_and_does_nothing_of_its_own(
    engine, changed, device, step, expected, monkeypatch
):
    set_to, options = {}, line_options("run", **changed)
    monkeypatch.setattr(engine.pl, "Trainer", lambda **settings: set_to.update(settings) or Mock())
    training = Training(None, None, options, torch.device(device), model=Mock(), state=TrainState(step=step))
    engine._fit(training, None, [])
    assert set_to.items() >= expected.items() and set_to["deterministic"] is True
    assert not any(set_to[name] for name in ("logger", "enable_checkpointing", "enable_progress_bar"))


def test_processes_agree_on_the_settings_of_lightning(engine):
    found = engine._several(Ranks(rank=3, world=4, local=1, here=2))
    assert (found["devices"], found["num_nodes"], found["use_distributed_sampler"]) == (2, 2, False)
