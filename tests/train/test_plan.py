"""Budgets in minutes: what is planned, what follows from it, and that a run keeps it."""

import json
import time
from dataclasses import replace

import pytest
import torch

from saccade.train import plan as plans
from saccade.train.fit import _Request, _smaller, train
from saccade.train.options import Options
from saccade.train.plan import Plan, Speed, example_seconds, fitted, make_plan, sentence
from saccade.train.recipes import defaults, suit
from saccade.train.results import Sizes, TrainState, final_seconds, sizes
from saccade.train.run import Run, RunError
from saccade.train.task import Evaluation, Suited, options_class
from tiny import Line, equal
from tiny import line_options as options

COSINE = {"schedule": "cosine", "schedule_steps": 4400, "warmup_steps": 400, "final_rate": 0.02}


def planned(minutes, speed=None, given=(), **changed):
    chosen = Options(**{"max_steps": None, "max_minutes": minutes, **COSINE, **changed})
    plan = make_plan(chosen, given, 4400, speed or Speed(0.5, 0.01), Sizes(500, 500), 10.0)
    return plan, fitted(chosen, plan.options, given)


def test_a_schedule_fits_the_minutes_with_six_validations():
    plan, chosen = planned(12)
    counted = 10 + plan.steps * 0.5 + 6 * 5.0 + 10.0
    assert 720 - 0.5 <= counted <= 720 and not plan.whole
    assert chosen.schedule_steps == plan.steps and chosen.max_steps is None
    assert chosen.warmup_steps == pytest.approx(400 * plan.steps / 4400, abs=1)
    assert plan.steps // chosen.validation_steps == 6 and plan.steps // chosen.checkpoint_steps == 8
    warmup = pytest.approx(1 / 11, abs=1e-3)
    assert plan.clock == {"warmup": warmup, "validation_steps": 0.16, "checkpoint_steps": 500 / 4400}
    rounded = round(plan.steps, 2 - len(str(plan.steps)))
    assert sentence(plan).startswith(f"about {rounded:,} of the recipe's 4,400 steps fit into 12 minutes, valid")


@pytest.mark.parametrize("schedule", ["inverse-sqrt", "constant"])
def test_a_schedule_without_an_end_has_a_shorter_warmup_and_no_horizon(schedule):
    _, chosen = planned(12, schedule=schedule, schedule_steps=None, final_rate=0.0)
    assert 0 < chosen.warmup_steps < 400 and chosen.schedule_steps is None
    longer, chosen = planned(120, schedule=schedule, schedule_steps=None, final_rate=0.0)
    assert longer.whole and longer.steps > 4400 and chosen.max_steps is None and chosen.warmup_steps == 400
    assert "(the recipe has 4,400) fit into 120 minutes" in sentence(longer)


def test_where_recipe_fits_it_stays_as_it_is_and_ends_run():
    plan, chosen = planned(60)
    assert plan.whole and chosen.max_steps == 4400 == chosen.schedule_steps and chosen.warmup_steps == 400
    assert chosen.validation_steps == chosen.checkpoint_steps == 500
    assert "all of the recipe's 4,400 steps fit into 60 minutes: the run ends with them" in sentence(plan)


@pytest.mark.parametrize(
    ("given", "value"),
    [
        *[("warmup_steps", 700), ("validation_steps", 7), ("checkpoint_steps", 9), ("validation_examples", 50)],
        ("schedule_steps", 9000),
    ],
)
def test_what_is_given_stays_as_it_is_given(given, value):
    plan, chosen = planned(12, given=(given, "max_minutes"), **{given: value})
    assert getattr(chosen, given) == value and given not in plan.options
    horizon = {"warmup_steps": max(plan.steps, 701), "schedule_steps": 9000}.get(given, plan.steps)
    assert chosen.schedule_steps == horizon
    assert given != "schedule_steps" or (chosen.warmup_steps, chosen.max_steps) == (400, None)
    assert given not in plan.clock and ("warmup" in plan.clock) is (given != "schedule_steps")
    assert given != "warmup_steps" or plan.clock["warmup"] == 0  # in steps


def test_validations_that_are_given_count_as_often_as_they_are():
    plan, chosen = planned(12, given=("validation_steps",), validation_steps=7)
    counted = 10 + plan.steps * 0.5 + plan.steps // 7 * 5.0 + 10.0
    assert 720 - 2 * 5.5 <= counted <= 720 and chosen.schedule_steps == plan.steps
    plan, _ = planned(120, given=("validation_steps",), validation_steps=100)
    assert plan.seconds["all"] == 10 + 4400 * 0.5 + 44 * 5.0 + 10 and "after about 40:40" in sentence(plan)


