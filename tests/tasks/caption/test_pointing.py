"""Whether a model points at what it names: counted by hand, of weights and of gradients."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from saccade.models.captioning import Options
from saccade.models.image_encoder import ImageEncoder
from saccade.models.show_and_tell import ShowAndTell
from saccade.tasks.caption import answer
from saccade.tasks.caption.answer import pointing
from saccade.tasks.caption.codec import Captions
from saccade.tasks.caption.task import Describes
from saccade.tasks.generate.generate import Output
from saccade.tasks.image.scenes.scene import SIDE, Box, Scene, Thing, draw
from saccade.tasks.image.shown import Shown
from saccade.tasks.image.sight import Sight
from saccade.tasks.text.tokenizer import SpacedWords

THINGS = (Thing("red", "circle", Box(0, 0, 12, 12)), Thing("blue", "cross", Box(48, 60, 60, 72)))
SCENE = Scene(THINGS)
IMAGE = Shown("scene", draw(SCENE, torch.Generator().manual_seed(0)))
WORDS = SpacedWords.learn(["a red circle left of a blue cross"])
TEXT = "a red circle left of a blue cross"


def looking(monkeypatch, cells):
    """A predictor whose model looks at these cells of 8 × 8, one for each word and the end."""
    weights = torch.zeros(len(cells), 64).scatter(1, torch.tensor(cells)[:, None], 0.75) + 0.25 / 64
    seen = SimpleNamespace(weights=weights, ids=[])
    monkeypatch.setattr(answer, "grid", lambda *given: (8, 8))
    return SimpleNamespace(attend=lambda *given: [[seen]])


def output(text):
    return [Output(text, WORDS.encode(text), 0.0)]


def test_words_that_say_a_colour_or_a_shape_are_counted(monkeypatch):
    circle, cross, nothing = 0, 5 * 8 + 4, 63
    eye = looking(monkeypatch, [nothing, circle, cross, nothing, nothing, nothing, cross, cross, nothing])
    found = pointing(eye, None, [IMAGE], [output(TEXT)], [SCENE])
    assert (found.words, found.hits) == (4, 3)
    assert found.weight == pytest.approx((3 * (0.75 + 0.25 / 64) + 0.25 / 64) / 4)
    assert found.metrics()["pointing"] == 0.75


def test_gradients_point_where_there_is_no_attention():
    """Of a network whose only input is one corner."""
    options = Options(widths="4", cell_dim=4, hidden_dim=6, embedding_dim=4)

    class Corner(ImageEncoder):
        def forward(self, visual):
            inside = torch.zeros(SIDE, SIDE)
            inside[:12, :12] = 1
            return super().forward(visual._replace(values=visual.values * inside))

    torch.manual_seed(0)
    model: nn.Module = ShowAndTell(Corner(3, options), len(WORDS), options).eval()
    eye = Describes(Captions(WORDS, 9, Sight((3, SIDE, SIDE))))
    found = pointing(eye, model, [IMAGE], [output(TEXT)], [SCENE])
    assert (found.words, found.hits) == (4, 2) and found.weight == pytest.approx(0.5, abs=1e-6)
