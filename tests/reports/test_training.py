import pytest

from saccade.reports import load_report, training
from saccade.reports.options import Trained as Options
from saccade.reports.pages import clock
from saccade.reports.training import Variant, _ending, budget, settings
from saccade.train.plan import Plan


def test_budgets_are_read_as_training_reads_them():
    def of(recipe, **said):
        return budget(Options(data="d", **said), recipe, 40.0)

    assert of({}) == {"max_steps": None, "max_minutes": 40.0}
    assert of({"max_steps": 9}) == {"max_steps": 9, "max_minutes": 40.0}
    assert of({"max_steps": 9}, max_steps=3) == {"max_steps": 3, "max_minutes": None}
    assert of({"max_steps": 9}, max_minutes=2.0) == {"max_steps": None, "max_minutes": 2.0}
    assert of({}, max_steps=3, max_minutes=2.0) == {"max_steps": 3, "max_minutes": 2.0}


def test_a_variant_has_its_own_values_and_else_the_recipe(tmp_path):
    one = Variant("tall", "transformer", {"layers": 3, "dropout": 0.25})
    made = settings(Options(data="dates", max_steps=5), one, 2, tmp_path, 40.0)
    assert (made.layers, made.dropout, made.hidden_dim) == (3, 0.25, 64)
    assert (made.model, made.seed, made.max_steps, made.run) == ("transformer", 2, 5, str(tmp_path))


def test_threads_are_the_recipes_unless_they_are_given(tmp_path):
    one = Variant("small", "transformer", {})
    found = [settings(Options(data="dates", threads=asked), one, 1, tmp_path, 40.0).threads for asked in (None, 3)]
    assert found == [1, 3]


def test_the_rows_of_quick_share_its_minutes(monkeypatch, tmp_path):
    """Every report's rows: together they train for less than its five minutes, data and measuring beside it."""
    seen = []

    def stopped(kind, settings, given):
        seen.append(settings.max_minutes)
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(training, "train", stopped)
    for name, rows in ():
        report = load_report(name)
        with pytest.raises(KeyboardInterrupt):
            report.make(report.Options(quick=True))
        assert seen.pop() == pytest.approx(3.0 / rows)
        with pytest.raises(KeyboardInterrupt):  # further seeds are trained for as long as the first
            report.make(report.Options(quick=True, seeds=3))
        assert seen.pop() == pytest.approx(3.0 / rows)


def test_a_recipe_can_be_anothers(tmp_path):
    rates = [
        settings(Options(data="dates"), Variant("a", "encoder-decoder", recipe=name), 1, tmp_path, 1.0).learning_rate
        for name in (None, "transformer")
    ]
    assert rates == [8e-3, 5e-3]


@pytest.mark.parametrize("whole", [True, False])
def test_minutes_that_have_room_for_recipe_did_not_end_run(tmp_path, whole):
    options = settings(Options(data="dates", max_minutes=60.0), Variant("a", "rnnsearch"), 1, tmp_path, 40.0)
    seconds = dict.fromkeys(("before", "step", "validation", "final", "all"), 1.0)
    plan = Plan(60.0, 600 if whole else 100, 600, whole, seconds, {})
    run = {"model": "a", "steps": plan.steps, "budget": _ending(options, plan), "patient": False}
    assert ("the clock ended training" in clock({"runs": {"a-1": run}})) == (not whole)
    assert _ending(options, None) == {"max_steps": None, "max_minutes": 60.0}
