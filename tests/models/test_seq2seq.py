"""What every model that writes token by token is held to, whatever it reads and is made of."""

import copy

import pytest
import torch
from torch.nn.functional import cross_entropy, linear

from models.laws import parameters_that_learn, the_same_plainly, the_same_state
from models.translators import BATCH, TARGET
from models.variants import (
    SEQ2SEQ,
    SEQ2SEQ_CASES,
    TARGET_SIZE,
    TRANSLATOR_KINDS,
    TRANSLATORS,
    WANTED,
)
from saccade import look
from saccade.models.padded import Padded
from saccade.tasks.generate import search

CLOSE = {"rtol": 1e-10, "atol": 1e-12}


def embedding_of_targets(model):
    """The last table of words, whatever it is called; where there is one, it is the source's too."""
    return [module for module in model.modules() if isinstance(module, torch.nn.Embedding)][-1]


def stepped(model, source, target):
    """The logits of every next token, a step at a time, and the state after them."""
    state, logits = model.encode(source), []
    for token in target.unbind(1):
        output, state = model.step(token, state)
        logits.append(output.dense())
    return torch.stack(logits, 1), state


def gradients(model, source):
    """Those of its loss as it answers, by name."""
    named = dict(model.named_parameters())
    found = torch.autograd.grad(model(source, TARGET, WANTED), list(named.values()), allow_unused=True)
    return dict(zip(named, found, strict=True))


@pytest.fixture(params=SEQ2SEQ_CASES)
def variant(request):
    return SEQ2SEQ[request.param]


@pytest.fixture(params=TRANSLATOR_KINDS)
def translator(request):
    return TRANSLATORS[request.param]


@pytest.fixture
def model(variant):
    return variant.make()


def test_an_example_is_the_same_alone_as_in_a_batch(model, variant):
    together = model(variant.source, TARGET)
    assert together.shape == (*TARGET.shape, TARGET_SIZE)
    for row in range(len(TARGET)):
        alone = model(variant.alone(row), TARGET[row : row + 1])
        torch.testing.assert_close(together[row], alone[0], rtol=1e-12, atol=1e-12)


def test_what_padding_holds_changes_no_bit(model, variant):
    expected, found = (model(source, TARGET, WANTED) for source in (variant.source, variant.spoilt()))
    assert torch.equal(found, expected)
    assert torch.equal(model(variant.spoilt(), TARGET), model(variant.source, TARGET))


def test_what_padding_holds_changes_no_gradient(model, variant):
    expected, found = gradients(model, variant.source), gradients(model, variant.spoilt())
    for name, gradient in expected.items():
        assert (gradient is None) == (found[name] is None)
        if gradient is not None:
            torch.testing.assert_close(found[name], gradient, rtol=1e-12, atol=1e-14, msg=name)


def test_more_padding_changes_nothing(model, variant):
    values, lengths = variant.source
    wider = Padded(torch.cat([values, torch.zeros_like(values[:, :4])], 1), lengths)
    torch.testing.assert_close(model(wider, TARGET), model(variant.source, TARGET), **CLOSE)


def test_examples_in_another_order_are_in_another_order(model, variant):
    order = torch.tensor([2, 0, 1])
    turned = model(Padded(*(part[order] for part in variant.source)), TARGET[order])
    torch.testing.assert_close(turned, model(variant.source, TARGET)[order], **CLOSE)


@pytest.mark.parametrize("variant", SEQ2SEQ, indirect=True)
def test_step_by_step_is_teacher_forcing(model, variant):
    logits, _ = stepped(model, variant.source, TARGET)
    torch.testing.assert_close(logits, model(variant.source, TARGET), **CLOSE)


def test_logits_are_of_features_and_the_output_layer(model, variant):
    features, (weight, bias) = model.features(variant.source, TARGET), model.output
    assert features.shape == (*TARGET.shape, weight.shape[1])
    torch.testing.assert_close(linear(features, weight, bias), model(variant.source, TARGET), **CLOSE)


def test_a_state_is_reordered_and_repeated(model, variant):
    state = model.encode(variant.source)
    expected = model.step(TARGET[:, 1], state)[0].dense()
    chosen, wider = model.step(TARGET[[0, 0, 1, 1, 2, 2], 1], state.select(torch.arange(3)[:, None].expand(3, 2), None))
    torch.testing.assert_close(chosen.dense(), expected.repeat_interleave(2, 0), rtol=1e-12, atol=1e-12)
    following = model.step(TARGET[[0, 0, 1, 1, 2, 2], 2], wider)[0].dense()
    rows = torch.tensor([[5, 4], [0, 1]])  # outputs change places within an example, and one example is dropped
    some, _ = model.step(TARGET[[2, 2, 0, 0], 2], wider.select(rows, torch.tensor([2, 0])))
    torch.testing.assert_close(some.dense(), following[rows.flatten()], rtol=1e-12, atol=1e-12)


def test_a_selected_state_goes_on_as_it_would_alone(model, variant):
    """After two tokens each row goes on by itself, one of them twice."""
    _, state = stepped(model, variant.source, TARGET[:, :2])
    rows = torch.tensor([[2, 2], [1, 1]])
    token = torch.tensor([4, 5, 6, 7])
    found = model.step(token, state.select(rows, torch.tensor([2, 1])))[0].dense()
    for place, row in enumerate(rows.flatten().tolist()):
        _, alone = stepped(model, variant.alone(row), TARGET[row : row + 1, :2])
        expected = model.step(token[place : place + 1], alone)[0].dense()[0]
        torch.testing.assert_close(found[place], expected, **CLOSE)