def test_slow_validations_leave_time_to_train():
    plan, chosen = planned(12, Speed(0.5, 0.2))
    assert 6 * 0.2 * chosen.validation_examples <= 0.12 * 720 and plan.steps > 500
    plan, chosen = planned(12, average=4)
    assert plan.clock["checkpoint_steps"] == 1 / 20 and chosen.checkpoint_steps == round(plan.steps / 20)


def test_the_final_evaluation_is_counted_and_shortens_training_by_half_of_the_minutes_at_most():
    chosen = Options(max_minutes=1.0)
    assert final_seconds(0.01, Sizes(100, 200), chosen) == 3.0
    assert final_seconds(0.01, Sizes(100, 200), replace(chosen, average=2)) == 4.0
    plan, _ = planned(1, Speed(0.5, 9.0))
    assert plan.seconds["final"] == 30.0
    assert sizes(Line(options("")), options("")) == Sizes(5, 5)
    state = TrainState(10, seconds=50.0, reserve=10.0)
    assert state.spent(replace(chosen, max_steps=None)) and not replace(state, reserve=9.0).spent(chosen)


def minutes(folder, budget=1e-3, **changed):
    """Train for some minutes, as a command does that gives them alone."""
    falling = {"schedule": "linear", "schedule_steps": 10**6, "warmup_steps": 10**5, "final_rate": 0.1}
    chosen = options(folder, **{"max_steps": None, "max_minutes": budget, **falling, **changed})
    return train(Line, chosen, given={"max_minutes", *changed})


def test_a_run_has_its_plan_and_keeps_it(tmp_path, capsys):
    first = minutes(tmp_path / "a")
    assert "of the recipe's 1,000,000 steps fit into 0.001 minutes" in capsys.readouterr().err
    config = json.loads((tmp_path / "a/config.json").read_text())
    chosen, plan = config["options"], config["plan"]["options"]
    assert {name: chosen[name] for name in plan} == plan and chosen["schedule_steps"] < 10**6
    assert not minutes(tmp_path / "a").fresh  # though some of its minutes were kept for the evaluation
    later = minutes(tmp_path / "a", budget=9.0, max_steps=first.step + 3)
    assert later.step == first.step + 3 and json.loads((tmp_path / "a/config.json").read_text()) == config
    with pytest.raises(RunError, match=r"--schedule-steps \d+, not 1000000"):
        minutes(tmp_path / "a", schedule_steps=10**6)


@pytest.mark.slow
def test_resumed_a_planned_run_is_the_one_that_was_not_interrupted(tmp_path, monkeypatch):
    budget = {"max_steps": 40, "max_minutes": None}
    minutes(tmp_path / "a")
    for name in ("whole", "parts"):  # two runs of one plan
        (tmp_path / name).mkdir()
        for file in ("config.json", "line.json"):
            (tmp_path / name / file).write_bytes((tmp_path / "a" / file).read_bytes())
    minutes(tmp_path / "whole", **budget)
    minutes(tmp_path / "parts", **{**budget, "max_steps": 17})
    minutes(tmp_path / "parts", **budget)
    assert equal(tmp_path / "whole", tmp_path / "parts")


@pytest.mark.slow
def test_planning_leaves_no_trace_in_what_is_learned(tmp_path):
    minutes(tmp_path / "a", max_steps=20)
    fixed = {"warmup_steps": 5, "schedule_steps": 20, "validation_steps": 4, "checkpoint_steps": 4}
    minutes(tmp_path / "b", budget=0.01, **fixed)
    end = json.loads((tmp_path / "b/results.json").read_text())["steps"]
    falling = {"schedule": "linear", "final_rate": 0.1, **fixed}
    train(Line, options(tmp_path / "c", max_steps=end, **falling))
    assert equal(tmp_path / "b", tmp_path / "c")


def sized(folder, smaller=None, **changed):
    """Train for some minutes, of whose recipe hardly a step fits; a smaller one has narrower points."""
    falling = {"schedule": "linear", "schedule_steps": 10**7, "final_rate": 0.1}
    last = Suited({"width": 2, "scale": 3.0, "warmup_steps": 10**4, **falling}, "the recipe for tiny points")
    less = Suited({"width": 3, "warmup_steps": 10**4, **falling}, "the recipe for small points", None, last)
    usual = Suited({"width": 4, **falling}, "many points", None, smaller or less)
    named = {"max_minutes": 1e-3, "run": str(folder), "validation_steps": 7, "device": "cpu", **changed}
    given = {"max_minutes", "validation_steps", "device", "run", *changed}
    return train(Line, options(**{"max_steps": None, **falling, **named}), suited=usual, given=given)


