"""Cells of images and of features: where they lie, what padding does to them, and what is refused."""

import pytest
import torch

from models import laws
from saccade.errors import ArgumentError, ShapeError
from saccade.models.image_encoder import Cells, FeatureEncoder, ImageEncoder, Options, Visual, place_code

OPTIONS = Options(widths="4,6", cell_dim=7)


def test_cells_are_the_map_one_row_after_another():
    torch.manual_seed(0)
    encoder, images = ImageEncoder(3, OPTIONS).double().eval(), torch.rand(2, 3, 24, 40, dtype=torch.double)
    cells = encoder(Visual(images))
    assert cells.shape == (6, 10) and cells.values.shape == (2, 60, 7) and cells.lengths is None
    features = encoder.cnn.features(images)
    for row, column in ((0, 0), (2, 9), (5, 3)):
        code = place_code(torch.tensor([[(column + 0.5) / 10, (row + 0.5) / 6]])).double()[0]
        what = torch.relu(encoder.norm(encoder.project(features[1, :, row, column])[None])[0])
        expected = what + encoder.place(code)
        torch.testing.assert_close(cells.values[1, 10 * row + column], expected)


def test_no_two_places_have_one_code():
    places = torch.cartesian_prod(torch.arange(14) / 14, torch.arange(13) / 13)
    codes = place_code(places)
    distances = torch.cdist(codes, codes) + torch.eye(len(codes)) * 9
    assert float(distances.min()) > 0.3
    near = place_code(torch.tensor([[0.5, 0.5], [0.51, 0.5], [0.9, 0.1]]))
    assert (near[0] - near[1]).norm() < (near[0] - near[2]).norm()


def test_everything_learns():
    torch.manual_seed(0)
    encoder = ImageEncoder(1, OPTIONS)
    laws.parameters_that_learn(encoder, encoder(Visual(torch.rand(3, 1, 16, 16))).values.square().sum())
    assert not [name for name, _ in encoder.named_parameters() if "output" in name]


def test_padding_of_regions_changes_nothing():
    torch.manual_seed(0)
    encoder = FeatureEncoder(5, 7).double()
    features, boxes = torch.randn(2, 6, 5, dtype=torch.double), torch.rand(2, 6, 4, dtype=torch.double)
    cells = encoder(Visual(features, boxes, torch.tensor([6, 4])))
    alone = encoder(Visual(features[1:, :4], boxes[1:, :4]))
    torch.testing.assert_close(cells.values[1:, :4], alone.values)
    torch.testing.assert_close(cells.mean()[1:], alone.mean())
    features[1, 4:] = torch.nan
    torch.testing.assert_close(encoder(Visual(features, boxes, torch.tensor([6, 4]))).mean()[1:], alone.mean())


def test_what_fits_nothing_is_refused():
    with pytest.raises(ShapeError, match="images: expected"):
        ImageEncoder(3, OPTIONS)(Visual(torch.rand(1, 1, 16, 16)))
    for boxes in (None, torch.rand(2, 5, 4), torch.rand(2, 6, 2)):
        with pytest.raises(ShapeError, match="boxes: expected"):
            FeatureEncoder(5, 7)(Visual(torch.rand(2, 6, 5), boxes))
    with pytest.raises(ArgumentError, match="--cell-dim"):
        Options(cell_dim=0)


def test_a_batch_goes_to_a_device_whole():
    whole = Visual(torch.rand(1, 2, 3), torch.rand(1, 2, 4), torch.tensor([2]), torch.tensor([0]))
    assert all(part.device.type == "meta" for part in whole.to(torch.device("meta")))
    assert Visual(torch.rand(1, 3, 8, 8)).to(torch.device("meta")).boxes is None


def test_an_image_of_no_cells_has_a_mean_of_zeros():
    assert Cells(torch.ones(2, 3, 4), torch.tensor([0, 2])).mean().tolist() == [[0.0] * 4, [1.0] * 4]
