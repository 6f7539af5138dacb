import pytest
import torch

from saccade import AuxRequest, attend, masks, reads, scores
from saccade.auxiliary import AuxOutput
from saccade.backends.blockwise.callables import joined
from saccade.backends.blockwise.engine import engine_named
from saccade.errors import ArgumentError

X = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(5))
Y = torch.randn(2, 7, 4, generator=torch.Generator().manual_seed(6))


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
    assert seen[-3:] == [2, 2, 1]
    assert sorted(seen[:-3]) == [1, 1, 2]  # a block, and its rows alone
    seen.clear()
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


def near(query, key, positions):
    i, j = positions
    return query @ key.mT - (i - j).abs()


class Near(torch.nn.Module):
    def forward(self, query, key, scale=1.0, *, positions):
        return near(query, key, positions) * scale


ASKING = {
    "a name": {"score": near},
    "a third argument": {"score": lambda query, key, where: near(query, key, where)},
    "a module": {"score": Near()},
    "a normalizer": {"normalizer": lambda found, mask, positions: found.softmax(-1) * (positions[0] >= positions[1])},
}


@pytest.mark.parametrize("name", ASKING)
def test_who_asks_is_told_where_rows_and_keys_stand(name, backend):
    found, expected = (attend(X, Y, Y, backend=one, **ASKING[name]) for one in (backend, "reference"))
    torch.testing.assert_close(found, expected)
    i, j = torch.arange(5)[:, None], torch.arange(7)
    if "score" in ASKING[name]:
        torch.testing.assert_close(found, (X @ Y.mT - (i - j).abs()).softmax(-1) @ Y)


def index(query, key):
    return query @ key.mT - (torch.arange(query.shape[-2])[:, None] - torch.arange(key.shape[-2])).abs()


class Own(scores.Score):
    def __call__(self, query, key):
        return index(query, key)

    def bound(self, query, key):
        return index(query, key)


CUT = {
    "an index": ({"score": index}, "score"),
    "every second row": ({"score": lambda q, k: (torch.arange(q.shape[-2])[:, None] % 2 + q) @ k.mT}, "score"),
    "a method": ({"score": Own().bound}, "score"),
    "a class": ({"score": Own()}, "score"),
    "over queries": ({"normalizer": lambda found, mask: found.softmax(-2)}, "normalizer"),
}


@pytest.mark.parametrize("name", CUT)
def test_what_rows_may_not_depend_on_is_refused_in_one_line(name, backend):
    options, argument = CUT[name]
    for _ in range(2):  # it is not forgotten
        with pytest.raises(ArgumentError, match=f"^{argument}: expected .* row i .*positions.*reference") as error:
            attend(X, Y, Y, backend=backend, **options)
        assert "\n" not in str(error.value)
    attend(X, Y, Y, backend="reference", **options)


def test_what_is_random_is_not_compared_and_draws_as_before(backend):
    drawn = []

    def noisy(query, key):
        drawn.append(torch.rand(query.shape[-2], key.shape[-2]))
        return query @ key.mT + drawn[-1]

    torch.manual_seed(0)
    attend(X, Y, Y, score=noisy, backend=backend)
    torch.manual_seed(0)
    assert all(torch.equal(one, torch.rand_like(one)) for one in drawn[-3:])
