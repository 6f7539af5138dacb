"""Classes of one input are as many lines as were asked for, blank ones where there are fewer or none."""

from dataclasses import dataclass

import torch

from saccade.tasks.labels.ranked import Ranked
from saccade.tasks.labels.ranking import Ranking


@dataclass(frozen=True, repr=False)
class Said(Ranked):
    """What is said of nothing."""

    ranking: Ranking | None
    count: int


def test_there_are_as_many_lines_as_were_asked_for():
    ranking = Ranking(("bad", "good"), torch.tensor([0.25, 0.75]))
    assert Said(ranking, 1).lines() == ["good\t0.7500"]
    assert Said(ranking, 3).lines() == ["good\t0.7500", "bad\t0.2500", ""]
    assert Said(None, 2).lines() == ["", ""]
    assert Said(ranking, 1).ranked == ranking.to_json(1) and Said(None, 2).ranked["answers"] == []
