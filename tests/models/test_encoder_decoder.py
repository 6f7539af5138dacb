import torch

from models.translators import BATCH, LENGTHS, SOURCE, TARGET, annotations, decode
from saccade.models import rnnsearch
from saccade.models.encoder_decoder import EncoderDecoder
from saccade.models.recurrent import Options
from saccade.models.rnnsearch import RNNSearch

OPTIONS = Options(hidden_dim=10, embedding_dim=6)


def make():
    torch.manual_seed(0)
    return EncoderDecoder(13, 11, OPTIONS).double().eval()


def test_it_is_its_equations():
    """One sentence and one word at a time."""
    model, row = make(), 1
    read = annotations(model.encoder, model.source_embedding(SOURCE[row, : LENGTHS[row]]))
    summary = torch.cat([read[-1, :5], read[0, 5:]])
    hidden = torch.tanh(model.bridge(summary))
    for token, logits in zip(TARGET[row], model(BATCH, TARGET)[row], strict=True):
        expected, hidden = decode(model.decoder, token, hidden, lambda query: summary)
        torch.testing.assert_close(logits, expected, rtol=1e-9, atol=1e-9)


def test_the_source_is_so_many_numbers_whatever_its_length():
    state = make().encode(BATCH)
    assert state.summary.shape == (3, 10)


def test_attention_is_all_that_it_lacks():
    theirs = {name: p.shape for name, p in RNNSearch(13, 11, rnnsearch.Options(**vars(OPTIONS))).named_parameters()}
    mine = {name: p.shape for name, p in make().named_parameters()}
    assert {name for name in theirs if not name.startswith("attention.")} == set(mine)
    assert all(theirs[name] == shape for name, shape in mine.items())
