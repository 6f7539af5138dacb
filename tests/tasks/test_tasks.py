from dataclasses import replace

import pytest

from saccade import runs
from saccade._system.imports import find
from saccade.errors import SaccadeError
from saccade.tasks import TASKS, load_task
from saccade.tasks.classify_image import CLASSIFY_IMAGE
from saccade.tasks.task import AT_ONCE, Job
from saccade.tasks.task import Task as Value
from saccade.train.task import Kind, Task, options_class
from tiers import every


@every("name", TASKS)
def test_every_task_of_the_table_can_be_loaded_and_names_its_parts(name):
    task = load_task(name)
    assert task.name == name and task.models and task.builtin and task.headline and task.unit
    assert task.inputs in ("lines", "files") and (task.suffixes == ()) == (task.inputs == "lines")
    for model, where in task.models.items():
        assert find(where).recipes.keys() >= {"files"} and issubclass(options_class(task, model), task.Options)
        for data in task.builtin:
            assert runs.options(task, data, model, {}).model == model


def members(protocol):
    return {name for name in dir(protocol) if not name.startswith("_")} | set(protocol.__annotations__)


@every("name", TASKS)
def test_tasks_and_their_jobs_have_all_members(name):
    task = load_task(name)
    job = Job if isinstance(task, Value) else task
    assert members(Kind) <= set(dir(task)) and members(Task) <= set(dir(job)) | set(job.__dataclass_fields__)
    for member in members(Task) & set(dir(job)):
        part = getattr(job, member)
        assert (getattr(part, "__doc__", None) or "").strip() or not callable(part), member


def test_a_task_that_is_not_there():
    with pytest.raises(SaccadeError, match="TASK: expected one of translate, classify-text, transcribe, .*, got dance"):
        load_task("dance")


@pytest.fixture(scope="module")
def job():
    return CLASSIFY_IMAGE.prepare(runs.options(CLASSIFY_IMAGE, "shapes", "cnn", {"widths": "4"}))


def test_parts_of_a_task_may_depend_on_the_run(job):
    task = replace(
        CLASSIFY_IMAGE,
        headline=lambda options: f"of {options.data}",
        suffixes=lambda codec: (f".{len(codec.labels)}",),
        evaluate=lambda job, model, split, indices, request: (model, split, list(indices), request),
        joined=lambda job, model, others: replace(job.codec, labels=("a", "b")),
        at_once=7,
    )
    other = replace(job, task=task)
    assert (job.headline, job.suffixes, job.at_once) == ("accuracy", CLASSIFY_IMAGE.suffixes, AT_ONCE)
    assert (other.headline, other.suffixes, other.at_once) == ("of shapes", (".4",), 7)
    assert other.evaluate("model", "test", 0, "request") == ("model", "test", [], "request")
    model = job.build()
    assert job.join(model, [])[0].codec is job.codec and other.join(model, [])[0].codec.labels == ("a", "b")


def test_data_are_rejected_before_there_is_a_run(job):
    def rejected(job):
        raise SaccadeError(f"--data: nothing to learn in {job.settings.data}")

    with pytest.raises(SaccadeError, match="nothing to learn in shapes"):
        replace(CLASSIFY_IMAGE, sampler=rejected).prepare(job.settings)
