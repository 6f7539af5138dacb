import pytest
import torch

from saccade.errors import ArgumentError
from saccade.models import cnn, cnn_attention
from saccade.tasks.image.maps import LookRequest, attends, maps_of
from saccade.tasks.labels.ranking import Ranking, probabilities

LABELS = ("a", "b", "c")


def plain():
    torch.manual_seed(1)
    return cnn.CNN(3, 3, cnn.Options(widths="4,8")).eval()


def attending():
    torch.manual_seed(1)
    options = cnn_attention.Options(widths="4,8", attention_dim=4, heads=2, attention_gain=1.0)
    return cnn_attention.CNNAttention(3, 3, options).eval()


def asked(model, **words):
    image = torch.rand(1, 3, 16, 24)
    with torch.no_grad():
        ranking = Ranking(LABELS, probabilities(model(image)[0]))
        return maps_of(model, image, ranking, LookRequest(**words))


def test_attention_is_drawn_in_times_of_an_even_share():
    found = asked(attending())
    assert found.by == "attention" and len(found.captions) == len(found.marks) == len(found.maps)
    torch.testing.assert_close(found.maps.mean((1, 2)), torch.ones(len(found.maps)))


@pytest.mark.parametrize("model", [plain, attending])
@pytest.mark.parametrize("by", ["gradient", "grad-cam", "integrated-gradients"])
def test_gradients_are_at_most_1_and_of_any_network(model, by):
    found = asked(model(), by=by, label="b")
    signed = by == "integrated-gradients"
    assert found.by == by and found.captions == (["for b", "against b"] if signed else ["b"])
    assert float(found.maps.max()) in (0.0, 1.0) and float(found.maps.min()) >= 0


def test_a_network_without_attention_shows_gradients():
    assert asked(plain()).by == "gradient" and attends(attending()) and not attends(plain())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"label": "z", "by": "gradient"}, "--label: expected one of a, b, c, got z"),
        ({"label": "a"}, "--label: expected only with --by gradient, grad-cam or integrated-gradients"),
        ({"by": "attention"}, "--by: expected gradient, grad-cam or integrated-gradients for this run, got attention"),
    ],
)
def test_what_means_nothing_is_refused(words, message):
    with pytest.raises(ArgumentError, match=message):
        LookRequest(**words).check(plain(), LABELS)
