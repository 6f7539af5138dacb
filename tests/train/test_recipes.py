"""What a run's options are where nobody says otherwise."""

import pytest

from saccade.tasks import TASKS, load_task
from saccade.train.recipes import defaults
from saccade.train.schedules import FALLING, SCHEDULES
from saccade.train.task import options_class, recipe
from tiny import Line

EVERY = [
    (task, model, data)
    for task in TASKS
    for model in load_task(task).models
    for data in (*load_task(task).builtin, "a/folder")
]


@pytest.mark.parametrize(("task", "model", "data"), EVERY)
def test_the_defaults_of_every_model_and_data_set_are_options_that_mean_something(task, model, data):
    kind = load_task(task)
    found = defaults(kind, model, data, {})
    chosen = options_class(kind, model)(**found)
    assert (chosen.model, chosen.data) == (model, data)
    assert chosen.max_steps is not None or chosen.max_minutes is not None


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("given", [{}, {"max_minutes": 3.0}, {"max_minutes": "3", "max_steps": "7"}, {"max_steps": 7}])
def test_whatever_is_given_of_those_that_decide_the_rest_fits_them(schedule, given):
    kind = load_task("translate")
    for data in (*kind.builtin, "a/folder"):
        found = defaults(kind, "rnnsearch", data, {**given, "schedule": schedule})
        horizon = {"schedule_steps": 90_000, **found} if schedule in FALLING else found
        chosen = options_class(kind, "rnnsearch")(**{**horizon, "schedule": schedule})
        assert schedule in FALLING or (chosen.schedule_steps is None and chosen.final_rate == 0)


def test_minutes_alone_lift_the_steps_and_steps_bring_their_own_limit():
    assert defaults(Line, "linear", "points", {})["max_steps"] == 30
    assert defaults(Line, "linear", "points", {"max_steps": 9})["max_steps"] == 30  # what is given replaces it later
    lifted = defaults(Line, "linear", "points", {"max_minutes": 5})
    assert lifted["max_steps"] is None and lifted["max_minutes"] > 0
    assert defaults(Line, "linear", "points", {"max_minutes": 5, "max_steps": 9})["max_steps"] == 30


def test_a_schedule_that_is_none_changes_nothing_and_is_left_to_the_options_to_refuse():
    kind = load_task("translate")
    plain = defaults(kind, "rnnsearch", "a/folder", {})
    assert defaults(kind, "rnnsearch", "a/folder", {"schedule": "cosin"}) == plain
    assert defaults(kind, "rnnsearch", "a/folder", {"schedule": None}) == plain


def test_the_model_has_the_last_word_and_what_it_has_not_is_left_out():
    assert recipe(Line, "linear", "elsewhere") == {"scale": 2.0, "width": 3}
    assert "unknown_to_some_models" in recipe(Line, "linear", "points")
    assert "unknown_to_some_models" not in defaults(Line, "linear", "points", {})
