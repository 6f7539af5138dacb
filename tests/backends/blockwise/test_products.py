import torch

from saccade import attend, masks, scores
from saccade._definitions.structure import Grid
from saccade.backends.blockwise.products import WORTH, Sliding, Unread, folds, multiplied, multiply


def sliding(length=512, width=192, step=64, **options):
    """Keys of windows that overlap, `(2, tiles, width, 5)`, none of whose dimensions can be seen as one."""
    x = torch.randn(2, length, 5, generator=torch.Generator().manual_seed(1), **options)
    return x.unfold(1, width, step).mT


def test_overlapping_matrices_are_multiplied_as_copies_of_them():
    keys = sliding()
    rows = torch.randn(2, 6, 64, 192, generator=torch.Generator().manual_seed(2))
    assert not folds(keys)
    assert WORTH > 6 * 64 * 192 * 5  # too little work for a call of its own: copied
    wide = keys.repeat(1, 1, 1, 8)
    views = torch.cat([wide, wide], 1)[:, :6]  # no longer one dimension either, and worth it
    assert not folds(views)
    for right in (keys, views):
        torch.testing.assert_close(multiply(rows, right), rows @ right.contiguous())
        room = torch.empty(2, 6, 64, right.shape[-1])
        assert multiply(rows, right, room) is room or torch.equal(room, multiply(rows, right))
        torch.testing.assert_close(Sliding()(rows, right), rows @ right.contiguous())


def test_one_side_may_have_no_batch_of_its_own():
    views = torch.randn(3, 8, 192, 40)[:, 1:7]
    rows = torch.randn(1, 6, 64, 192)
    torch.testing.assert_close(multiply(rows, views), rows @ views)
    torch.testing.assert_close(multiply(rows[0, 0], views), rows[0, 0] @ views)


def test_gradients_are_those_of_matmul_to_the_second(monkeypatch):
    monkeypatch.setattr("saccade.backends.blockwise.products.WORTH", 1)
    left = torch.randn(1, 3, 2, 4, dtype=torch.float64, requires_grad=True)
    right = torch.randn(2, 5, 4, 3, dtype=torch.float64)[:, 1:4].detach().requires_grad_()
    views = right.new_zeros(2, 5, 4, 3)[:, 1:4].copy_(right).detach().requires_grad_()
    assert not folds(views)
    torch.autograd.gradcheck(multiplied, (left, views))
    torch.autograd.gradgradcheck(multiplied, (left, views))
    result = Unread()(left, views)
    assert not result.any()
    gradients = torch.autograd.grad(result.sum(), (left, views))
    torch.testing.assert_close(gradients, torch.autograd.grad((left @ views).sum(), (left, views)))


def test_blocks_that_are_alike_share_one_mask():
    start, places = (
        torch.tensor([0, 4, 8])[:, None, None],
        torch.arange(4)[None, None] + torch.tensor([0, 4, 8])[:, None, None],
    )
    grid = Grid(12, 12, start, 4, torch.device("cpu"), places)
    each, one = masks.Causal().dense(grid), masks.Causal().dense(grid._replace(alike=True))
    assert one.shape == (1, 4, 4)
    assert torch.equal(each, one.expand(each.shape))


def test_what_nobody_sees_reaches_no_gradient_of_a_cosine():
    generator = torch.Generator().manual_seed(3)
    query, key, value = (torch.randn(2, 400, 8, dtype=torch.float64, generator=generator) for _ in range(3))
    key[:, 380:] = torch.nan
    value[:, 380:] = torch.inf
    mask = masks.Window(70, 0) & masks.Lengths(torch.tensor([380, 300]))
    found = {}
    for backend in ("cpu", "chunked", "reference"):
        tensors = [tensor.clone().requires_grad_() for tensor in (query, key, value)]
        output = attend(*tensors, score=scores.Cosine(3.0), mask=mask, backend=backend)
        found[backend] = [output.detach(), *torch.autograd.grad(output.square().sum(), tensors)]
        assert all(tensor.isfinite().all() for tensor in found[backend])
    for backend in ("cpu", "chunked"):
        torch.testing.assert_close(found[backend], found["reference"])


def test_a_product_without_copies_is_recorded_by_torch():
    """A Function of our own costs as much as a small product."""
    left, right = torch.randn(2, 3, 4, 5, requires_grad=True), torch.randn(2, 3, 5, 6)
    assert "Product" not in type(multiplied(left, right).grad_fn).__name__
    overlapping = torch.randn(2, 400, 130).unfold(1, 300, 1).mT  # (2, 101, 300, 130), views into each other
    kept = multiplied(torch.randn(2, 101, 40, 300, requires_grad=True), overlapping)
    assert "Product" in type(kept.grad_fn).__name__
