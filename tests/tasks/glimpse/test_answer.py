"""What an eye's answer draws: which tile a mark is on."""

import pytest
import torch

from saccade.models.tiles import Options, Tiles
from saccade.tasks.glimpse.answer import answers
from saccade.tasks.glimpse.options import LookRequest
from saccade.tasks.glimpse.spelling import Spelling
from saccade.tasks.image.images import Pixels


@pytest.mark.parametrize("patch", [1, 2])
def test_a_mark_is_on_the_tile_that_was_read(patch):
    torch.manual_seed(0)
    model = Tiles(1, 2, Options(patch=patch, thumbnail=1, hidden_dim=6, glimpse_dim=4, glimpses=12)).eval()
    image = Pixels("a.png", torch.randint(256, (1, 4, 6), dtype=torch.uint8))
    with torch.inference_mode():
        (answer,) = answers(model, [image], Spelling(("x", "y")), 1, 1, 0, "pictures", LookRequest())
    middles = torch.tensor([[column + 0.5, row + 0.5] for row, column in answer.maps.marks]) * patch
    torch.testing.assert_close((answer.seen.location + 1) / 2 * torch.tensor([6, 4]), middles)
