"""Lightning's side: which batches a process takes, what is random in a step, and how the trainer is set."""

import itertools
import warnings

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


class Numbered:
    """A task whose batches are their steps."""

    def batch(self, step):
        return step


@pytest.mark.parametrize(("world", "step"), [(1, 0), (1, 7), (2, 0), (3, 5)])
def test_the_processes_share_the_batches_and_lose_none(engine, world, step):
    taken = [
        list(itertools.islice(engine._Steps(Numbered(), step, Ranks(rank=rank, world=world)), 4))
        for rank in range(world)
    ]
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
    ("changed", "expected"),
    [
        ({}, {"max_steps": 30, "precision": "32-true", "gradient_clip_val": 1.0}),
        ({"max_steps": None, "max_minutes": 1.0, "clip": 0.5}, {"max_steps": -1, "gradient_clip_val": 0.5}),
        ({"precision": "bf16"}, {"precision": "bf16-mixed"}),
    ],
)
def test_the_trainer_is_set_by_the_options_and_does_nothing_of_its_own(engine, changed, expected, monkeypatch):
    told = {}
    monkeypatch.setattr(engine.pl, "Trainer", lambda **settings: told.update(settings))
    options = line_options("run", **changed)
    engine._trainer(Training(None, None, options, torch.device("cpu")), None, [])
    assert {name: told[name] for name in expected} == expected
    assert told["accelerator"] == "cpu" and told["devices"] == 1 and told["deterministic"] is True
    assert not any(told[name] for name in ("logger", "enable_checkpointing", "enable_progress_bar"))


def test_the_steps_that_are_left_are_taken_and_no_more(engine, monkeypatch):
    told = {}
    monkeypatch.setattr(engine.pl, "Trainer", lambda **settings: told.update(settings))
    training = Training(None, None, line_options("run"), torch.device("cuda", 1), state=TrainState(step=12))
    engine._trainer(training, None, [])
    assert told["max_steps"] == 18 and told["accelerator"] == "gpu" and told["devices"] == [1]


def test_processes_agree_on_the_settings_of_lightning(engine):
    found = engine._several(Ranks(rank=3, world=4, local=1, here=2))
    assert (found["devices"], found["num_nodes"], found["use_distributed_sampler"]) == (2, 2, False)
