"""What is asked beside the inputs: every option means something, and what means nothing is refused by its name."""

from dataclasses import fields

import pytest
import torch

from saccade import runs
from saccade.errors import SaccadeError
from saccade.tasks import load_task
from saccade.train.options import flag
from tasks.laws.table import FIRST, TABLE, questions, several

VERBS = ("predict", "eval", "look")
#: What makes the options of each verb count that only count beside others.
ASKED = {
    "translate": [{"sample": True}, {"beam_size": 3, "coverage_penalty": 0.2}, {"replace_unknown": True}],
    "transcribe": [{"sample": True}, {"beam_size": 3, "ctc_rescoring": 0.5}],
    "caption": [{"sample": True}, {"beam_size": 3, "coverage_penalty": 0.2}],
    "classify-text": [{"nbest": 2}],
    "classify-image": [{"nbest": 2}],
    "glimpse": [{"nbest": 2}, {"rollouts": 3}, {"likeliest": True}],
    "memorize": [{"nbest": 2, "cells": 7}],
    "regress": [{"coverage": 0.5}],
}
LOOKED = {"classify-image": [{}, {"by": "gradient", "label": "same"}], "classify-text": [{"layer": 1, "head": 1}]}
LAYERED = ("classify-text", "self-attention")


@pytest.fixture(params=FIRST, ids=" ".join)
def first(request, small, trained):
    return trained(*request.param)


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
def test_every_option_is_read_by_something(first, verb, tmp_path, trained):
    if verb == "look" and first.task.name == LAYERED[0]:
        first = trained(*LAYERED)
    kind, seen = first.task.requests[verb], set()
    inputs = [first.task.read(line, 1) for line in questions(first.task, tmp_path, 1)]
    for values in (ASKED if verb == "predict" else LOOKED).get(first.task.name, [{}]):
        request = spied(kind, values, seen)
        with torch.no_grad():
            first.task.check(first.model, request)
            first.task.answer(first.model, inputs, request, "json" if verb == "predict" else "pictures")
    assert seen == {field.name for field in fields(kind)}


def test_what_an_evaluation_is_asked_is_what_an_answer_is_asked(first):
    names = [{field.name for field in fields(first.task.requests[verb])} for verb in VERBS]
    assert names[1] <= names[0] and issubclass(first.task.requests["predict"], first.task.requests["eval"])


@pytest.mark.parametrize("verb", VERBS)
def test_nothing_asked_is_always_possible_and_every_option_is_explained(first, verb):
    kind = first.task.requests[verb]
    assert first.request(verb, {}) == kind()
    from tyro._docstrings import get_field_docstring

    for field in fields(kind):
        assert (get_field_docstring(kind, field.name, ()) or "").strip(), field.name


@pytest.mark.parametrize("verb", VERBS)
def test_values_of_other_kinds_are_refused_by_the_name_of_the_option(first, verb):
    kind = first.task.requests[verb]
    for field in fields(kind):
        for value in (object(), ["a"], {}, b"x"):
            with pytest.raises(SaccadeError, match=f"^{flag(field.name)}: expected ") as error:
                first.request(verb, {field.name: value})
            assert "\n" not in str(error.value)


@pytest.mark.parametrize("verb", VERBS)
def test_an_option_that_there_is_not_is_refused_with_what_there_is(first, verb):
    with pytest.raises(SaccadeError, match=f"nbets: saccade {verb} with a run of {first.task.name} has no such option"):
        first.request(verb, {"nbets": 2})
    if verb == "predict" and several(first.task, 1):
        with pytest.raises(SaccadeError, match="did you mean nbest"):
            first.predict([], nbets=2)


def test_more_or_fewer_answers_than_there_can_be_are_refused(first):
    for count in (0, -1) if several(first.task, 1) else ():
        with pytest.raises(SaccadeError, match="^--nbest: expected a number from 1"):
            first.request("predict", {"nbest": count})
    if "classify" in first.task.name:
        labels = len(first.predict(questions_of(first), nbest=1)[0].to_json()["probabilities"])
        with pytest.raises(SaccadeError, match=f"--nbest: expected at most {labels}, as many labels as there are"):
            first.request("predict", {"nbest": labels + 1})


def questions_of(run):
    example = run.task.example("test", 0)
    if run.task.inputs == "lines":
        return [example.text]
    path = run.folder.parent / f"asked{example.file[0]}"
    path.write_bytes(example.file[1])
    return [path]


@pytest.mark.parametrize(("task", "model"), FIRST)
def test_the_options_of_a_run_are_explained_and_its_recipes_name_some_that_there_are(task, model):
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
