import pytest
import torch

from saccade.reports.direct import Budget, size
from saccade.reports.fast_weights.layers import ATTENTION, DENSE, LAYERS
from saccade.reports.fast_weights.recall import KEYS, PAIRS, VALUES, Recaller, drawn, recalled
from tiers import every

CPU = torch.device("cpu")


def test_all_networks_have_same_parameters_within_a_tenth():
    sizes = {name: size(Recaller(name, max(PAIRS))) for name in LAYERS}
    assert max(sizes.values()) <= 1.1 * min(sizes.values())


def test_the_question_is_one_of_the_keys_and_its_answer_the_value_beside_it():
    keys, values, wanted = drawn(5, 50, 1, "test")
    for row in range(50):
        pairs = dict(zip(keys[row, :-1].tolist(), values[row, :-1].tolist(), strict=True))
        assert len(pairs) == 5 and pairs[int(keys[row, -1])] == wanted[row] and values[row, -1] == VALUES
    assert int(keys.min()) >= 0 and int(keys.max()) < KEYS and int(values[:, :-1].max()) < VALUES
    assert torch.equal(keys, drawn(5, 50, 1, "test")[0]) and not torch.equal(keys, drawn(5, 50, 2, "test")[0])


@every("name", LAYERS)
def test_every_layer_is_trained_and_measured(name):
    found = recalled(name, (2, 3), 1, Budget(2, 5.0), CPU)
    assert list(found["pairs"]) == ["2", "3"] and found["distance"] < 1e-12 and found["steps"] == 2
    assert (found["variation"] < 1e-12) is name.startswith("convolution") and found["variation"] <= 1
    assert torch.tensor(found["shown"]).shape == (3, 4, 4) and found["parameters"] > 10_000


def test_pictures_are_of_the_first_seed_alone():
    assert "shown" not in recalled(DENSE, (2,), 2, Budget(1, 5.0), CPU)


@pytest.mark.slow
def test_attention_recalls_what_a_convolution_does_not():
    attending, convolving = (
        recalled(name, (8,), 1, Budget(300, 5.0), CPU)["pairs"]["8"] for name in (ATTENTION, DENSE)
    )
    assert attending > 0.9 > 0.5 > convolving
