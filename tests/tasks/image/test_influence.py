"""What moves an answer: gradients of a batch, compared with those of each question alone and with differences."""

import pytest
import torch

from saccade.models.ask_attend_and_answer import AskAttendAndAnswer
from saccade.models.attention_lstm import AttentionLSTM
from saccade.models.image_encoder import FeatureEncoder, ImageEncoder, Visual
from saccade.models.image_only import ImageOnly, Options
from saccade.models.padded import Padded
from saccade.models.question_only import QuestionOnly
from saccade.models.show_and_answer import ShowAndAnswer
from saccade.tasks.answer.answer import pointing
from saccade.tasks.answer.codec import Batch
from saccade.tasks.answer.data import Asked, Posed
from saccade.tasks.answer.outputs import LabelAnswers
from saccade.tasks.image.influence import cells_of, gradients, images_of
from saccade.tasks.image.scenes.scene import Box
from saccade.tasks.labels import Ensemble

SIZES = {"widths": "4,6", "stem_stride": 4, "cell_dim": 5, "hidden_dim": 6}
QUESTION = Padded(torch.tensor([[4, 5, 6], [6, 8, 0]]), torch.tensor([3, 2]))
IMAGES = Visual(torch.rand(2, 3, 24, 32, generator=torch.Generator().manual_seed(0)))


def reading(model):
    """What makes vectors of words."""
    return [part for part in model.modules() if isinstance(part, torch.nn.Embedding)]


def made(kind, encoder=None):
    torch.manual_seed(1)
    options = kind.Options(**SIZES)
    return kind(encoder or ImageEncoder(3, options), 11, 5, options).eval()


@pytest.mark.parametrize("kind", [AskAttendAndAnswer, AttentionLSTM, ShowAndAnswer])
def test_what_moves_an_answer_is_the_same_alone_and_under_inference(kind):
    model = made(kind).double()
    images = Visual(IMAGES.values.double())

    def score(*given):
        return model(*given)[:, 1]

    with torch.inference_mode():
        asked = Padded(*(part.clone() for part in QUESTION))
        together = gradients(Visual(images.values.clone()), score, asked, reading=reading(model))
    assert together.seen.shape == images.values.shape and together.words.shape == (2, 3)
    assert float(together.words[1, 2]) == 0  # padding
    alone = Padded(QUESTION.values[1:, :2], QUESTION.lengths[1:])
    one = gradients(Visual(images.values[1:]), score, alone, reading=reading(model))
    torch.testing.assert_close(one.seen[0], together.seen[1], rtol=0, atol=1e-12)
    torch.testing.assert_close(one.words[0], together.words[1, :2], rtol=0, atol=1e-12)
    moved = images.values.clone()
    step, place = 1e-6, (1, 2, 10, 20)
    moved[place] += step
    rise = (model(Visual(moved), QUESTION) - model(images, QUESTION))[1, 1].item() / step
    assert rise == pytest.approx(together.seen[place].item(), abs=1e-6)


def test_what_a_model_does_not_take_moves_nothing():
    blind = QuestionOnly(None, 11, 5).eval()
    assert gradients(IMAGES, lambda *given: blind(*given)[:, 0], QUESTION, reading=reading(blind)).seen is None
    deaf = made(ImageOnly)
    assert gradients(IMAGES, lambda *given: deaf(*given)[:, 0], QUESTION, reading=reading(deaf)).words is None


def test_cells_are_those_of_the_first_that_sees():
    blind, deaf = QuestionOnly(None, 11, 5).eval(), made(ImageOnly)
    assert cells_of(blind, IMAGES) is None and cells_of(Ensemble([blind, deaf]), IMAGES) == (3, 4)
    regions = Visual(torch.rand(1, 4, 7), torch.rand(1, 4, 4), torch.tensor([4]))
    assert cells_of(made(ImageOnly, encoder=FeatureEncoder(7, 5)), regions) is None


class Corner(ImageEncoder):
    """Of which one corner is seen."""

    def forward(self, visual):
        inside = torch.zeros(24, 32)
        inside[:8, :8] = 1
        return super().forward(visual._replace(values=visual.values * inside))


def test_gradients_point_without_attention():
    torch.manual_seed(0)
    options = Options(**SIZES)
    model = ImageOnly(Corner(3, options), 11, 5, options).eval()
    batch = Batch(IMAGES, QUESTION, torch.zeros(2, 5))
    posed, image = Posed("what is it?", ("a",), "what"), torch.zeros(3, 24, 32, dtype=torch.uint8)
    here, there = (Asked(image, posed, "", (box,)) for box in (Box(0, 0, 8, 8), Box(16, 8, 32, 24)))
    output = LabelAnswers(tuple("abcde"))

    def scored(model, asked=None):
        def log_probs(texts, *source):
            asked is None or asked.append(texts)
            return output.log_probs(model, texts, *source)

        return log_probs

    with torch.inference_mode():
        found = pointing(model, batch, [here, there], None, scored(model), "ab")
        assert [one.hits for one in found] == [[True], [False]]
        assert [one.shares[0] for one in found] == [pytest.approx(1.0), 0.0]
        asked = []
        first = pointing(model, batch, [there._replace(boxes=()), here], None, scored(model, asked), "ab")
        assert first[0].hits == [True] and asked == [["b"]]  # of the second question alone
        assert pointing(model, batch, [there._replace(boxes=())], None, scored(model), "ab") == []
        blind = QuestionOnly(None, 11, 5).eval()
        assert pointing(blind, batch, [here, there], None, scored(blind), "aa") == []


def test_an_image_of_several_questions_is_that_of_each():
    regions = Visual(torch.rand(2, 4, 7), torch.rand(2, 4, 4), torch.tensor([4, 2]), torch.tensor([1, 0, 1]))
    found = images_of(regions, [0, 1])
    assert found.lengths.tolist() == [2, 4] and torch.equal(found.values[1], regions.values[0]) and found.about is None
