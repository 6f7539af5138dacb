"""Subjects of models with parts that a plain stack of layers lacks."""

import pytest
import torch

from saccade import look
from saccade.errors import ArgumentError
from saccade.look import attribute
from saccade.models import self_attention
from saccade.models.bag import Bag
from saccade.models.hard import chosen
from saccade.models.regressor import Sizes
from saccade.models.set_transformer import Options, SetTransformer
from saccade.tasks.attention_graph import edges_of, stacked
from saccade.tasks.classify_text.answer import read_texts, subject
from saccade.tasks.text.codec import Text, pad

TEXT = Text([4, 5, 6, 7, 5], text="a b c d b", tokens=["a", "b", "c", "d", "b"])
LABELS = ("bad", "good")


def model(**more):
    torch.manual_seed(0)
    sizes = {"embedding_dim": 4, "hidden_dim": 8, "heads": 2, "layers": 2, "feedforward_dim": 16}
    return self_attention.SelfAttention(11, 2, self_attention.Options(**sizes, **more)).eval().double()


def of_text(built, label=None):
    [reading] = read_texts(built, [TEXT], attended=True)
    return subject(built, TEXT, LABELS, reading, label)


def recorded(built):
    with torch.no_grad(), look.record(built) as records:
        built(pad([TEXT]))
    return records


def test_experts_are_no_layers_of_attention():
    built = model(experts=3)
    records = recorded(built)
    assert any("experts" in name for name, _ in records)
    assert len(edges_of(built, records, 5)) == 3  # two layers and the pooling
    assert of_text(built).scores("rollout").values.shape == (1, 5)


def test_hard_self_attention_goes_the_way_of_its_largest_weights():
    built = model(self_read="argmax")
    records = recorded(built)
    layers = [chosen(aux.weights) for name, aux in records if name.endswith(".attention")]
    [pool] = [aux.weights for name, aux in records if name == "pool"]
    expected = (pool[0] @ attribute.rollout(layers)[0]).mean(0)
    torch.testing.assert_close(of_text(built).scores("rollout").values[0], expected)


def test_each_class_has_its_scores():
    built = model()
    one, other = (of_text(built, label) for label in (0, 1))
    assert (one.outputs, other.outputs) == (("bad",), ("good",))
    both = [each.scores("integrated-gradients").values for each in (one, other)]
    assert not torch.allclose(*both)
    assert float(one.probability(one.units) + other.probability(other.units)) == pytest.approx(1)


def test_a_method_without_its_part_is_refused_by_the_subject_too():
    torch.manual_seed(0)
    bag = Bag(11, 2).eval()
    for by, needs in (("attention", "that to a memory"), ("grad-cam", "one vector for each token")):
        with pytest.raises(ArgumentError, match=f"--by: expected .*{needs}"):
            of_text(bag).scores(by)
    for by in ("gradient", "jacobian", "integrated-gradients"):
        assert bool(of_text(bag).scores(by).values.any())


def test_inducing_points_are_no_stack_of_inputs():
    assert stacked(SetTransformer(Sizes(0, 1))) and stacked(model())
    assert not stacked(SetTransformer(Sizes(0, 1), Options(inducing=2))) and not stacked(Bag(7, 2))
