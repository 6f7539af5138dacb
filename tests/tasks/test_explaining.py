"""Subjects of models with parts that a plain stack of layers lacks."""

import re

import pytest
import torch

from saccade import look
from saccade._system.notes import caught
from saccade.errors import ArgumentError
from saccade.look import attribute
from saccade.models import caption_transformer, self_attention, transformer
from saccade.models.bag import Bag
from saccade.models.caption_transformer import CaptionTransformer
from saccade.models.hard import chosen
from saccade.models.image_encoder import ImageEncoder
from saccade.models.regressor import Sizes
from saccade.models.rnnsearch import RNNSearch
from saccade.models.set_transformer import Options, SetTransformer
from saccade.models.transformer import Transformer
from saccade.tasks import explaining
from saccade.tasks.attention_graph import edges_of, stacked
from saccade.tasks.classify_text.answer import read_texts, subject
from saccade.tasks.explaining import text_methods
from saccade.tasks.image import influence
from saccade.tasks.image.shown import Shown
from saccade.tasks.text.codec import Text, pad
from saccade.tasks.translate import gradients

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


def test_rollout_and_flow_of_a_caption_have_its_cells():
    torch.manual_seed(0)
    sizes = {"widths": "4,6", "stem_stride": 4, "cell_dim": 7, "hidden_dim": 12, "heads": 3, "layers": 2}
    options = caption_transformer.Options(**sizes, feedforward_dim=20)
    built = CaptionTransformer(ImageEncoder(3, options), 11, options).eval()
    image = Shown("image.png", torch.randint(256, (3, 32, 40), dtype=torch.uint8))
    cells = influence.cells_of(built, influence.visual_of([image.seen]))
    of_image = influence.subject(built, image, [4, 5], cells, ("a", "b", "."), torch.ones(3, cells[0] * cells[1]))
    rollout, flow = (of_image.scores(by).values for by in ("rollout", "flow"))
    assert rollout.shape == flow.shape == (3, *cells) and cells[0] * cells[1] > 3
    assert bool((flow >= rollout - 1e-6).all() and rollout.any())  # a flow is at least the product of its path


def translated(built):
    texts = (("a", "b", "c", "."), ("x", "y", "."))
    return gradients.subject(built.eval(), [4, 5, 6], [4, 5], texts, torch.ones(3, 4))


def translator(**more):
    torch.manual_seed(0)
    sizes = {"hidden_dim": 8, "heads": 2, "layers": 2, "feedforward_dim": 16}
    return Transformer(11, 9, transformer.Options(**sizes, **more))


def test_a_hard_encoder_has_its_largest_weights_and_the_decoder_all():
    of_text = translated(translator(self_read="argmax"))
    with torch.no_grad(), look.record(of_text.model) as records:
        of_text.features(of_text.inputs[None])
    for edge, (name, _) in zip(edges_of(of_text.model, records, 4), records, strict=True):
        assert all(set(part.unique().tolist()) <= {0.0, 1.0} for part in edge.weights) == name.startswith("encoder.")


@pytest.mark.parametrize(
    "built",
    [
        lambda: translated(translator(self_read="argmax")),
        lambda: translated(RNNSearch(11, 9, RNNSearch.Options(hidden_dim=8, embedding_dim=6, read="reinforce"))),
        lambda: of_text(model(self_read="argmax")),
        lambda: of_text(model(self_read="sample", baseline="moving-average")),
    ],
)
def test_a_hard_read_has_no_gradient_weighted_attention(built):
    hard = built()
    assert "gradient" not in text_methods(hard.model, None, attends=True)
    with pytest.raises(ArgumentError, match="^--by: expected .* It needs soft attention to the inputs") as caught:
        hard.scores("gradient")
    assert "\n" not in str(caught.value)
    assert bool(hard.scores("jacobian").values.any())


def test_a_soft_read_has_gradient_weighted_attention():
    soft = translated(translator())
    assert "gradient" in text_methods(soft.model, None, attends=True)
    assert bool(soft.scores("gradient").values.any())


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


@pytest.mark.parametrize(("steps", "notes"), [((1,), 1), ((1, 400), 0)])
def test_a_note_names_an_output_whose_integrated_gradients_are_incomplete(steps, notes, monkeypatch):
    monkeypatch.setattr(explaining, "_STEPS", steps)
    heard = []
    with caught(heard.append):
        of_text(model()).scores("integrated-gradients")
    assert len(heard) == notes
    line = r"integrated gradients of \w+: their sum is off by [\d.]+% after 1 steps"
    assert all(re.fullmatch(line, note) for note in heard)
