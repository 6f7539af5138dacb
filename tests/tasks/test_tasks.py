import pytest

from saccade import runs
from saccade.errors import SaccadeError
from saccade.tasks import TASKS, load_task
from saccade.train.task import find, options_class
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


@every("name", TASKS)
def test_every_task_has_all_that_one_must_have(name):
    from saccade.train.task import Task

    members = {name for name in dir(Task) if not name.startswith("_")} | set(Task.__annotations__)
    task = load_task(name)
    assert members <= set(dir(task)) | set(task.__dataclass_fields__)
    for member in members & set(dir(task)):
        part = getattr(task, member)
        assert (getattr(part, "__doc__", None) or "").strip() or not callable(part), member


def test_a_task_that_is_not_there():
    with pytest.raises(SaccadeError, match="TASK: expected one of translate, classify-text, transcribe, .*, got dance"):
        load_task("dance")
