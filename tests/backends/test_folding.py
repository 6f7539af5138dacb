import math

import torch

from backends.cpu.cases import draw, flags
from saccade.backends.folding import folded
from tiers import every

CASES = [  # batch; query, key, value, v, mask
    ((), (5, 3), (7, 3), (7, 2), (3,), None),
    ((2,), (2, 5, 3), (2, 7, 3), (2, 7, 2), (3,), (2, 5, 7)),
    ((2, 3), (2, 3, 5, 3), (2, 3, 7, 3), (2, 3, 7, 2), (3, 3), (5, 1)),
    ((2, 3), (2, 3, 5, 3), (2, 1, 7, 3), (2, 1, 7, 2), (3,), None),
    ((2, 3), (2, 3, 5, 3), (2, 1, 7, 3), (2, 1, 7, 2), (3,), (2, 3, 1, 7)),
    ((2, 3), (2, 3, 5, 3), (2, 1, 7, 3), (2, 1, 7, 2), (3,), (2, 1, 1, 7)),
    ((4, 3), (5, 3), (4, 1, 7, 3), (3, 7, 2), (4, 1, 3), (1, 1)),
    ((0, 3), (0, 3, 5, 3), (0, 1, 7, 3), (0, 1, 7, 2), (3,), None),
]


@every(("batch", "query", "key", "value", "v", "mask"), CASES)
def test_every_entry_is_in_its_place(batch, query, key, value, v, mask):
    parts = [draw(*shape, seed=seed) for seed, shape in enumerate((query, key, value, v, key))]
    allowed = None if mask is None else flags(*mask)
    found = folded(batch, *parts, allowed)
    count, rows = found.query.shape[:2]
    assert count * rows == math.prod(batch) * 5 and found.key.shape == (count, 7, 3) == found.powers.shape

    def scored(query, key, value, v, powers, mask):
        made = ((query[..., :, None, :] * key[..., None, :, :] + powers[..., None, :, :]) * v[..., None, None, :]).sum(
            -1
        )
        return (made if mask is None else made.masked_fill(~mask, 0.0)) @ value

    torch.testing.assert_close(scored(*found).reshape(*batch, 5, 2), scored(*parts, allowed).expand(*batch, 5, 2))


def test_queries_that_share_keys_become_rows_without_copy():
    query, key, value = draw(2, 4, 5, 3), draw(2, 1, 7, 3), draw(2, 1, 7, 2)
    found = folded((2, 4), query, key, value, draw(3), key, flags(2, 1, 1, 7))
    assert found.query.shape == (2, 20, 3) and found.mask.shape == (2, 1, 7)
    for part, whole in ((found.query, query), (found.key, key), (found.value, value), (found.powers, key)):
        assert part.data_ptr() == whole.data_ptr()


def test_a_mask_of_each_group_keeps_them_apart():
    found = folded(
        (2, 4), draw(2, 4, 5, 3), draw(2, 1, 7, 3), draw(2, 1, 7, 2), draw(3), draw(2, 1, 7, 3), flags(4, 1, 7)
    )
    assert found.query.shape == (8, 5, 3) and found.mask.shape == (8, 1, 7)
