from reports.conftest import content_of, run_of
from saccade.reports.document import Text
from saccade.reports.pages import beginning, clock, ending
from saccade.reports.verdict import Verdict


def ended(**budgets):
    return content_of("order", [run_of(name, budget=budget) for name, budget in budgets.items()], [])


def test_runs_that_took_all_their_steps_need_no_caution():
    both = {"max_steps": 5, "max_minutes": 1.0}, {"max_steps": 5, "max_minutes": None}
    assert clock(ended(one=both[0], other=both[1])) == ""
    made_before = ended(one=both[0])
    del made_before["runs"]["one-1"]["budget"]
    assert clock(made_before) == ""


def test_where_clock_ended_a_run_page_and_summary_say_so():
    for budget in ({"max_steps": 6, "max_minutes": 1.0}, {"max_steps": None, "max_minutes": 1.0}):
        content = ended(one=budget, other={"max_steps": 9, "max_minutes": 1.0})
        content["runs"]["other-1"]["steps"] = 9
        caution = clock(content)
        assert "after 5 (one) to 9 (other) steps" in caution
        verdict = Verdict("reproduced", "so it is")
        assert ending(verdict, content) == ["reproduced: so it is", caution]
        texts = [part.text for part in beginning("t", "c", "s", verdict, content) if isinstance(part, Text)]
        assert texts[1] == "**reproduced**: so it is." and texts[2].startswith("**The clock ended training")


def test_run_that_patience_ended_was_not_ended_by_the_clock():
    run = {"model": "a", "steps": 9, "budget": {"max_steps": 20, "max_minutes": 1.0}}
    assert "the clock ended training" in clock({"runs": {"a-1": {**run, "patient": False}}})
    assert clock({"runs": {"a-1": {**run, "patient": True}}}) == ""
