"""A batch is a function of the seed and the step, and what pads it changes nothing."""

import hashlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from saccade import runs
from saccade.tasks import load_task
from saccade.train.randomness import seeded
from tasks.laws.checks import parts, same
from tasks.laws.table import FIRST, TABLE, each_task, settings, shrink
from tiny import environment, python

STEPS = (3, 0, 17, 1, 16, 40)


def made(task, model, **more):
    """A task as training makes it, and a model of it."""
    kind = load_task(task)
    own = settings(task, model, **more)
    return kind.prepare(runs.options(kind, None, own.pop("model"), own))


def digest(task):
    """A hash of some batches."""
    made = hashlib.blake2b(digest_size=8)
    for step in STEPS[:2]:
        for tensor in parts(task.batch(step)):
            made.update(f"{tensor.dtype} {tuple(tensor.shape)}".encode() + tensor.numpy().tobytes())
    return made.hexdigest()


@pytest.mark.parametrize(("task", "model"), FIRST)
def test_a_batch_is_a_function_of_seed_and_step(task, model):
    first, second = made(task, model), made(task, model)
    forward = {step: first.batch(step) for step in STEPS}
    backward = {step: second.batch(step) for step in reversed(STEPS)}
    assert all(same(forward[step], backward[step]) for step in STEPS)
    assert all(same(forward[step], first.batch(step)) for step in STEPS)  # asked again, in another order
    assert not any(same(forward[step], forward[other]) for step in STEPS for other in STEPS if step < other)
    assert digest(made(task, model, seed=4)) != digest(first)


@pytest.mark.parametrize(("task", "model"), FIRST)
def test_a_batch_leaves_the_global_generator_alone(task, model):
    task = made(task, model)
    before = torch.random.get_rng_state()
    first = task.batch(2)
    assert torch.equal(before, torch.random.get_rng_state())
    torch.manual_seed(99)
    assert same(first, replace(task).batch(2))  # another object, which has made nothing yet


@pytest.mark.parametrize(("task", "model"), [case for case in FIRST if TABLE[case[0]].images])
def test_no_image_is_made_before_a_batch_is_asked_for(task, model, monkeypatch):
    task, seen = made(task, model), []
    kind, example = type(task.data), type(task.data).example
    monkeypatch.setattr(kind, "example", lambda self, *given: seen.append(given) or example(self, *given))
    assert task.sampler and not seen
    most = task.sampler.pool_examples + 1  # and the next, where as many images as fit have a text too few
    assert task.batch(0) and 0 < len(seen) <= most


@each_task
def test_a_restored_task_has_the_same_batches(run):
    model = run.trained.options.model
    again = load_task(run.task.name).restore(run.trained.options, run.folder)
    assert digest(again) == digest(made(run.task.name, model))


@pytest.mark.slow  # a process of its own
def test_another_process_makes_the_same_batches():
    command = python(Path(__file__), *(f"{task} {model}" for task, model in FIRST))
    place = {"PYTHONPATH": f"{environment()['PYTHONPATH']}:{Path(__file__).parents[2]}", "PYTHONHASHSEED": "5"}
    made_there = subprocess.run(command, env={**environment(), **place}, capture_output=True, text=True, check=True)
    assert made_there.stdout.split() == [digest(made(*case)) for case in FIRST]


def test_padding_changes_no_loss(run):
    batch, pad = run.task.batch(7), TABLE[run.task.name].pad
    if pad is None:  # all are of one size
        assert run.task.unit in ("images", "rows")
        return
    with torch.inference_mode():
        one, other = run.task.loss(run.model, batch), run.task.loss(run.model, pad(batch))
    assert one.count == other.count
    torch.testing.assert_close(one.total, other.total, atol=1e-4, rtol=1e-4)


def test_a_loss_moves_every_parameter_and_counts_units(run):
    model, batch = run.task.build(), run.task.batch(1)
    with seeded(1, "loss"):
        loss = run.task.loss(model.train(), batch)
    loss.total.backward()
    assert loss.total.ndim == 0 and bool(loss.total.isfinite()) and type(loss.count) is int and loss.count > 0
    assert [name for name, one in model.named_parameters() if one.requires_grad and one.grad is None] == []
    with seeded(1, "loss"):
        again = run.task.loss(model, batch.to(torch.device("cpu")))
    assert torch.equal(again.total, loss.total)  # what is random in it comes from the generator of all


def test_the_table_has_every_task_and_model():
    assert {task: set(load_task(task).models) for task in TABLE} == {
        task: set(entry.models) for task, entry in TABLE.items()
    }


if __name__ == "__main__":
    shrink()
    for case in sys.argv[1:]:
        sys.stdout.write(digest(made(*case.split())) + "\n")
