import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade.tasks.generate.model import Hypotheses, begun
from tasks.generate.table import BEGIN, WORDS, Table


def hypotheses():
    tokens = torch.tensor([[[7, 8, 2], [9, 2, 2]], [[4, 2, 2], [2, 2, 2]]])
    return Hypotheses(tokens, torch.tensor([[2, 1], [1, -1]]), torch.tensor([[-1.0, -2.0], [-3.0, -torch.inf]]))


def test_outputs_are_lists_without_what_is_none():
    assert hypotheses().lists() == [[[7, 8], [9]], [[4]]]


@pytest.mark.parametrize("prefix", [(), (5,), (5, 6, 5)])
def test_a_prefix_is_in_front_of_every_output_there_is(prefix):
    found = hypotheses().after(prefix)
    assert found.lists() == [[[*prefix, 7, 8], [*prefix, 9]], [[*prefix, 4]]]
    assert found.lengths[1, 1] == -1 and torch.equal(found.scores, hypotheses().scores)


@given(
    st.integers(0, 99),
    st.lists(st.integers(0, WORDS - 1), max_size=4),
    st.lists(st.integers(0, 6), min_size=1, max_size=4),
)
def test_what_is_begun_with_is_scored_and_takes_of_limits(seed, prefix, limits):
    model, rows = Table(len(limits), seed), torch.arange(len(limits))
    start = begun(model, model.start(rows), torch.tensor(limits), BEGIN, prefix)
    expected = [model.score(row, prefix, ended=False) for row in range(len(limits))]
    assert start.scores.tolist() == pytest.approx(expected, abs=1e-4)
    assert start.limits.tolist() == [max(0, limit - len(prefix)) for limit in limits]
    assert start.written == len(prefix) and start.last.tolist() == [[BEGIN, *prefix][-1]] * len(limits)
