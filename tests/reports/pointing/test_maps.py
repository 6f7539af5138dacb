import pytest
import torch

from saccade.models.image_encoder import ImageEncoder, Visual
from saccade.models.padded import Padded
from saccade.models.show_and_answer import Options as FixedOptions
from saccade.models.show_and_answer import ShowAndAnswer
from saccade.models.show_ask_attend_and_answer import Options, ShowAskAttendAndAnswer
from saccade.reports.pointing.maps import covered, gradients, weighed
from saccade.tasks.image.influence import cells_of

SIZES = {"widths": "4,6", "stem_stride": 4, "cell_dim": 5, "hidden_dim": 6, "classifier_dim": 8}
QUESTION = Padded(torch.tensor([[4, 5, 6], [6, 8, 0]]), torch.tensor([3, 2]))


def seen():
    return Visual(torch.rand(2, 3, 24, 40, generator=torch.Generator().manual_seed(1)))


@pytest.mark.parametrize("read", [{}, {"read": "straight-through"}, {"normalizer": "sparsemax"}])
def test_weights_are_shares_that_a_model_chooses_by(read):
    torch.manual_seed(0)
    options = Options(**SIZES, glimpses=1, **read)
    model = ShowAskAttendAndAnswer(ImageEncoder(3, options), 11, 5, options).eval()
    shape = cells_of(model, seen())
    weights, looked = weighed(model, seen(), QUESTION, shape), model.look(seen(), QUESTION)
    assert weights.shape == (2, *shape) and shape == looked.shape
    torch.testing.assert_close(weights.sum((1, 2)), torch.ones(2))
    assert torch.equal(weights.flatten(1).argmax(1), looked.weights[:, 0].argmax(1))
    assert weights.count_nonzero() > 2  # also where one cell is read


def test_gradients_are_those_of_answer_by_pixels_of_a_cell():
    torch.manual_seed(0)
    options = FixedOptions(**SIZES)
    model = ShowAndAnswer(ImageEncoder(3, options), 11, 5, options).eval()
    first, shape = torch.tensor([1, 3]), cells_of(model, seen())
    with torch.inference_mode():
        found = gradients(model, seen(), QUESTION, first, shape)
    pixels = seen().values.requires_grad_()
    model(Visual(pixels), QUESTION)[torch.arange(2), first].sum().backward()
    rows, columns = shape
    expected = pixels.grad.abs().sum(1).view(2, rows, 24 // rows, columns, 40 // columns).mean((2, 4))
    torch.testing.assert_close(found, expected)


def test_boxes_cover_as_many_pixels_as_they_have():
    boxes, size = [(3, 2, 9, 8), (14, 10, 24, 20)], (20, 24)
    for shape in ((4, 6), (3, 5), (20, 24), (1, 1)):
        found = covered(boxes, shape, size)
        assert float(found.max()) <= 1 + 1e-6
        assert float(found.sum()) * 20 * 24 / (shape[0] * shape[1]) == pytest.approx(36 + 100, rel=1e-5)
