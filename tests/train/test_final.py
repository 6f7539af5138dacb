from saccade.train.final import chosen, needed
from saccade.train.options import Options
from saccade.train.results import Books


def test_the_last_regular_ones_and_the_end_make_the_model():
    assert chosen([10, 20, 30], 30, 10, 1) == [30]
    assert chosen([10, 20, 30, 35], 35, 10, 3) == [20, 30, 35]
    assert chosen([10, 14, 20], 20, 10, 5) == [10, 20]  # 14 is where somebody stopped the run
    assert chosen([10, 20, 30], 20, 10, 2) == [10, 20]  # what comes after the end is no part of it


def test_what_the_end_may_need_stays_wherever_it_comes():
    steps = range(10, 60, 10)
    assert needed(steps, Books(50), Options(checkpoint_steps=10, average=3)) == {30, 40, 50}
    assert needed(steps, Books(50), Options(checkpoint_steps=10)) == {50}
    books = Books(50, best=0.5, best_step=20)
    assert needed(steps, books, Options(checkpoint_steps=10, average=2, patience=5)) == {10, 20, 40, 50}
