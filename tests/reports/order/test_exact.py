import torch

from saccade.reports.order.exact import HOLDS, LAYERS, deviation
from tiers import every


@every("name", LAYERS)
def test_every_layer_is_its_definition(name):
    found = deviation(name)
    assert found < HOLDS if LAYERS[name].holds else found > 0.01
    assert deviation(name) == found != deviation(name, seed=2)


def test_the_global_generator_is_left_as_it_was():
    before = torch.random.get_rng_state()
    deviation("GRU")
    assert torch.equal(torch.random.get_rng_state(), before)
