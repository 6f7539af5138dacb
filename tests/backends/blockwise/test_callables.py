import pytest
import torch

from saccade import AuxRequest, attend, masks, reads
from saccade.auxiliary import AuxOutput
from saccade.backends.blockwise.callables import joined
from saccade.backends.blockwise.engine import engine_named


@pytest.fixture(params=["chunked", "cpu"])
def backend(request):
    """Of blocks of two queries."""
    engine = engine_named(request.param)
    before = engine.pairs
    object.__setattr__(engine, "pairs", 2 * 2 * 7)
    yield request.param
    object.__setattr__(engine, "pairs", before)


def evaluated(backend):
    """Output, statistics and gradients, that of a closure's parameter last."""
    numbers = torch.Generator().manual_seed(0)
    shapes = (2, 5, 4), (2, 7, 4), (2, 7, 3), (4, 4)
    *leaves, matrix = (torch.randn(*shape, generator=numbers, dtype=torch.float64).requires_grad_() for shape in shapes)
    request = AuxRequest(index=True, log_prob=True, top=2, received=True)
    uniform = torch.rand(2, 5, generator=numbers, dtype=torch.float64)
    output, aux = attend(
        *leaves,
        score=lambda query, key: query @ matrix @ key.mT,
        normalizer=lambda found, mask: found.sigmoid(),
        mask=masks.Lengths(torch.tensor([4, 0])) & masks.Causal("end"),
        read=reads.Sample("straight_through", uniform=uniform),
        aux=request,
        backend=backend,
    )
    total = output.sin().sum() + aux.log_prob.sum() + aux.received.square().sum() + aux.top[0].sum()
    first = torch.autograd.grad(total, (*leaves, matrix), create_graph=True)
    second = torch.autograd.grad(sum(part.square().sum() for part in first), (*leaves, matrix))
    return [output, *torch.utils._pytree.tree_leaves(aux), *first, *second]


def test_callables_go_by_blocks_with_all_their_derivatives(backend):
    torch.testing.assert_close(evaluated(backend), evaluated("reference"))


def test_a_block_is_as_many_rows_as_fit(backend):
    seen = []
    query, key = torch.randn(2, 5, 4), torch.randn(2, 7, 4)

    def score(query, key):
        seen.append(query.shape[-2])
        return query @ key.mT

    attend(query, key, key, score=score, backend=backend)
    assert seen == [2, 2, 1]


def test_statistics_of_blocks_are_joined():
    parts = [
        AuxOutput(
            lse=torch.ones(2, n),
            weights=torch.ones(2, n, 7),
            received=torch.full((2, 7), float(n)),
            top=(torch.ones(2, n, 3),) * 2,
        )
        for n in (2, 2, 1)
    ]
    found = joined(parts)
    assert found.lse.shape == (2, 5) and found.weights.shape == (2, 5, 7) and found.entropy is None
    assert (found.received == 5).all() and [part.shape for part in found.top] == [(2, 5, 3)] * 2
