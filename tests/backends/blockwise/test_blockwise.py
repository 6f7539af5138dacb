import pytest
import torch

from saccade import AuxRequest, attend, errors, explain, masks, normalizers, reads, scores
from saccade.backends.blockwise.engine import ENGINES, engine_named

BACKENDS = pytest.mark.parametrize("backend", ["chunked", "cpu"])
QUIET = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

OPTIONS = {
    "additive": lambda v, uniform: {"score": scores.Additive(v)},
    "alphas": lambda v, uniform: {
        "score": scores.Additive(v),
        "normalizer": normalizers.Entmax(1.2 + uniform[..., None]),
    },
    "statistics": lambda v, uniform: {
        "score": scores.Additive(v),
        "mask": masks.Causal("end"),
        "read": reads.Sample(uniform=uniform),
        "aux": AuxRequest(lse=True, entropy=True, log_prob=True, top=2, received=True),
    },
}


def inputs(q, k):
    made = torch.randn(2, q, 4), torch.randn(2, k, 4), torch.randn(2, k, 3), torch.randn(4)
    return [*(part.double().requires_grad_() for part in made), torch.rand(2, q).double()]


def evaluated(backend, name, query, key, value, v, uniform):
    found = attend(query, key, value, backend=backend, **OPTIONS[name](v, uniform))
    return torch.utils._pytree.tree_leaves(found)


def gradients(found, leaves):
    total = sum(part.masked_fill(part == -torch.inf, 0.0).sin().sum() for part in found if part.is_floating_point())
    return torch.autograd.grad(total, leaves)


@pytest.fixture
def small_blocks():
    before = {engine: engine.pairs for engine in map(engine_named, ENGINES)}
    for engine in before:
        object.__setattr__(engine, "pairs", 100)
    yield
    for engine, pairs in before.items():
        object.__setattr__(engine, "pairs", pairs)


@pytest.mark.slow
@pytest.mark.usefixtures("small_blocks")
@QUIET
@pytest.mark.parametrize(("name", "backend"), [("alphas", "cpu"), ("statistics", "chunked"), ("statistics", "cpu")])
def test_another_length_is_not_another_graph(name, backend):
    from torch._dynamo.testing import CompileCounterWithBackend

    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(lambda *x: evaluated(backend, name, *x), fullgraph=True, dynamic=True, backend=counter)
    for q, k in ((5, 7), (11, 13), (3, 40), (64, 30)):  # in one block and in several
        given = inputs(q, k)
        found, expected = compiled(*given), evaluated("reference", name, *given)
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(gradients(found, given[:4]), gradients(expected, given[:4]))
        with torch.no_grad():
            torch.testing.assert_close(compiled(*given), expected)
    assert counter.frame_count <= 4  # two with gradients, two without


class Reader(torch.nn.Module):
    def __init__(self, backend, name):
        super().__init__()
        self.backend, self.name = backend, name
        self.v = torch.nn.Parameter(torch.randn(4).double())

    def forward(self, query, key, value, uniform):
        return evaluated(self.backend, self.name, query, key, value, self.v, uniform)


@QUIET
@BACKENDS
@pytest.mark.parametrize("name", OPTIONS)
def test_export(name, backend):
    module = Reader(backend, name)
    q, k = torch.export.Dim("q", min=2, max=4096), torch.export.Dim("k", min=2, max=4096)
    query, key, value, _, uniform = (part.detach() for part in inputs(5, 7))
    shapes = ({1: q}, {1: k}, {1: k}, {1: q})
    program = torch.export.export(module, (query, key, value, uniform), dynamic_shapes=shapes)
    query, key, value, _, uniform = (part.detach() for part in inputs(23, 31))
    torch.testing.assert_close(program.module()(query, key, value, uniform), module(query, key, value, uniform))


@pytest.mark.slow
@QUIET
@BACKENDS
def test_self_attention_passes_a_tensor_once(backend):
    torch._dynamo.reset()
    compiled = torch.compile(
        lambda x, v: attend(x, x, x, score=scores.Additive(v), backend=backend), fullgraph=True, backend="aot_eager"
    )
    x, v = torch.randn(2, 9, 4).double().requires_grad_(), torch.randn(4).double()
    found, expected = compiled(x, v), attend(x, x, x, score=scores.Additive(v), backend="reference")
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(*(torch.autograd.grad(part.sin().sum(), x) for part in (found, expected)))


@BACKENDS
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_the_output_comes_from_the_weights_returned(dtype, backend):
    query, key, value, v, _ = (part.detach().to(dtype) for part in inputs(11, 7))
    query.requires_grad_()
    mask = masks.Lengths(torch.tensor([4, 0]))
    request = AuxRequest(weights=True, lse=True)
    output, aux = attend(query, key, value, score=scores.Additive(v), mask=mask, aux=request, backend=backend)
    assert output.dtype == dtype and (aux.weights[1] == 0).all() and (aux.lse[1] == -torch.inf).all()
    (grad,) = torch.autograd.grad(output.float().sum(), aux.weights)
    expected = value.to(grad.dtype).sum(-1)[:, None].expand(2, 11, 7)
    torch.testing.assert_close(grad[0, :, :4], expected[0, :, :4])


@BACKENDS
def test_a_callable_is_evaluated_and_not_traced(backend):
    query, key, value, _, _ = inputs(5, 7)
    score = lambda q, k: (q @ k.mT).cos()
    found, expected = (attend(query, key, value, score=score, backend=name) for name in (backend, "reference"))
    torch.testing.assert_close(found, expected)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.compiler, "_is_compiling_flag", True)
        with pytest.raises(errors.UnsupportedBackend, match="a callable cannot cross into an opaque operator"):
            attend(query, key, value, score=score, backend=backend)


@BACKENDS
def test_peak_bytes_grow_with_length_alone(backend):
    def peak(length):
        x = torch.empty(1, length, 32)
        return explain(x, x, x, score=scores.Cosine(), normalizer=normalizers.Sparsemax(), backend=backend).peak_bytes

    long = 1 << 16
    assert peak(2 * long) - peak(long) == 4 * 3 * 32 * long  # float32 copies of query, key and value
    assert peak(64) < 64 * 64 * 4 * 8


@BACKENDS
@pytest.mark.parametrize("pairs", [100, 1 << 19])
def test_the_output_may_be_written_into(backend, pairs, monkeypatch):
    """In one block and in several, as autograd lets one write into what it computed."""
    monkeypatch.setitem(vars(engine_named(backend)), "pairs", pairs)
    x = torch.randn(2, 9, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for more in ({}, {"score": scores.Additive(torch.ones(4, dtype=torch.float64))}, {"aux": AuxRequest(entropy=True)}):
        found = []
        for one in (backend, "reference"):
            leaf = x.clone().requires_grad_()
            output = attend(leaf, leaf, leaf, backend=one, **more)
            output = output[0] if "aux" in more else output
            output.mul_(3.0).sin().sum().backward()
            found.append((output, leaf.grad))
        torch.testing.assert_close(*found)
