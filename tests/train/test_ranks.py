import os

from saccade.train.options import Options
from saccade.train.ranks import Ranks, current, free_port, placed


def test_place_is_what_environment_says_and_first_otherwise():
    before = dict(os.environ)
    with placed(1, 3, 12345):
        ranks = current(Options(processes=3))
        assert ranks == Ranks(1, 3, 1, 3, external=True) and not ranks.leads
        assert os.environ["MASTER_PORT"] == "12345"
    assert dict(os.environ) == before
    assert current(Options(processes=3)) == Ranks(0, 3, 0, 3) and current(Options()).leads


def test_one_alone_agrees_with_itself():
    assert Ranks().sums(2, 0.5) == [2.0, 0.5] and Ranks().share("x") == "x"


def test_a_free_port_is_a_port():
    assert 0 < free_port() < 2**16
