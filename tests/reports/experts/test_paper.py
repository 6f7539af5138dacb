from saccade.reports.experts.paper import PAPER


def test_settings_are_named_by_their_losses():
    names = ["no loss", "importance 0.2", "load 0.2", "importance 0.1, load 0.1", "importance 0.01, load 0.01"]
    assert [row.name for row in PAPER] == [*names, "importance 1, load 1"]


def test_the_figures_that_are_claimed_of_the_table():
    without, both = PAPER[0], PAPER[3]
    assert (without.importance, without.load, without.most) == (3.04, 3.01, 17.80)
    assert (both.importance, both.load, both.most) == (0.06, 0.05, 1.14)
