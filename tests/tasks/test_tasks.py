import pytest

from saccade.errors import SaccadeError
from saccade.tasks import TASKS, load_task


def test_every_task_of_the_table_can_be_loaded_and_names_its_parts():
    for name in TASKS:
        task = load_task(name)
        assert task.name == name and task.models and task.builtin and task.headline
        for model in task.models:
            assert task.options(model)(model=model, data=next(iter(task.builtin))).model == model


def test_a_task_that_is_not_there():
    with pytest.raises(SaccadeError, match="TASK: expected one of translate, classify-text, transcribe, got dance"):
        load_task("dance")
