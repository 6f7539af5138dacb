import itertools

import pytest

from saccade.train.optimization import learning_rate
from saccade.train.options import Options
from saccade.train.schedules import FALLING, SCHEDULES


def options(name, **more):
    falling = {"schedule_steps": 100, "final_rate": 0.1} if name in FALLING else {}
    return Options(schedule=name, warmup_steps=20, learning_rate=2.0, **{**falling, **more})


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_schedule_rises_once_and_knows_no_budget(name):
    rates = [learning_rate(step, options(name)) for step in range(300)]
    assert rates == [learning_rate(step, options(name, max_steps=50)) for step in range(300)]
    assert rates[:20] == pytest.approx([2.0 * (step + 1) / 20 for step in range(20)])
    assert all(after <= before for before, after in itertools.pairwise(rates[19:]))
    assert all(rate > 0 for rate in rates)


@pytest.mark.parametrize("name", FALLING)
def test_those_that_fall_reach_the_floor_and_stay(name):
    rates = [learning_rate(step, options(name)) for step in range(300)]
    assert rates[99:] == pytest.approx([0.2] * 201)
    assert rates[59] == pytest.approx(1.1)  # half way between 2 and 0.2