def test_few_steps_take_a_smaller_recipe(tmp_path, capsys):
    first = sized(tmp_path / "a")
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if line.startswith("the recipe")] == ["the recipe for tiny points"]  # at once
    assert lines[0] == "many points" and lines[1].endswith("; a smaller model learns more in them:")
    run = Run.open(tmp_path / "a")
    chosen, plan = run.config["options"], run.config["plan"]
    assert (chosen["width"], chosen["scale"], chosen["validation_steps"]) == (2, 3.0, 7)
    assert chosen["warmup_steps"] == pytest.approx(plan["steps"] / 1000, abs=1)
    assert {name: chosen[name] for name in plan["options"]} == plan["options"]
    named = {"max_minutes": 1e-3, "run": str(tmp_path / "a"), "validation_steps": 7, "device": "cpu"}
    usual = suit(Line, "linear", "points", named)
    again = options_class(Line, "linear")(**{**defaults(Line, "linear", "points", named, usual), **named})
    assert first.fresh and not train(Line, again, suited=usual, given=set(named)).fresh  # of the same command


@pytest.mark.parametrize(("steps", "reason"), [(400, None), (399, "smaller"), (200, "smaller"), (199, "smallest")])
def test_fewer_than_two_fifths_of_the_steps_take_the_next_recipe_and_half_of_that_the_smallest(steps, reason, tmp_path):
    recipes = Suited(
        {"width": 4}, "usual", None, Suited({"width": 3}, "smaller", None, Suited({"width": 2}, "smallest"))
    )
    request = _Request(Line, options(tmp_path, max_minutes=1.0), None, recipes, (), 0.0)
    found = _smaller(request, recipes, Plan(1.0, steps, 1000, False, {}, {}))
    assert (found and found[1].reason) == reason
    assert _smaller(request, recipes, Plan(1.0, steps, 1000, True, {}, {})) is None  # all steps fit


def test_given_options_stay_in_a_smaller_recipe(tmp_path, capsys):
    sized(tmp_path / "a", width=4)
    chosen = Run.open(tmp_path / "a").config["options"]
    assert (chosen["width"], chosen["scale"]) == (4, 3.0)
    capsys.readouterr()
    sized(tmp_path / "b", schedule_steps=100, max_steps=10)  # steps of its own: nothing is planned
    assert capsys.readouterr().err.splitlines()[0] == "many points"
    less = Suited({"width": 3, "schedule": "linear", "schedule_steps": 10**3, "final_rate": 0.1}, "fewer points")
    sized(tmp_path / "c", less, warmup_steps=10**4)
    assert "fewer points, but does not go with what is given (--schedule-steps: expected" in capsys.readouterr().err
    assert Run.open(tmp_path / "c").config["options"]["width"] == 4


class Measured:
    """A task whose evaluation takes so long, by a clock of its own: for each batch, and for each example."""

    def __init__(self, batch, example, ratio, length, now):
        self.batch, self.each, self.ratio, self.length, self.now, self.asked = batch, example, ratio, length, now, []
        self.data = self

    def size(self, split):
        return 1000

    def evaluate(self, model, split, limit=None, request=None):
        self.asked.append(limit)
        self.now[0] += (self.batch * -(-limit // 100) + self.each * limit) * self.ratio
        return Evaluation({}, {}, limit, 0, 0.0, self.length)


@pytest.mark.parametrize(
    ("batch", "ratio", "length", "seconds", "expected"),
    [
        (0.0, 1.0, 1.0, 3.0, 0.01),
        (0.0, 4.0, 4.0, 3.0, 0.01),  # writing beyond the length is not counted
        (0.0, 1.0, 0.1, 3.0, 0.01),  # writing too little is not reading little
        (1.0, 1.0, 1.0, 0.5, 0.02),  # a batch's constant time is shared by many: not the 0.135 of eight examples
    ],
)
def test_time_of_an_example_is_that_of_a_trained_model(monkeypatch, batch, ratio, length, seconds, expected):
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    task = Measured(batch, 0.01, ratio, length, now)
    measured = example_seconds(task, torch.nn.Identity(), Options(), seconds)
    assert measured == pytest.approx(expected, rel=0.5 if batch else 1e-6) and now[0] < 10
    assert not batch or task.asked == [1, 8]


def test_timing_steps_leaves_model_and_the_generators_alone():
    from saccade.train.engine import step_seconds

    chosen = options("")
    task = Line(chosen)
    model = task.build()
    before, state = [tensor.clone() for tensor in model.parameters()], torch.get_rng_state()
    assert 0 < step_seconds(task, model, chosen, torch.device("cpu"), 0.01) < 10
    assert all(torch.equal(one, other) for one, other in zip(before, model.parameters(), strict=True))
    assert torch.equal(torch.get_rng_state(), state)


def test_the_end_of_a_process_takes_longer_before_matplotlib_is_imported(monkeypatch):
    monkeypatch.setattr(plans, "busy_cores", lambda: 0.0)
    monkeypatch.setitem(plans.sys.modules, "matplotlib.figure", object())
    assert plans.closing_seconds() == 0.5
    monkeypatch.delitem(plans.sys.modules, "matplotlib.figure")
    assert plans.closing_seconds() == 2.0
