import pytest
import torch

from saccade.errors import ArgumentError
from saccade.models.rnnsearch import Options, RNNSearch


@pytest.fixture
def model():
    torch.manual_seed(0)
    return RNNSearch(13, 11, Options(hidden_dim=10, embedding_dim=6)).double().eval()


SOURCE = torch.tensor([[5, 6, 7, 8, 2, 0, 0], [9, 4, 2, 0, 0, 0, 0], [4, 5, 6, 7, 8, 9, 2]])
LENGTHS = torch.tensor([5, 3, 7])
TARGET = torch.tensor([[1, 4, 5, 6], [1, 7, 2, 0], [1, 9, 8, 2]])


def test_padding_changes_nothing(model):
    together = model(SOURCE, LENGTHS, TARGET)
    for row, length in enumerate(LENGTHS):
        alone = model(SOURCE[row : row + 1, :length], LENGTHS[row : row + 1], TARGET[row : row + 1])
        torch.testing.assert_close(together[row], alone[0], rtol=1e-12, atol=1e-12)
    rubbish = SOURCE.clone()
    rubbish[SOURCE == 0] = 11
    torch.testing.assert_close(model(rubbish, LENGTHS, TARGET), together, rtol=0, atol=0)


def test_step_by_step_is_teacher_forcing(model):
    state, logits = model.encode(SOURCE, LENGTHS), []
    for token in TARGET.unbind(1):
        output, state = model.step(token, state)
        logits.append(output)
    torch.testing.assert_close(torch.stack(logits, 1), model(SOURCE, LENGTHS, TARGET), rtol=1e-10, atol=1e-12)


def test_a_state_is_reordered_and_repeated(model):
    state = model.encode(SOURCE, LENGTHS)
    rows = torch.tensor([2, 0, 0])
    chosen, _ = model.step(TARGET[rows, 0], state.select(rows))
    expected, _ = model.step(TARGET[:, 0], state)
    torch.testing.assert_close(chosen, expected[rows], rtol=1e-12, atol=1e-12)


def gru(cell, x, h, suffix=""):
    """The gated unit, written out."""
    weights = [getattr(cell, f"{name}{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    a, b = x @ weights[0].T + weights[2], h @ weights[1].T + weights[3]
    (ar, az, an), (br, bz, bn) = a.chunk(3, -1), b.chunk(3, -1)
    reset, update = torch.sigmoid(ar + br), torch.sigmoid(az + bz)
    return (1 - update) * torch.tanh(an + reset * bn) + update * h


def test_it_is_the_paper(model):
    """Equations 4 to 8 and appendix A, one sentence and one word at a time."""
    row = 1
    words = model.source_embedding(SOURCE[row, : LENGTHS[row]])
    ahead, back = [], []
    h = g = torch.zeros(5, dtype=torch.double)
    for word in words:
        h = gru(model.forwards, word, h, "_l0")
        ahead.append(h)
    for word in words.flip(0):
        g = gru(model.backwards, word, g, "_l0")
        back.append(g)
    annotations = torch.cat([torch.stack(ahead), torch.stack(back[::-1])], -1)
    s = torch.tanh(model.bridge(g))
    w, u = model.attention.query_projection, model.attention.key_projection
    v = next(p for n, p in model.attention.named_parameters() if "projection" not in n)
    for token, logits in zip(TARGET[row], model(SOURCE, LENGTHS, TARGET)[row], strict=True):
        e = torch.tanh(w(s) + u(annotations)) @ v.flatten()
        context = e.softmax(0) @ annotations
        y = model.target_embedding(token)
        t = model.readout(torch.cat([s, y, context]))
        expected = model.output(torch.maximum(t[0::2], t[1::2]))
        torch.testing.assert_close(logits, expected, rtol=1e-9, atol=1e-9)
        s = gru(model.decoder, torch.cat([y, context]), s)


def test_it_learns_through_every_parameter(model):
    model(SOURCE, LENGTHS, TARGET).square().sum().backward()
    assert all(p.grad is not None and bool(p.grad.abs().sum() > 0) for p in model.parameters())


@pytest.mark.parametrize(
    ("name", "value"), [("hidden_dim", 7), ("hidden_dim", 0), ("embedding_dim", 0), ("dropout", 1.0)]
)
def test_sizes_of_nothing_are_refused_by_name(name, value):
    with pytest.raises(ArgumentError, match=f"--{name.replace('_', '-')}"):
        Options(**{name: value})
