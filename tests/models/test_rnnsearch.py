import pytest
import torch

from models.translators import BATCH, LENGTHS, SOURCE, TARGET, annotations, decode
from saccade import look
from saccade.errors import ArgumentError
from saccade.models.rnnsearch import Options, RNNSearch


def make(**options):
    torch.manual_seed(0)
    return RNNSearch(13, 11, Options(hidden_dim=10, embedding_dim=6, **options)).double().eval()


@pytest.mark.parametrize("query", ["after", "before"])
def test_it_is_its_equations(query):
    """One sentence and one word at a time."""
    model, row = make(query=query), 1
    read = annotations(model.encoder, model.source_embedding(SOURCE[row, : LENGTHS[row]]))
    w, u = model.attention.query_projection, model.attention.key_projection
    v = next(p for n, p in model.attention.named_parameters() if "projection" not in n)
    hidden = torch.tanh(model.bridge(read.mean(0)))

    def context(query):
        return (torch.tanh(w(query) + u(read)) @ v.flatten()).softmax(0) @ read

    for token, logits in zip(TARGET[row], model(BATCH, TARGET)[row], strict=True):
        expected, hidden = decode(model.decoder, token, hidden, context)
        torch.testing.assert_close(logits, expected, rtol=1e-9, atol=1e-9)


def test_it_attends_once_a_step_to_the_sentence_alone():
    model = make()
    with look.record(model) as records:
        model(BATCH, TARGET)
    assert len(records) == TARGET.shape[1]
    for _, aux in records:
        outside = torch.arange(SOURCE.shape[1]) >= LENGTHS[:, None]
        assert bool((aux.weights[:, 0][outside] == 0).all())
        torch.testing.assert_close(aux.weights.sum(-1), torch.ones(3, 1).double())


def test_the_query_of_the_paper_has_not_read_the_last_word():
    """Bahdanau, Cho, Bengio 2015, equation 6: the first query is the initial state, whatever the word."""
    other = TARGET.clone()
    other[:, 0] = 3
    for query, alike in (("before", True), ("after", False)):
        model, weights = make(query=query), []
        for target in (TARGET, other):
            with look.record(model) as records:
                model(BATCH, target)
            weights.append(records[0][1].weights)
        assert torch.equal(*weights) is alike
    with pytest.raises(ArgumentError, match="--query: expected after or before, got behind"):
        Options(query="behind")
