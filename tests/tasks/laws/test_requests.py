"""What is asked beside the inputs: every option means something, and what means nothing is refused by its name."""

from dataclasses import fields

import pytest
import torch

from saccade import runs
from saccade.errors import SaccadeError
from saccade.tasks import load_task
from saccade.train.options import flag
from tasks.laws.table import FIRST, TABLE, each_task, questions, several
from tiers import every

VERBS = ("predict", "eval", "look")


def spied(kind, values, seen):
    """A request that notes which of its fields are read once it is made."""

    class Spy(kind):
        def __getattribute__(self, name):
            if name in names and object.__getattribute__(self, "__dict__").get("watched"):
                seen.add(name)
            return super().__getattribute__(name)

    names = {field.name for field in fields(kind)}
    request = Spy(**values)
    object.__setattr__(request, "watched", True)
    return request


@pytest.mark.parametrize("verb", ["predict", "look"])
@each_task
def test_every_option_is_read_by_something(run, verb, tmp_path, trained):
    entry = TABLE[run.task.name]
    if verb == "look" and entry.looked_model:
        run = trained(run.task.name, entry.looked_model)
    kind, seen = run.task.requests[verb], set()
    inputs = [run.task.read(line, 1) for line in questions(run.task, tmp_path, 1)]
    for values in entry.asked if verb == "predict" else entry.looked:
        request = spied(kind, values, seen)
        with torch.no_grad():
            run.task.check(run.model, request)
            run.task.answer(run.model, inputs, request, "json" if verb == "predict" else "pictures")
    assert seen == {field.name for field in fields(kind)}


@each_task
def test_options_of_evaluations_are_options_of_answers(run):
    names = [{field.name for field in fields(run.task.requests[verb])} for verb in VERBS]
    assert names[1] <= names[0] and issubclass(run.task.requests["predict"], run.task.requests["eval"])


@each_task
def test_every_option_has_a_default_and_a_help(run):
    from tyro._docstrings import get_field_docstring

    for verb in VERBS:
        kind = run.task.requests[verb]
        assert run.request(verb, {}) == kind()
        for field in fields(kind):
            assert (get_field_docstring(kind, field.name, ()) or "").strip(), field.name


@each_task
def test_values_of_other_kinds_are_refused_by_name(run):
    for verb in VERBS:
        for field in fields(run.task.requests[verb]):
            for value in (object(), ["a"], {}, b"x"):
                with pytest.raises(SaccadeError, match=f"^{flag(field.name)}: expected ") as error:
                    run.request(verb, {field.name: value})
                assert "\n" not in str(error.value)


@each_task
def test_an_option_that_there_is_not_is_refused(run):
    for verb in VERBS:
        message = f"nbets: saccade {verb} with a run of {run.task.name} has no such option"
        with pytest.raises(SaccadeError, match=message):
            run.request(verb, {"nbets": 2})
    if several(run.task, 1):
        with pytest.raises(SaccadeError, match="did you mean nbest"):
            run.predict([], nbets=2)


@each_task
def test_a_number_of_answers_out_of_range_is_refused(run, tmp_path):
    for count in (0, -1) if several(run.task, 1) else ():
        with pytest.raises(SaccadeError, match="^--nbest: expected a number from 1"):
            run.request("predict", {"nbest": count})
    if TABLE[run.task.name].classes:
        labels = len(run.predict(questions(run.task, tmp_path, 1), nbest=1)[0].to_json()["probabilities"])
        with pytest.raises(SaccadeError, match=f"--nbest: expected at most {labels}, as many labels as there are"):
            run.request("predict", {"nbest": labels + 1})


@every(("task", "model"), FIRST)
def test_recipes_make_the_options_of_a_run(task, model):
    kind = load_task(task)
    assert set(kind.recipes) == {*kind.builtin, "files"} and list(kind.requests) == list(VERBS)
    for name in TABLE[task].models:
        for data in (*kind.builtin, "some/file"):
            found = runs.options(kind, data, name, {})
            assert (found.model, found.data) == (name, data)
            with pytest.raises(SaccadeError, match="max_step: .*did you mean max_steps"):
                runs.options(kind, data, name, {"max_step": 3})
    with pytest.raises(SaccadeError, match=f"model: there is no {model}s; did you mean {model}?"):
        runs.options(kind, None, f"{model}s", {})
