"""Models with experts are models as others are, and without experts they are what they were."""

from dataclasses import replace

import pytest
import torch

from models.variants import BATCH, SELF, SMALL, TARGET, TEXTS, WANTED, classifier, translator
from saccade.errors import ArgumentError
from saccade.models import mixture, self_attention, transformer
from saccade.models.padded import Padded
from saccade.models.self_attention import SelfAttention
from saccade.models.transformer import Transformer
from saccade.nn import MixtureOfExperts
from saccade.train.balance import balances
from tiers import every

VARIANTS = {
    "transformer": translator(Transformer, replace(SMALL, experts=4, experts_every=1)),
    "transformer, groups": translator(Transformer, replace(SMALL, experts=6, top_k=1, expert_groups=2, norm="post")),
    "transformer, limited": translator(Transformer, replace(SMALL, experts=3, capacity_factor=0.6)),
    "self-attention": classifier(SelfAttention, replace(SELF, experts=4, experts_every=1)),
    "self-attention, experts choose": classifier(SelfAttention, replace(SELF, experts=3, routing="experts")),
}
TRANSLATORS = [name for name in VARIANTS if name.startswith("transformer")]


def made(name, training=False, **changes):
    """A model whose gates are not all alike, as they are at first."""
    model = VARIANTS[name].make(**changes).train(training)
    gates = ("gate", "noise_gate", "group_gate", "group_noise_gate")
    with torch.no_grad():
        for where, parameter in model.named_parameters():
            if where.rpartition(".")[2] in gates:
                parameter.normal_()
    return model


def mixtures(model):
    return [name for name, module in model.named_modules() if isinstance(module, MixtureOfExperts)]


def run(name, model):
    return model(BATCH, TARGET, WANTED) if name in TRANSLATORS else model(TEXTS).square().sum()


def test_every_other_layer_has_experts_from_the_last_one_on():
    assert mixtures(made("transformer")) == [f"{side}.{n}.experts" for side in ("encoder", "decoder") for n in (0, 1)]
    assert mixtures(made("transformer", experts_every=2)) == ["encoder.1.experts", "decoder.1.experts"]
    assert mixtures(made("self-attention", layers=1, experts_every=2)) == ["layers.0.experts"]


def test_without_experts_a_model_has_the_parameters_that_it_had():
    model = translator(Transformer, replace(SMALL, layers=1)).make()
    inner = ["encoder.0.inner.weight", "encoder.0.inner.bias", "encoder.0.outer.weight", "encoder.0.outer.bias"]
    names = [name for name, _ in model.named_parameters() if name.startswith("encoder.0.")]
    assert [name for name in names if "outer" in name or "inner" in name] == inner and not mixtures(model)


@every("name", VARIANTS)
def test_its_gradient_reaches_every_gate(name):
    model = made(name, True, dropout=0.0)
    torch.manual_seed(0)
    with balances(model) as found:
        loss = run(name, model)
    (loss + sum(one.balance.loss for one in found)).backward()
    assert len(found) == len(mixtures(model))
    missed = [where for where, one in model.named_parameters() if one.grad is None or not one.grad.abs().sum() > 0]
    assert not missed


@pytest.mark.parametrize("name", TRANSLATORS)
def test_step_by_step_is_teacher_forcing(name):
    model = made(name)
    whole, state, found = model(BATCH, TARGET), model.encode(BATCH), []
    for token in TARGET.unbind(1):
        logits, state = model.step(token, state)
        found.append(logits.dense())
    there = TARGET > 0  # what stands behind an end is given to no expert
    torch.testing.assert_close(torch.stack(found, 1)[there], whole[there], rtol=1e-10, atol=1e-12)


@every("training", [False, True])
@every("name", TRANSLATORS)
def test_what_is_written_later_changes_nothing_of_a_text(name, training):
    """Not by the experts' capacity either: of a text, the last tokens are dropped."""
    model = made(name, training, dropout=0.0)
    other = TARGET.clone()
    other[-1, -1] = 5 + (other[-1, -1] == 5)
    logits = []
    for target in (TARGET, other):
        torch.manual_seed(0)
        logits.append(model(BATCH, target))
    torch.testing.assert_close(logits[0][:, :-1], logits[1][:, :-1])
    assert not torch.allclose(logits[0][-1, -1], logits[1][-1, -1])


@every("name", VARIANTS)
def test_padding_takes_no_expert(name):
    """What stands there changes no answer, and it is not counted."""
    variant, model = VARIANTS[name], made(name)
    more = (TARGET,) if name in TRANSLATORS else ()
    with balances(model) as found:
        answer = model(variant.source, *more)
    with balances(model):
        torch.testing.assert_close(model(variant.spoilt(), *more), answer, rtol=0, atol=0)
    counted = {"e": int(variant.source.lengths.sum()), "d": int((TARGET > 0).sum()), "l": int(TEXTS.lengths.sum())}
    assert all(one.balance.tokens == counted[one.name[0]] for one in found)


@pytest.mark.parametrize("name", [name for name in VARIANTS if "choose" not in name])
def test_an_example_alone_is_the_same(name):
    variant, model = VARIANTS[name], made(name)
    alone = variant.alone(1)
    if name in TRANSLATORS:
        torch.testing.assert_close(model(alone, TARGET[1:2]), model(BATCH, TARGET)[1:2], rtol=1e-10, atol=1e-12)
    else:
        torch.testing.assert_close(model(Padded(*alone)), model(TEXTS)[1:2], rtol=1e-10, atol=1e-12)


@every(
    ("said", "words"),
    [
        ({"experts": 4, "top_k": 5}, "--top-k: expected at most --experts = 4, got 5"),
        ({"experts": 4, "top_k": 0}, "--top-k: expected a number from 1 to"),
        ({"experts": -1}, "--experts: expected a number from 0 to"),
        ({"experts": 4, "experts_every": 0}, "--experts-every: expected a number from 1 to"),
        ({"top_k": 1}, "--top-k: expected only with --experts, got 1 without them"),
        ({"capacity_factor": 1.0}, "--capacity-factor: expected only with --experts, got 1.0"),
        ({"load_weight": 0.1}, "--load-weight: expected only with --experts"),
        ({"experts": 4, "importance_weight": -1.0}, "--importance-weight: expected a number from 0 on, got -1.0"),
        ({"experts": 4, "load_weight": float("nan")}, "--load-weight: expected a number from 0 on, got nan"),
        ({"experts": 4, "capacity_factor": 0.0}, "--capacity-factor: expected a number above 0, got 0.0"),
        ({"experts": 4, "expert_groups": 3}, "--expert-groups: expected a divisor of --experts = 4, got 3"),
        ({"experts": 8, "top_k": 3, "expert_groups": 4}, "--top-k: expected at most 2, .* of 4 groups of 2"),
    ],
)
@every("kind", [mixture.Options, transformer.Options, self_attention.Options])
def test_options_that_mean_nothing_are_refused(kind, said, words):
    with pytest.raises(ArgumentError, match=f"^{words}"):
        kind(**said)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"routing": "experts"}, "--routing: expected only with --experts"),
        ({"routing": "random"}, "--routing: expected tokens or experts, got random"),
        (
            {"routing": "experts", "experts": 4, "load_weight": 0.1},
            "--load-weight: expected only with --routing tokens",
        ),
        ({"routing": "experts", "experts": 4, "expert_groups": 2}, "--expert-groups: expected only with --routing tok"),
    ],
)
def test_routes_that_mean_nothing_are_refused(said, words):
    with pytest.raises(ArgumentError, match=f"^{words}"):
        self_attention.Options(**said)
