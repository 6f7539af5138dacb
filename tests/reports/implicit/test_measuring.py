import pytest
import torch

from saccade import runs
from saccade.reports.difference import unpacked_shares
from saccade.reports.implicit.measuring import ATTENTION, JACOBIAN, WORD, Way, measured, ways
from saccade.tasks.translate import Translate, vocabulary
from saccade.tasks.translate.data.dates import Dates
from saccade.tasks.translate.gradients import jacobian


def test_what_is_told_of_weights_is_counted_by_hand():
    """Two outputs of a date's year over four inputs, and one that nothing decides."""
    weights = torch.tensor([[0.1, 0.6, 0.2, 0.1], [0.0, 0.3, 0.3, 0.4], [1.0, 0.0, 0.0, 0.0]])
    way = Way()
    way.add(weights, [range(1, 3), range(1, 3), range(0)], "1-10")
    assert way.share == [pytest.approx((0.8 + 0.6) / 2)] and way.found == [0.5] and way.digit == [0.5]
    assert way.near == {"0-5": [True, False]}
    far = {least: sum(values) / 2 for least, values in way.beyond["1-10"].items()}
    assert far == {5: 0.0, 10: 0.0, 20: 0.0}


def test_shares_beyond_some_steps_are_by_places_alone():
    weights = torch.full((1, 30), 1 / 30)
    way = Way()
    way.add(weights, [range(25, 30)], "21-30")
    assert [way.beyond["21-30"][least][0] for least in (5, 10, 20)] == pytest.approx([24 / 30, 19 / 30, 9 / 30])
    assert way.near == {"21-": [False]}


@pytest.fixture(scope="module")
def task():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vocabulary, "_ENDLESS", 200)
        return Translate.prepare(runs.options(Translate, "dates", "rnnsearch", {"hidden_dim": 8, "embedding_dim": 6}))


def test_a_row_says_what_the_jacobian_and_the_weights_are(task):
    pairs = [Dates().example("test", index) for index in range(3)]
    model = task.build().eval()
    row = measured(task, model, pairs)
    assert set(row["ways"]) == {JACOBIAN, ATTENTION, WORD} and row["sentences"] == 3
    assert unpacked_shares(row["ways"][WORD]["share"]) == unpacked_shares(row["ways"][WORD]["found"]) == [1.0] * 3
    pair = pairs[0]
    found = ways(task, model, pair)
    source, target = task.vocabulary.source.encode(pair.source), task.vocabulary.target.encode(pair.target)
    norms = jacobian(model, source, target)
    torch.testing.assert_close(found[JACOBIAN], (norms / norms.sum(-1, keepdim=True))[:-1, :-1])
    assert found[ATTENTION].shape == found[JACOBIAN].shape == (10, len(pair.source))
    assert bool((found[ATTENTION].sum(-1) < 1).all())  # what is left is on the source's end
    assert row["example"]["source"] == pair.source and len(row["example"][JACOBIAN]) == 10


def test_a_model_without_attention_has_the_jacobian_alone(task):
    options = runs.options(Translate, "dates", "bytenet", {"hidden_dim": 8, "max_dilation": 1})
    model = Translate(options, task.vocabulary, task.corpus).build().eval()
    assert set(ways(task, model, Dates().example("test", 0))) == {JACOBIAN}
