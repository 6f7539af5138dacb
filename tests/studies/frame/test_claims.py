import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from studies.frame.claims import (
    LEVEL,
    POWER,
    SEEDS,
    Claim,
    Estimate,
    Exact,
    Source,
    Verdict,
    Within,
    bars,
    conclude,
    judged,
    nothing,
    quantile,
    rule,
)
from studies.frame.seeds import Cell, between, contrast

TRIALS = 1000
NORMAL = math.inf


def of(value, error=1.0, freedom=NORMAL, count=9, name=SEEDS):
    """An estimate with one source of chance."""
    return Estimate(value, (Source(name, error, freedom, count),))


@given(st.floats(1, 1e6), st.floats(1e-4, 0.5))
def test_a_quantile_is_that_of_students_t(freedom, level):
    assert quantile(freedom, level) == pytest.approx(stats.t.ppf(1 - level / 2, freedom), rel=1e-5)
    assert quantile(NORMAL, level) == pytest.approx(stats.norm.ppf(1 - level / 2), rel=1e-9)


def test_one_source_is_judged_as_a_t_test_judges_it():
    numbers = np.random.default_rng(0).normal(0.5, 1.0, (50, 6))
    for own in numbers:
        found = of(own.mean(), own.std(ddof=1) / math.sqrt(6), 5)
        assert abs(found.beyond()) == (stats.ttest_1samp(own, 0.0).pvalue < LEVEL)


def test_an_interval_is_infinite_with_an_unknown_source():
    both = Estimate(1.0, (Source(SEEDS, 0.3, 2, 3), Source("images", 0.4, NORMAL, 100)))
    assert both.error == pytest.approx(0.5)
    assert both.half() == pytest.approx(math.hypot(4.3027 * 0.3, 1.96 * 0.4), rel=1e-4)
    alone = Estimate(1.0, (Source(SEEDS, 0.0, 0, 1), Source("images", 0.01, NORMAL, 100)))
    assert alone.half() == math.inf and alone.beyond() == 0 and alone.measured.beyond() == 1
    assert alone.short() == "+100.00 ± 1.96" and "seeds not known" in alone.long()


def test_a_multiple_and_a_margin_move_value_and_error():
    found = of(2.0, 0.5, 4).times(-3.0)
    assert (found.value, found.error) == (-6.0, 1.5) and found.less(1.0).value == -7.0
    assert found.less(1.0).sources == found.sources


@given(st.lists(st.floats(-6, 6), min_size=1, max_size=8))
def test_several_claims_are_judged_by_holms_procedure(values):
    """By his own words: p-values in order, each against the level over how many are left, until one is too large."""
    p = stats.norm.sf(np.abs(values)) * 2
    rejected, order = np.zeros(len(values), bool), np.argsort(p)
    for rank, place in enumerate(order):
        if p[place] > LEVEL / (len(values) - rank):
            break
        rejected[place] = True
    names = [
        "not decided" if not one else ("reproduced" if v > 0 else "contradicted")
        for one, v in zip(rejected, values, strict=True)
    ]
    assert judged([of(value) for value in values]) == names


def test_an_exact_claim_takes_nothing_from_others():
    assert judged([Exact(True), of(2.0)]) == ["reproduced", "reproduced"] and judged([of(2.0)]) == ["reproduced"]
    assert judged([Exact(False), of(1.0)]) == ["contradicted", "not decided"] and Exact(True).missing() == ""


def test_no_claims_are_judged_to_nothing():
    assert judged([]) == []


def test_equivalence_takes_the_whole_interval():
    half = of(0.0).half()
    claims = [(of(0.0), half * 0.99), (of(0.0), half * 1.01), (of(5.0), 5 - half * 1.01), (of(-5.0), 5 - half * 1.01)]
    words = ["not decided", "reproduced", "contradicted", "contradicted"]
    assert [judged([Within(number, margin)])[0] for number, margin in claims] == words
    assert judged([Within(of(5.0), 5.0)]) == ["not decided"]
    assert judged([Within(of(0.0, freedom=0), 100.0)]) == ["not decided"]  # one seed shows nothing


def test_power_of_one_source_is_that_of_the_t_that_is_not_central():
    for freedom, effect in ((2, 3.0), (9, 2.0), (99, 3.5)):
        exact = stats.nct.sf(quantile(freedom), freedom, effect)
        assert of(0.0, freedom=freedom).power(effect) == pytest.approx(exact, abs=1e-4)
    assert of(0.0, freedom=0).power(9.0) == 0.0 and of(0.0, error=0.0).power(1.0) == 1.0


@pytest.mark.parametrize(
    "missing", [of(0.7, 0.5, 2, 3), of(0.2, 0.5, 99, 100, "images"), Within(of(0.1, 0.2, 4, 5), 0.4)]
)
def test_enough_examples_decide_as_often_as_claimed(missing):
    word, name = missing.missing().split()[:2]
    found = getattr(missing, "number", missing)
    count, [source] = int(word.replace(",", "")), found.sources
    effect = found.value if found is missing else missing.margin - abs(found.value)
    at, below = (Estimate(found.value, (source.of(n),)).power(effect) for n in (count, count - 1))
    assert name == source.name and below < POWER <= at and count > source.count


