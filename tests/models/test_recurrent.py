import pytest
import torch
from torch.nn.functional import cross_entropy

from models.translators import LENGTHS, SOURCE, TARGET, gru
from saccade.errors import ArgumentError
from saccade.kernels import team
from saccade.kernels.gates import gated
from saccade.models.encoder_decoder import EncoderDecoder
from saccade.models.recurrent import LockedDropout, Options, embeddings
from saccade.models.rnnsearch import RNNSearch


@pytest.fixture(params=[RNNSearch, EncoderDecoder], ids=lambda kind: kind.__name__)
def model(request):
    torch.manual_seed(0)
    return request.param(13, 11, Options(hidden_dim=10, embedding_dim=6)).double().eval()


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
        logits.append(output.dense())
    torch.testing.assert_close(torch.stack(logits, 1), model(SOURCE, LENGTHS, TARGET), rtol=1e-10, atol=1e-12)


def test_a_state_is_reordered_and_repeated(model):
    state = model.encode(SOURCE, LENGTHS)
    expected = model.step(TARGET[:, 1], state)[0].dense()
    chosen, wider = model.step(TARGET[[0, 0, 1, 1, 2, 2], 1], state.select(torch.arange(3)[:, None].expand(3, 2), None))
    torch.testing.assert_close(chosen.dense(), expected.repeat_interleave(2, 0), rtol=1e-12, atol=1e-12)
    following = model.step(TARGET[[0, 0, 1, 1, 2, 2], 2], wider)[0].dense()
    rows = torch.tensor([[5, 4], [0, 1]])  # outputs change places within an example, and one example is dropped
    some, _ = model.step(TARGET[[2, 2, 0, 0], 2], wider.select(rows, torch.tensor([2, 0])))
    torch.testing.assert_close(some.dense(), following[rows.flatten()], rtol=1e-12, atol=1e-12)


def test_it_learns_through_every_parameter(model):
    model(SOURCE, LENGTHS, TARGET).square().sum().backward()
    assert all(p.grad is not None and bool(p.grad.abs().sum() > 0) for p in model.parameters())


@pytest.mark.parametrize("kind", [RNNSearch, EncoderDecoder])
def test_in_float32_it_computes_the_same_with_kernels_and_without(kind, monkeypatch):
    torch.manual_seed(0)
    model = kind(13, 11, Options(hidden_dim=32, embedding_dim=24))
    wanted = TARGET.roll(-1, 1)

    def found(model):
        loss = model(SOURCE, LENGTHS, TARGET, wanted, 0.1)
        return [model(SOURCE, LENGTHS, TARGET), loss, *torch.autograd.grad(loss, list(model.parameters()))]

    ours = found(model)
    monkeypatch.setitem(team._found, "numba", "there is none here")
    for one, plain, exact in zip(ours, found(model), found(model.double()), strict=True):
        torch.testing.assert_close(one, plain, rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(one.double(), exact, rtol=1e-4, atol=1e-6)


def test_what_the_wanted_tokens_cost_is_the_cross_entropy_of_the_logits(model):
    wanted = TARGET.roll(-1, 1)
    logits = model(SOURCE, LENGTHS, TARGET).flatten(0, 1)
    expected = cross_entropy(logits, wanted.flatten(), ignore_index=0, label_smoothing=0.1)
    torch.testing.assert_close(model(SOURCE, LENGTHS, TARGET, wanted, 0.1), expected)


@pytest.mark.parametrize("kind", [RNNSearch, EncoderDecoder])
def test_one_vocabulary_has_one_embedding(kind):
    options = Options(hidden_dim=10, embedding_dim=6)
    joint, apart = kind(13, 13, options, joint=True), kind(13, 13, options)
    assert joint.source_embedding is joint.writer.embedding
    count, other = (sum(p.numel() for p in model.parameters()) for model in (joint, apart))
    assert other - count == 13 * 6


def test_joint_vocabularies_are_of_one_size():
    with pytest.raises(ArgumentError, match=r"joint: .*13 and 11"):
        embeddings(13, 11, 6, joint=True)


def test_dropout_acts_in_training_alone():
    torch.manual_seed(0)
    model = RNNSearch(13, 11, Options(hidden_dim=10, embedding_dim=6, dropout=0.5))
    once, again = model(SOURCE, LENGTHS, TARGET), model(SOURCE, LENGTHS, TARGET)
    assert not torch.equal(once, again)
    model.eval()
    assert torch.equal(model(SOURCE, LENGTHS, TARGET), model(SOURCE, LENGTHS, TARGET))


def test_the_gated_unit_is_torchs():
    torch.manual_seed(0)
    cell = torch.nn.GRUCell(3, 5, dtype=torch.double)
    x, h = torch.randn(4, 3).double(), torch.randn(4, 5).double()
    entering, before = x @ cell.weight_ih.T + cell.bias_ih, h @ cell.weight_hh.T + cell.bias_hh
    torch.testing.assert_close(gated(entering, before, h), cell(x, h))
    torch.testing.assert_close(gated(entering, before, h), gru(entering, before, h))


@pytest.mark.parametrize(
    ("name", "value"),
    [("hidden_dim", 7), ("hidden_dim", 0), ("embedding_dim", 0), ("embedding_dim", 10**20), ("dropout", 1.0)],
)
def test_sizes_of_nothing_are_refused_by_name(name, value):
    with pytest.raises(ArgumentError, match=f"--{name.replace('_', '-')}"):
        Options(**{name: value})


def test_locked_dropout_drops_a_feature_at_all_steps_or_none():
    torch.manual_seed(0)
    dropped = LockedDropout(0.25)(torch.ones(400, 3, 7))
    assert torch.equal(dropped, dropped[:, :1].expand_as(dropped))
    torch.testing.assert_close(dropped.unique(), torch.tensor([0, 4 / 3]))
    assert abs(float(dropped.mean()) - 1) < 0.05
    assert torch.equal(LockedDropout(0.25).eval()(torch.ones(2, 3, 4)), torch.ones(2, 3, 4))
