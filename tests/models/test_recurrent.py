import pytest
import torch
from torch import nn

from models.translators import BATCH, TARGET, annotations, decode, gru
from saccade.errors import ArgumentError
from saccade.kernels import threads
from saccade.kernels.gates import gated
from saccade.models.recurrent import Decoder, Encoder, LockedDropout, Options, at_positions, reversed_positions
from tiers import every

LENGTHS = BATCH.lengths


def embedded(dim=3, rows=3, width=7):
    return torch.randn(rows, width, dim, dtype=torch.double, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def encoder():
    torch.manual_seed(0)
    return Encoder(3, 8).double()


@pytest.fixture
def decoder():
    torch.manual_seed(0)
    return Decoder(nn.Embedding(11, 4), context_dim=3, hidden_dim=5).double().eval()


def test_the_gated_unit_is_torchs():
    torch.manual_seed(0)
    cell = torch.nn.GRUCell(3, 5, dtype=torch.double)
    x, h = torch.randn(4, 3).double(), torch.randn(4, 5).double()
    inputs, from_hidden = x @ cell.weight_ih.T + cell.bias_ih, h @ cell.weight_hh.T + cell.bias_hh
    torch.testing.assert_close(gated(inputs, from_hidden, h), cell(x, h))
    torch.testing.assert_close(gated(inputs, from_hidden, h), gru(inputs, from_hidden, h))


@every(
    ("name", "value"),
    [("hidden_dim", 7), ("hidden_dim", 0), ("embedding_dim", 0), ("embedding_dim", 10**20), ("dropout", 1.0)],
)
def test_sizes_of_nothing_are_refused_by_name(name, value):
    with pytest.raises(ArgumentError, match=f"--{name.replace('_', '-')}"):
        Options(**{name: value})


def test_an_encoder_is_a_gru_in_both_directions(encoder):
    found = encoder(embedded(), LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        torch.testing.assert_close(found[row, :length], annotations(encoder, embedded()[row, :length]))


def test_an_encoder_is_torchs_packed_gru(encoder):
    """A bidirectional GRU with the same numbers, over sequences that are packed."""
    other = nn.GRU(3, 4, batch_first=True, bidirectional=True, dtype=torch.double)
    state = dict(encoder.forwards.state_dict())
    state |= {f"{name}_reverse": held for name, held in encoder.backwards.state_dict().items()}
    other.load_state_dict(state)
    packed = nn.utils.rnn.pack_padded_sequence(embedded(), LENGTHS, batch_first=True, enforce_sorted=False)
    expected, _ = nn.utils.rnn.pad_packed_sequence(other(packed)[0], batch_first=True)
    torch.testing.assert_close(encoder(embedded(), LENGTHS) * BATCH.within[..., None], expected)


def test_an_encoder_is_the_same_without_kernels(encoder, monkeypatch):
    small, x = encoder.float(), embedded().float()
    ours = [small(x, LENGTHS), *torch.autograd.grad(small(x, LENGTHS).square().sum(), list(small.parameters()))]
    monkeypatch.setitem(threads._state, "numba", "there is none here")
    theirs = [small(x, LENGTHS), *torch.autograd.grad(small(x, LENGTHS).square().sum(), list(small.parameters()))]
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_derivatives_of_an_encoder_are_right():
    torch.manual_seed(0)
    encoder, x = Encoder(2, 4).double(), embedded(2, 2, 3).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: encoder(x, torch.tensor([3, 2])), (x,))


def test_positions_turn_a_sentence_around_and_back():
    values, order = embedded(), reversed_positions(LENGTHS, 7)
    turned = at_positions(values, order)
    assert torch.equal(at_positions(turned, order), values)
    for row, length in enumerate(LENGTHS.tolist()):
        assert torch.equal(turned[row, :length], values[row, :length].flip(0))
        assert torch.equal(turned[row, length:], values[row, length:])


def test_a_decoder_is_its_equations_a_token_at_a_time(decoder):
    hidden, context = torch.randn(3, 5).double(), torch.randn(5, 3).double()
    features = decoder(TARGET, hidden, lambda query: torch.tanh(query @ context))
    logits = features @ decoder.embedding.weight.T + decoder.bias
    for row in range(3):
        carried = hidden[row]
        for place, token in enumerate(TARGET[row]):
            expected, carried = decode(decoder, token, carried, lambda query: torch.tanh(query @ context))
            torch.testing.assert_close(logits[row, place], expected)


def test_a_decoder_asks_once_a_step(decoder):
    asked, hidden = [], torch.zeros(3, 5).double()

    def read(query):
        asked.append(query)
        return torch.zeros(3, 3).double()

    decoder(TARGET, hidden, read)
    assert len(asked) == TARGET.shape[1] and all(query.shape == (3, 5) for query in asked)
    first = list(asked)
    decoder(torch.cat([TARGET[:, :1] + 1, TARGET[:, 1:]], 1), hidden, read)
    assert not torch.allclose(asked[len(first)], first[0])


def test_derivatives_of_a_decoder_are_right(decoder):
    hidden, context = torch.randn(2, 5).double().requires_grad_(), torch.randn(2, 3).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda h, c: decoder(TARGET[:2, :2], h, lambda query: c), (hidden, context))


def test_hooks_of_a_decoders_maps_are_called(decoder):
    hidden, context = torch.zeros(3, 5).double(), torch.ones(3, 3).double()
    expected, calls = decoder(TARGET, hidden, lambda query: context), []
    for name in ("hidden_proj", "context_proj", "intermediate_proj"):
        getattr(decoder, name).register_forward_hook(lambda *call, name=name: calls.append(name))
    torch.testing.assert_close(decoder(TARGET, hidden, lambda query: context), expected)
    assert calls == ["hidden_proj", "context_proj", "intermediate_proj"] * TARGET.shape[1]


def test_locked_dropout_drops_a_feature_at_all_steps_or_none():
    torch.manual_seed(0)
    dropped = LockedDropout(0.25)(torch.ones(400, 3, 7))
    assert torch.equal(dropped, dropped[:, :1].expand_as(dropped))
    torch.testing.assert_close(dropped.unique(), torch.tensor([0, 4 / 3]))
    assert abs(float(dropped.mean()) - 1) < 0.05
    assert torch.equal(LockedDropout(0.25).eval()(torch.ones(2, 3, 4)), torch.ones(2, 3, 4))


def test_what_is_drawn_for_a_batch_is_kept_from_step_to_step():
    torch.manual_seed(0)
    dropout, x = LockedDropout(0.5), torch.ones(5, 6)
    drop = dropout.draw(x, 6)
    assert torch.equal(drop(x), drop(x)) and torch.equal(drop(torch.ones(5, 2, 6))[:, 1], drop(x))
    assert not torch.equal(dropout.draw(x, 6)(x), drop(x))


@pytest.mark.parametrize("dropout", [LockedDropout(0.0), LockedDropout(0.5).eval()])
def test_where_nothing_is_dropped_no_number_is_drawn(dropout):
    state, x = torch.get_rng_state(), torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
    assert torch.equal(dropout(x), x) and torch.equal(torch.get_rng_state(), state)
