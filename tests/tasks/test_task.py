"""Tasks as values, and their jobs."""

import pytest

from saccade import runs
from saccade.tasks import TASKS, load_task
from saccade.tasks.task import AsTraining, Task

VALUES = [kind for kind in map(load_task, TASKS) if isinstance(kind, Task)]


class Numbers:
    labels = ("even", "odd")

    def size(self, split):
        return {"train": 3, "test": 2}[split]

    def example(self, split, index):
        return split, index

    def text(self, split, index):
        return f"{split} {index}"

    def about(self, number, split):
        return number, split


def test_any_split_may_stand_in_for_the_training_split():
    data = AsTraining(Numbers(), "test")
    assert (data.size("train"), data.example("train", 1), data.labels) == (2, ("test", 1), ("even", "odd"))
    assert (data.text("train", 1), data.about(1, "train")) == ("test 1", (1, "test"))


@pytest.mark.slow  # every task prepares its data
@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.name)
def test_examples_of_other_splits_are_training_samples(kind):
    job = kind.prepare(runs.options(kind, None, None, {"threads": 1}))
    sampler = job.sampler_of("validation")
    assert sampler.size == job.data.size("validation") and len(sampler.encode([0])) == 1