def test_seeds_or_examples_that_would_decide_are_named():
    both = Estimate(0.5, (Source(SEEDS, 0.3, 4, 5), Source("images", 0.3, 999, 1000)))
    assert both.missing().endswith(" times as many seeds and images would decide a difference as large")
    images = Estimate(0.5, (Source(SEEDS, 0.01, 4, 5), Source("images", 0.3, 999, 1000)))
    assert "images would decide" in images.missing() and "seeds" not in images.missing()
    assert Estimate(1e-9, both.sources).missing().startswith("more than 1,000 times as many")
    assert Estimate(0.0, (Source(SEEDS, 0.0, 2, 3),)).missing() == ""
    assert "2 are the fewest" in Estimate(0.5, (Source(SEEDS, 0.0, 0, 1),)).missing()


def drawn(rng, effect, seeds, examples, noise):
    """The difference of two models, of other trainings each, on the same examples."""
    shared = rng.normal(0, noise[1], examples)
    models = [
        mean + rng.normal(0, noise[0], (seeds, 1)) + own * shared + rng.normal(0, noise[2], (seeds, examples))
        for mean, own in ((effect, 1.5), (0.0, 0.5))
    ]
    return between(*models)


SIZES = [(2, 40, (0.3, 0.1, 0.1)), (3, 40, (0.3, 1.0, 0.5)), (3, 40, (0.05, 1.0, 0.1)), (5, 30, (0.2, 0.5, 1.0))]


@pytest.mark.parametrize(("seeds", "examples", "noise"), SIZES)
def test_chance_is_an_effect_in_five_percent_at_most(seeds, examples, noise):
    rng = np.random.default_rng(seeds)
    found = [drawn(rng, 0.0, seeds, examples, noise).beyond() for _ in range(TRIALS)]
    assert sum(map(abs, found)) / TRIALS <= LEVEL + 2 * math.sqrt(LEVEL * (1 - LEVEL) / TRIALS)


@pytest.mark.parametrize(("seeds", "examples", "noise"), SIZES[1:])
def test_an_effect_is_detected_as_often_as_its_power(seeds, examples, noise):
    """By the errors that there are, which are known here; of two seeds the degrees of freedom of a difference are drawn
    with the numbers, between one and two, and less is found.
    """
    rng, both = np.random.default_rng(seeds + 10), 2 * noise[2] ** 2 / (seeds * examples)
    sources = (
        Source(SEEDS, math.sqrt(2 * noise[0] ** 2 / seeds + both), 2 * (seeds - 1), seeds),
        Source("images", math.sqrt(noise[1] ** 2 / examples + both), examples - 1, examples),
    )
    effect = next(e for e in np.arange(0.05, 9, 0.05) if Estimate(0.0, sources).power(e) >= POWER)
    found = [drawn(rng, effect, seeds, examples, noise).beyond() for _ in range(TRIALS)]
    share = found.count(1) / TRIALS
    assert share >= POWER - 0.1 and found.count(-1) == 0


def test_several_chance_claims_are_decided_in_five_percent():
    rng, any_of_them = np.random.default_rng(3), 0
    for values, scales in zip(rng.normal(0, 1, (TRIALS, 6)), rng.chisquare(4, (TRIALS, 6)), strict=True):
        claims = [of(value, math.sqrt(scale / 4), 4, 5) for value, scale in zip(values, scales, strict=True)]
        any_of_them += any(result != "not decided" for result in judged(claims))
    assert any_of_them / TRIALS <= LEVEL + 2 * math.sqrt(LEVEL * (1 - LEVEL) / TRIALS)


def test_a_lift_of_a_line_is_no_error_of_its_slope():
    """Seeds lift a line as a whole, and are no error of its slope."""
    rng, wrong = np.random.default_rng(4), 0
    for _ in range(500):
        lift = rng.normal(0, 5.0, (3, 1))
        cells = [Cell("a", lift + rng.normal(0, 1, (3, 8)), weight, at) for at, weight in enumerate((-0.5, 0.0, 0.5))]
        found = contrast(cells)
        assert found.sources[0].error < 1.0
        wrong += found.beyond() != 0
    assert wrong / 500 <= LEVEL + 2 * math.sqrt(LEVEL * (1 - LEVEL) / 500)


def test_one_t_for_a_sum_of_errors_undercovers():
    """Satterthwaite's interval beside Banerjee's: two seeds, whose error is ten times the examples' in the square."""
    rng, trials, known = np.random.default_rng(6), 40_000, 0.1
    seeds = rng.normal(0, math.sqrt(2), (trials, 2))
    off, own = seeds.mean(1) + rng.normal(0, math.sqrt(known), trials), seeds.var(1, ddof=1) / 2
    freedom = (own + known) ** 2 / (own**2 + known**2 / 999)
    one = stats.t.ppf(1 - LEVEL / 2, freedom) * np.sqrt(own + known)
    each = np.sqrt(quantile(1) ** 2 * own + quantile(999) ** 2 * known)
    assert (off > one).mean() == pytest.approx(0.064, abs=0.004)
    assert (off > each).mean() <= LEVEL / 2 + 2 * math.sqrt(LEVEL / 2 / trials)
    found = of(1.0, math.sqrt(own[0]), 1).half() ** 2 + of(1.0, math.sqrt(known), 999).half() ** 2
    assert each[0] == pytest.approx(math.sqrt(found))


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
