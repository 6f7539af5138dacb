from types import SimpleNamespace

import pytest
import torch

from saccade.models.fixed import Fixed, Options
from saccade.models.rnn_attention import RNNAttention
from saccade.reports.pooling.directions import directions
from saccade.tasks.text.words import Words

WORDS = ["film", "good", "not", "bad", "the"]


def made_up(**options):
    """A model whose query is along the first feature, and whose sentiment is along the second."""
    settings = Options(embedding_dim=3, **options)
    model = Fixed(4 + len(WORDS), 2, settings)
    with torch.no_grad():
        model.output.weight.zero_()[1, 1] = 5.0
        model.words.embedding.weight[4:] = torch.arange(15.0).view(5, 3) - 7
        if settings.score == "dot":
            model.pool.queries.zero_()[0, 0] = 2.0
    task = SimpleNamespace(settings=settings, vocabulary=SimpleNamespace(words=Words(WORDS)))
    return task, model


def test_words_are_projected_on_both_directions():
    task, model = made_up(score="dot")
    found = directions(task, model)
    assert [word.text for word in found] == WORDS
    assert [word.query for word in found] == [-7.0, -4.0, -1.0, 2.0, 5.0]
    assert [word.sentiment for word in found] == [-6.0, -3.0, 0.0, 3.0, 6.0]


@pytest.mark.parametrize(
    "options", [{"score": "additive"}, {"score": "dot", "queries": 2}, {"score": "dot", "hidden_dim": 4}]
)
def test_a_query_that_is_no_direction_among_words_has_none(options):
    assert directions(*made_up(**options)) == []


def test_a_model_whose_words_know_their_neighbours_has_none():
    task, _ = made_up(score="dot")
    assert directions(task, RNNAttention(9, 2)) == []
