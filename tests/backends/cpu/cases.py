"""What the tests of both ways of this backend share: shapes, masks, and how near to the truth is near enough."""

import torch

from near import assert_near
from saccade import attend, masks, normalizers, scores


def draw(*shape, scale=1.0, seed=0):
    return (scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)).float()


def run(backend, query, key, value, v, mask=None, temperature=1.0, dtype=torch.float32):
    """Output and gradients of all four."""
    leaves = [tensor.detach().to(dtype).requires_grad_() for tensor in (query, key, value, v)]
    options = {"score": scores.Additive(leaves[3]), "normalizer": normalizers.Softmax(temperature), "mask": mask}
    output = attend(*leaves[:3], backend=backend, **options)
    ramp = torch.linspace(-1, 2, output.numel(), dtype=dtype).reshape(output.shape)
    return [output, *torch.autograd.grad((output * ramp).sum(), leaves)]


def assert_as_defined(*inputs, **options):
    found = run("cpu", *inputs, **options)

    def plain(query, key, value, v):
        return run("reference", query, key, value, v, **options, dtype=query.dtype)

    assert_near(found, plain, *inputs)
    return found


def shapes(queries):
    """Of query, key, value and v, for so many queries."""
    q = queries
    return [
        ((q, 3), (7, 3), (7, 2), (3,)),
        ((2, q, 17), (2, 7, 17), (2, 7, 4), (17,)),
        ((2, 3, q, 4), (2, 3, 7, 4), (2, 3, 7, 4), (3, 4)),
        ((2, 3, q, 4), (2, 3, 7, 4), (2, 3, 7, 4), (2, 3, 4)),
        ((2, 3, 4, q, 2), (2, 3, 1, 7, 2), (2, 3, 1, 7, 2), (2,)),
        ((2, 3, 4, q, 2), (2, 3, 1, 7, 2), (2, 3, 1, 7, 2), (3, 1, 2)),
        ((1, q, 2), (3, 7, 2), (1, 7, 2), (2,)),
        ((3, q, 2), (1, 7, 2), (3, 7, 2), (2,)),
        ((q, 2), (3, 7, 2), (7, 6), (2,)),
        ((2, 0, 3), (2, 7, 3), (2, 7, 2), (3,)),
        ((2, q, 3), (2, 0, 3), (2, 0, 2), (3,)),
        ((0, q, 3), (0, 7, 3), (0, 7, 2), (3,)),
        ((2, q, 3), (2, 7, 3), (2, 7, 0), (3,)),
        ((0, q, 3), (0, 7, 3), (0, 7, 2), (0, 3)),
    ]


def flags(*shape, density=0.5, seed=0):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < density


def allowed(queries):
    """Masks of two entries, so many queries and seven keys, by name."""
    return {
        "dense": flags(2, queries, 7),
        "keys": torch.tensor([True, False, True, True, False, False, True]),
        "of one key": torch.tensor([[True], [False]])[:, None],
        "queries": flags(queries, 1, seed=1),
        "causal": masks.Causal(align=2),
        "window": masks.Window(1, 1, align=0),
        "lengths": masks.Lengths(torch.tensor([0, 4])),
        "composed": masks.Lengths(torch.tensor([7, 3])) & ~masks.Causal(align=0),
        "nothing": torch.zeros(7, dtype=torch.bool),
    }


SCALES = [1e-6, 1e-3, 0.05, 0.2, 0.3, 1.0, 5.0, 12.0, 20.0, 40.0, 60.0, 100.0, 300.0, 1e4]
