"""What every translator is held to, whatever it is made of."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cross_entropy

from models.translators import LENGTHS, SOURCE, TARGET
from near import assert_near, with_parameters
from saccade.kernels import team
from saccade.models import bytenet, luong, recurrent, rnnsearch, transformer
from saccade.models.bytenet import ByteNet
from saccade.models.encoder_decoder import EncoderDecoder
from saccade.models.luong import Luong
from saccade.models.rnnsearch import RNNSearch
from saccade.models.transformer import Transformer

RECURRENT = recurrent.Options(hidden_dim=10, embedding_dim=6, dropout=0.5)
LUONG = luong.Options(hidden_dim=10, embedding_dim=6, dropout=0.5)
SMALL = transformer.Options(hidden_dim=12, heads=3, layers=2, feedforward_dim=20, dropout=0.5)
VARIANTS = {
    "rnnsearch": (RNNSearch, rnnsearch.Options(**vars(RECURRENT))),
    "encoder-decoder": (EncoderDecoder, RECURRENT),
    "transformer": (Transformer, SMALL),
    "bytenet": (ByteNet, bytenet.Options(hidden_dim=5, sets=1, max_dilation=4, dropout=0.5)),
    "transformer, rotary": (Transformer, replace(SMALL, positions="rotary")),
    "transformer, alibi": (Transformer, replace(SMALL, positions="alibi")),
    "transformer, post": (Transformer, replace(SMALL, norm="post")),
    "luong": (Luong, LUONG),
    "luong, local-m": (Luong, replace(LUONG, attention="local-m", window=2)),
    "luong, local-p": (Luong, replace(LUONG, attention="local-p", window=2)),
    "luong, none": (Luong, replace(LUONG, attention="none")),
    "luong, without input feeding": (Luong, replace(LUONG, attention="local-p", input_feeding=False)),
    "luong, forwards": (Luong, replace(LUONG, reverse=False, layers=1)),
    "luong, location": (Luong, replace(LUONG, score="location", positions=4)),
    **{
        f"luong, {score}": (Luong, replace(LUONG, score=score)) for score in ("dot", "scaled_dot", "additive", "cosine")
    },
    **{f"luong, {name}": (Luong, replace(LUONG, normalizer=name)) for name in ("sparsemax", "entmax")},
    **{
        f"transformer, {score}": (Transformer, replace(SMALL, score=score))
        for score in ("dot", "additive", "general", "cosine", "gaussian")
    },
}


def target_embedding(model):
    """The last table of words, whatever it is called; where there is one, it is the source's too."""
    return [module for module in model.modules() if isinstance(module, torch.nn.Embedding)][-1]


@pytest.fixture(params=VARIANTS)
def variant(request):
    return VARIANTS[request.param]


@pytest.fixture
def model(variant):
    torch.manual_seed(0)
    kind, options = variant
    return kind(13, 11, options).double().eval()


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


def test_in_float32_it_computes_the_same_with_kernels_and_without(variant, monkeypatch):
    torch.manual_seed(0)
    kind, options = variant
    model = kind(13, 11, replace(options, hidden_dim=24)).eval()
    wanted = TARGET.roll(-1, 1)

    def found(*parameters):
        made = with_parameters(model, parameters)
        loss = made(SOURCE, LENGTHS, TARGET, wanted, 0.1)
        return [made(SOURCE, LENGTHS, TARGET), loss, *torch.autograd.grad(loss, list(made.parameters()))]

    ours = found(*model.parameters())
    monkeypatch.setitem(team._found, "numba", "there is none here")
    assert_near(ours, found, *model.parameters())


def test_what_the_wanted_tokens_cost_is_the_cross_entropy_of_the_logits(model):
    wanted = TARGET.roll(-1, 1)
    logits = model(SOURCE, LENGTHS, TARGET).flatten(0, 1)
    expected = cross_entropy(logits, wanted.flatten(), ignore_index=0, label_smoothing=0.1)
    torch.testing.assert_close(model(SOURCE, LENGTHS, TARGET, wanted, 0.1), expected)


def test_one_vocabulary_has_one_embedding(variant):
    kind, options = variant
    joint, apart = kind(13, 13, options, joint=True), kind(13, 13, options)
    target = target_embedding(joint)
    assert joint.source_embedding is target
    count, other = (sum(p.numel() for p in model.parameters()) for model in (joint, apart))
    assert other - count == target.weight.numel()


def test_dropout_acts_in_training_alone(variant):
    torch.manual_seed(0)
    kind, options = variant
    model = kind(13, 11, options)
    once, again = model(SOURCE, LENGTHS, TARGET), model(SOURCE, LENGTHS, TARGET)
    assert not torch.equal(once, again)
    model.eval()
    assert torch.equal(model(SOURCE, LENGTHS, TARGET), model(SOURCE, LENGTHS, TARGET))


def test_no_token_sees_those_behind_it(model):
    """The derivative of every logit by every later target embedding is zero, of those before it is not."""
    table = target_embedding(model)
    words = table(TARGET[:1]).detach()
    logits = model(SOURCE[:1], LENGTHS[:1], TARGET[:1])

    def written(words):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(table, "forward", lambda tokens: words)
            return model(SOURCE[:1], LENGTHS[:1], TARGET[:1])[0].sum(-1)

    torch.testing.assert_close(written(words), logits[0].sum(-1))
    influence = torch.autograd.functional.jacobian(written, words)[:, 0].abs().sum(-1)
    assert bool((influence.triu(1) == 0).all()) and bool((influence.tril().diagonal() > 0).all())
    assert bool((influence[1:, 0] > 0).all())