def test_a_step_leaves_the_state_that_it_was_given(model, variant):
    _, state = stepped(model, variant.source, TARGET[:, :2])
    first = model.step(TARGET[:, 2], state)[0].dense()
    model.step(TARGET[:, 3], state)
    assert torch.equal(model.step(TARGET[:, 2], state)[0].dense(), first)


def test_its_gradient_reaches_every_parameter(variant):
    # a draw is the likeliest position elsewhere, which teaches nothing; the wanted tokens teach CTC too
    model = variant.make(dropout=0.0)
    model.train(getattr(variant.options, "read", "soft") != "soft")
    parameters_that_learn(model, model(variant.source, TARGET, WANTED))


def test_a_state_dict_makes_it_again(model, variant):
    other = variant.make(seed=1)
    the_same_state(model, other)
    assert torch.equal(other(variant.source, TARGET), model(variant.source, TARGET))


def test_a_copy_is_a_model_of_its_own(model, variant):
    other, expected = copy.deepcopy(model), model(variant.source, TARGET)
    assert torch.equal(other(variant.source, TARGET), expected)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(0.1)
    assert torch.equal(model(variant.source, TARGET), expected)
    assert not torch.allclose(other(variant.source, TARGET), expected)


@pytest.mark.parametrize("name", [*TRANSLATOR_KINDS, "las"])  # of soft reads: rounding may choose a position
def test_float32_is_the_same_with_kernels_and_plainly(name):
    variant = SEQ2SEQ[name]
    model, source = variant.in_float32(hidden_dim=24)

    def call(source):
        return lambda model: (model(source, TARGET), model(source, TARGET, WANTED, 0.1))

    the_same_plainly(model, call(source), call(variant.source))


def test_the_cost_is_the_cross_entropy_of_the_logits(translator):
    model = translator.make()
    logits = model(BATCH, TARGET).flatten(0, 1)
    expected = cross_entropy(logits, WANTED.flatten(), ignore_index=0, label_smoothing=0.1)
    torch.testing.assert_close(model(BATCH, TARGET, WANTED, 0.1), expected)


def test_one_vocabulary_has_one_embedding(translator):
    kind, options = translator.kind, translator.options
    joint, apart = kind(13, 13, options, joint=True), kind(13, 13, options)
    target = embedding_of_targets(joint)
    assert joint.source_embedding is target and joint.output[0] is target.weight
    count, other = (sum(p.numel() for p in model.parameters()) for model in (joint, apart))
    assert other - count == target.weight.numel()


def test_dropout_acts_in_training_alone(variant):
    model = variant.make().train()
    once, again = model(variant.source, TARGET), model(variant.source, TARGET)
    assert not torch.equal(once, again)
    model.eval()
    assert torch.equal(model(variant.source, TARGET), model(variant.source, TARGET))


def test_a_seed_repeats_what_training_draws(variant):
    model, found = variant.make().train(), []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        found.append(model(variant.source, TARGET, WANTED))
    assert torch.equal(found[0], found[1]) and not torch.equal(found[0], found[2])


def test_no_token_sees_those_behind_it(model, variant):
    """The derivative of every logit by every later target embedding is zero, of those before it is not."""
    table, alone = embedding_of_targets(model), variant.alone(0)
    words = table(TARGET[:1]).detach()
    logits = model(alone, TARGET[:1])

    def decoded(words):
        asked = iter(range(words.shape[1]))

        def look_up(tokens):  # all at once, or one after the other
            return words if tokens.ndim == 2 else words[:, next(asked)]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(table, "forward", look_up)
            return model(alone, TARGET[:1])[0].sum(-1)

    torch.testing.assert_close(decoded(words), logits[0].sum(-1))
    influence = torch.autograd.functional.jacobian(decoded, words)[:, 0].abs().sum(-1)
    assert bool((influence.triu(1) == 0).all()) and bool((influence.tril().diagonal() > 0).all())
    assert bool((influence[1:, 0] > 0).all())


def test_an_alignment_is_a_row_for_each_token(model, variant):
    with look.record(model, required=False) as records:
        model(variant.source, TARGET)
    weights = model.alignment(records)
    if weights is None:
        assert not records
        return
    assert weights.shape[:2] == TARGET.shape and bool((weights >= 0).all())
    local = getattr(variant.options, "attention", "").startswith("local")
    total = weights.sum(-1)  # beside the window there may be nothing, and a Gaussian takes some of it
    assert bool((total <= 1 + 1e-9).all()) if local else bool((total - 1).abs().max() < 1e-9)
    for row in range(len(TARGET)):
        with look.record(model, required=False) as records:
            model(variant.alone(row), TARGET[row : row + 1])
        alone = model.alignment(records)[0]
        torch.testing.assert_close(weights[row, :, : alone.shape[-1]], alone, **CLOSE)
        assert not weights[row, :, alone.shape[-1] :].any()


@pytest.mark.parametrize("beam", [1, 3])
def test_a_search_finds_what_the_whole_would(translator, beam):
    model, limits = translator.make(), torch.tensor([6, 4, 8])
    with torch.no_grad():
        found = search(model, model.encode(BATCH), limits, begin=1, end=2, beam_size=beam, length_penalty=0.0)
        for row, outputs in enumerate(found.lists()):
            for tokens, score in zip(outputs, found.scores[row].tolist(), strict=False):
                logits = model(translator.alone(row), torch.tensor([[1, *tokens]])).log_softmax(-1)[0]
                expected = sum(logits[place, token] for place, token in enumerate([*tokens, 2]))
                assert score == pytest.approx(float(expected), abs=1e-4)
                if beam == 1:
                    assert logits[:-1].argmax(-1).tolist() == tokens
