from studies.frame.claims import Claim, Verdict, bars, conclude, nothing, rule
from studies.frame.statistics import Estimate, Source


def claim(text, value, error=1.0, freedom=9):
    return Claim(text, Estimate(value, (Source("seeds", error, freedom, 10),)), f"{value:+.1f}")


def test_nothing_can_be_concluded():
    assert nothing("train longer") == Verdict("not decided", "nothing can be concluded: train longer")


def test_all_claims_have_to_hold():
    assert conclude([claim("a", 9.0), claim("b", 9.0)]).result == "reproduced"
    assert conclude([claim("a", 9.0), claim("b", 1.0)]).result == "not decided"
    assert conclude([claim("a", 9.0), claim("b", 1.0), claim("c", -9.0)]).result == "contradicted"
    assert conclude([claim("a", 9.0), claim("b", -9.0)], lambda results: results[0]).result == "reproduced"


def test_each_claim_has_its_number_and_missing_seeds():
    reason = conclude([claim("a", 9.0), claim("b", 2.0), claim("c", 1.5)]).reason
    assert reason.startswith("a: reproduced, +9.0; b: not decided, +2.0 (") and " seeds would decide" in reason
    one = [claim(text, 9.0, freedom=0) for text in "ab"]
    assert conclude(one).reason.count("one seed says nothing") == 1


def test_pages_explain_errors():
    assert "3 seeds" in bars("images", 3) and "alone" in bars("images", 1)
    assert "Holm" in rule(2) and "Holm" not in rule(1)
    assert "one seed" in rule(2) and "seed" not in rule(2, seeded=False)
