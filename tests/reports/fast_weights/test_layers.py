import pytest
import torch

from saccade.reports.fast_weights.layers import DENSE, FIXED, LAYERS, LOCATION, SEPARABLE, by_places, matrix
from tiers import every

LENGTH, WIDTH, LONGEST = 5, 6, 7


def made(name):
    torch.manual_seed(1)
    return LAYERS[name].make(WIDTH, LONGEST).double()


def input_of(seed):
    return torch.randn(LENGTH, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@every("name", LAYERS)
def test_a_layer_is_its_matrix_times_its_input(name):
    layer, features = made(name), input_of(2)
    found = torch.einsum("tdse,se->td", matrix(layer, features), features)
    assert float((found - layer(features[None])[0]).detach().abs().max()) < 1e-14


@every("name", LAYERS)
def test_a_convolution_has_one_matrix_for_all_inputs(name):
    layer = made(name)
    one, other = (matrix(layer, input_of(seed)) for seed in (2, 3))
    apart = float((one - other).abs().max())
    assert apart < 1e-14 if name in FIXED else apart > 1e-3


@pytest.mark.parametrize("name", FIXED)
def test_convolution_matrices_depend_on_distance_alone(name):
    layer = made(name)
    found = matrix(layer, input_of(2)).detach()
    jacobian = torch.autograd.functional.jacobian(lambda x: layer(x[None])[0], input_of(2))
    assert float((found - jacobian).abs().max()) < 1e-14
    for place in range(1, LENGTH):
        assert torch.allclose(found[place, :, place], found[0, :, 0], atol=1e-14)
    assert float(by_places(found).triu(1).max()) < 1e-14


def test_by_location_weights_are_those_of_the_query_alone():
    layer, one, other = made(LOCATION), input_of(2), input_of(3)
    other[-1] = one[-1]
    weights = [by_places(matrix(layer, features))[-1] for features in (one, other)]
    assert torch.allclose(*weights)


def test_separable_convolution_mixes_each_channel_by_itself():
    assert made(SEPARABLE).kernel.weight.shape == (WIDTH, 1, LONGEST)
    assert made(DENSE).kernel.weight.shape == (20, 20, LONGEST)
