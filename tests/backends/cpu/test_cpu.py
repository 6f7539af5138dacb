"""What it refuses, what it leaves to others, and what `explain` says."""

import dataclasses

import pytest
import torch

from backends.cpu.cases import draw
from saccade import AuxRequest, attend, errors, explain, masks, normalizers, reads, remember, scores
from saccade._dispatch import choose
from saccade.backends import cpu
from saccade.kernels import threads
from tiers import every

ADDITIVE = {"score": scores.Additive(torch.ones(6))}
CALLABLE = {"score": lambda query, key: query @ key.mT}

SERVED = {
    "dot": {"score": scores.Dot()},
    "sparse": {"score": scores.Cosine(), "normalizer": normalizers.Sparsemax()},
    "sink": {**ADDITIVE, "normalizer": normalizers.Softmax(sink=0.0)},
    "temperatures": {**ADDITIVE, "normalizer": normalizers.Softmax(torch.ones(1))},
    "bias": {**ADDITIVE, "bias": torch.ones(5, 5)},
    "gate": {**ADDITIVE, "gate": torch.ones(5, 5)},
    "top": {**ADDITIVE, "read": reads.TopK(2)},
    "statistics": {**ADDITIVE, "aux": AuxRequest(lse=True)},
    "normalizer": {**ADDITIVE, "normalizer": lambda found, mask: found.softmax(-1)},
    "callable": CALLABLE,
}


@every("name", SERVED)
@every("dtype", cpu.DTYPES)
def test_every_call_on_a_cpu_is_served(name, dtype):
    x, options = draw(2, 5, 6).to(dtype), SERVED[name]
    if isinstance(options.get("score"), scores.Additive):
        options = {**options, "score": scores.Additive(torch.ones(6, dtype=dtype))}
    assert "cpu" not in explain(x, x, x, **options, backend="cpu").why
    found, expected = (attend(x, x, x, **options, backend=backend) for backend in ("cpu", "reference"))
    close = 1e-5 if x.dtype in (torch.float32, torch.float64) else 2e-2
    leaf = lambda part: part[0] if isinstance(part, tuple) else part
    torch.testing.assert_close(leaf(found), leaf(expected), rtol=close, atol=close)


def test_where_there_is_no_numba_it_says_so(monkeypatch):
    monkeypatch.setitem(threads._state, "numba", "Numba cannot be imported: none here")
    x = draw(2, 5, 6)
    with pytest.raises(errors.UnsupportedBackend, match="backend='cpu': Numba cannot be imported: none here"):
        attend(x, x, x, backend="cpu")
    assert explain(x, x, x, **ADDITIVE).why["cpu"] == "Numba cannot be imported: none here"
    long = torch.empty(1, 4096, 6)
    assert explain(long, long, long, **ADDITIVE).backend == "chunked"
    assert attend(x, x, x, **ADDITIVE).shape == (2, 5, 6)


def test_another_device_is_told():
    x = torch.empty(2, 5, 6, device="meta")
    with pytest.raises(errors.UnsupportedBackend, match="on a CPU, and this is torch.float32 on meta"):
        attend(x, x, x, score=scores.Additive(torch.ones(6, device="meta")), backend="cpu")


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # of torch's own, at the first dual tensor
def test_tensors_that_are_not_plain_are_told():
    x, dual = draw(2, 5, 6), torch.autograd.forward_ad
    with pytest.raises(errors.UnsupportedBackend, match="plain dense tensors"):
        attend(torch._neg_view(x), x, x, backend="cpu")
    with dual.dual_level(), pytest.raises(errors.UnsupportedBackend, match="forward-mode"):
        moved = dual.make_dual(x, torch.ones_like(x))
        attend(moved, x, x, backend="cpu")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_callable_is_not_traced():
    torch._dynamo.reset()
    x = draw(2, 5, 6)

    def reason(x):
        return explain(x, x, x, **CALLABLE).why["cpu"]

    assert "callable" in torch.compile(reason, backend="eager", fullgraph=True)(x)
    named = torch.compile(lambda x: attend(x, x, x, **CALLABLE, backend="cpu"), backend="eager")
    with pytest.raises(Exception, match="callable cannot cross|its kernels run eagerly"):
        named(x)


def test_a_callable_under_transforms_is_the_reference():
    x = draw(3, 5, 6)
    mapped = torch.func.vmap(lambda row: attend(row, row, row, **CALLABLE, backend="cpu"))(x)
    torch.testing.assert_close(mapped, attend(x, x, x, **CALLABLE, backend="reference"))


def test_transforms_are_served():
    x = draw(3, 5, 6)
    for dtype in cpu.DTYPES[:2]:
        part, score = x.to(dtype), scores.Additive(torch.ones(6, dtype=dtype))
        mapped = torch.func.vmap(lambda row, score=score: attend(row, row, row, score=score, backend="cpu"))(part)
        torch.testing.assert_close(mapped, attend(part, part, part, score=score, backend="reference"))


@pytest.mark.parametrize("backend", ["cpu", "chunked"])
def test_forward_mode_under_transforms_is_the_references(backend):
    x, score = draw(1, 100, 100), scores.Additive(draw(100, seed=1))

    def derivative(**options):
        return torch.func.jvp(lambda query: attend(query, x, x, score=score, **options), (x,), (x,))

    assert all(map(torch.equal, derivative(), derivative(backend="reference")))
    with pytest.raises(errors.UnsupportedBackend, match="forward mode"):
        derivative(backend=backend)


WISE = {
    "additive": (ADDITIVE, "small"),
    "additive, sigmoid": ({**ADDITIVE, "normalizer": normalizers.Sigmoid()}, "small"),
    "sparsemax": ({"normalizer": normalizers.Sparsemax()}, None),
    "entmax": ({"normalizer": normalizers.Entmax()}, None),
    "additive, entmax": ({**ADDITIVE, "normalizer": normalizers.Entmax()}, None),
    "entropy": ({"aux": AuxRequest(entropy=True)}, "small"),
    "sigmoid": ({"normalizer": normalizers.Sigmoid()}, "nothing"),
    "sink": ({"normalizer": normalizers.Softmax(sink=0.0)}, "nothing"),
    "callable": (CALLABLE, "small"),
    "callables": ({**CALLABLE, "normalizer": lambda found, mask: found.softmax(-1)}, "nothing"),
}


@every("name", WISE)
def test_auto_takes_it_where_it_pays(name):
    small, (options, reason) = draw(2, 5, 6), WISE[name]
    found = explain(small, small, small, **options)
    assert (found.backend == "cpu") == (reason is None)
    assert reason is None or (reason in found.why["cpu"] and found.backend in ("reference", "chunked"))
    long = torch.empty(1, 800, 6)
    plan = explain(long, long, long, **options)
    assert (plan.backend == "cpu") == (reason != "nothing")
    assert plan.backend == "cpu" or "nothing of this call" in plan.why["cpu"]


def test_auto_leaves_small_gains_to_the_plain_formula():
    """A softmax with nothing else gains by being compiled from half a million pairs on, one with more earlier."""
    request, mask = {"aux": AuxRequest(lse=True)}, {"mask": masks.Lengths(torch.tensor([3]))}
    for length, served in ((200, ()), (300, (mask,)), (800, ({}, mask))):
        x = torch.empty(1, length, 6)
        for more in ({}, mask):
            assert (explain(x, x, x, **request, **more).backend == "cpu") == (more in served), (length, more)


def test_torchs_kernels_come_first():
    long = torch.empty(1, 300, 6)
    assert explain(long, long, long).backend == "sdpa"
    assert explain(long, long, long, mask=masks.Causal()).backend == "sdpa"


@pytest.mark.parametrize("length", [257, 300, 16384])
def test_auto_takes_additive_scores_from_some_terms_on(length):
    x = torch.empty(1, length, 4)
    plan = explain(x, x, x, score=scores.Additive(torch.ones(4)))
    assert plan.backend == "cpu" and plan.peak_bytes < (64 << 20) + 64 * x.numel()
    few = torch.empty(1, length, 4)[:, : cpu.LITTLE_ADDITIVE // (16 * length) - 1]
    found = explain(few, x, x, score=scores.Additive(torch.ones(4)))
    assert found.backend != "cpu" and "small" in found.why["cpu"]


def test_auto_takes_it_for_any_read_of_a_memory(monkeypatch):
    ran = []
    monkeypatch.setattr(cpu, "run", lambda call, run=cpu.run: ran.append(call) or run(call))
    x = draw(2, 5, 4)
    remember(x, x, score=scores.Additive(torch.ones(4))).read(x[:, :1])
    assert len(ran) == 1


def test_under_autocast_additive_scores_are_of_its_type():
    x = draw(2, 5, 6)
    with torch.autocast("cpu", torch.bfloat16):
        found = attend(x, x, x, **ADDITIVE)
    half = x.bfloat16()
    expected = attend(half, half, half, score=scores.Additive(torch.ones(6).bfloat16()), backend="reference")
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found, expected)


def test_it_is_one_of_the_backends():
    assert choose.BACKENDS["cpu"] is cpu


def test_under_autocast_it_serves_what_is_cast_already():
    x, score = draw(2, 20, 6), scores.Additive(torch.ones(6))
    with torch.autocast("cpu", torch.bfloat16):
        found = attend(x, x, x, score=score, backend="cpu")
        expected = attend(x, x, x, score=score, backend="reference")
    assert found.dtype == expected.dtype == torch.bfloat16
    torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-2)


CALLS = {
    "step": {"score": scores.Additive(torch.ones(6))},
    "blocks": {"score": scores.Additive(torch.ones(6)), "aux": AuxRequest(top=2)},
    "sparsemax": {"normalizer": normalizers.Sparsemax()},
    "entmax": {"normalizer": normalizers.Entmax(torch.full((5, 1), 1.3)), "mask": masks.Causal()},
    "draw": {"read": reads.Sample(uniform=torch.full((5,), 0.4)), "aux": AuxRequest(entropy=True)},
}


def computed(options):
    """Output, statistics and gradient of a call, flat."""
    x = draw(2, 5, 6).requires_grad_()
    found = attend(x, x, x, backend="cpu", **options)
    parts = [part for part in torch.utils._pytree.tree_leaves(found) if part is not None]
    moving = [part for part in parts if part.requires_grad]
    return [*parts, *torch.autograd.grad(sum(part.sum() for part in moving), x)]


@pytest.mark.parametrize("name", CALLS)
def test_what_torch_makes_where_nothing_is_said_plays_no_part(name):
    expected = computed(CALLS[name])
    torch.set_default_dtype(torch.float64)
    try:
        torch.testing.assert_close(computed(CALLS[name]), expected, rtol=0, atol=0)
    finally:
        torch.set_default_dtype(torch.float32)
    x = draw(2, 5, 6)
    with torch.device("meta"), torch.no_grad():
        found = attend(x, x, x, backend="cpu", **CALLS[name])
    found = [part for part in torch.utils._pytree.tree_leaves(found) if part is not None]
    torch.testing.assert_close(found, [part.detach() for part in expected[:-1]], rtol=1e-6, atol=1e-6)


@dataclasses.dataclass(frozen=True)
class Table(scores.Score):
    """A score of somebody else's, which hands over what it keeps."""

    axes = {"table": ("q", "k")}  # noqa: RUF012
    table: torch.Tensor

    def __call__(self, query, key):
        return self.table


def test_scores_that_somebody_keeps_are_not_written_over():
    table = draw(70, 70)
    kept, x = table.clone(), draw(70, 6)
    found = attend(x, x, x, score=Table(table), backend="cpu")
    assert torch.equal(table, kept)
    torch.testing.assert_close(found, attend(x, x, x, score=Table(table), backend="reference"))


def test_beams_that_share_keys_and_their_mask_are_a_step(monkeypatch):
    ran = []
    monkeypatch.setattr(cpu.steps, "run", lambda call, run=cpu.steps.run: ran.append(call) or run(call))
    query, key, v = draw(3, 5, 1, 6), draw(3, 1, 7, 6), scores.Additive(torch.ones(6))
    padding = torch.rand(3, 1, 1, 7, generator=torch.Generator().manual_seed(0)) < 0.6
    own = torch.rand(3, 5, 1, 7, generator=torch.Generator().manual_seed(0)) < 0.6
    for mask in (padding, own):
        found, expected = (attend(query, key, key, score=v, mask=mask, backend=name) for name in ("cpu", "reference"))
        torch.testing.assert_close(found, expected)
    assert len(ran) == 1


SAVED = {
    "a step": (3, {"score": scores.Additive(draw(5, seed=3))}),
    "all pairs": (70, {"score": scores.Additive(draw(5, seed=3))}),
    "under a mask": (70, {"score": scores.Additive(draw(5, seed=3)), "mask": masks.Window(9, 0, "end")}),
    "sparse": (70, {"normalizer": normalizers.Sparsemax()}),
}


@pytest.mark.parametrize("name", SAVED)
def test_hooks_on_saved_tensors_may_change_their_strides(name):
    length, options = SAVED[name]
    shapes = (2, length, 5), (2, 75, 5), (2, 75, 3)
    leaves = [draw(*shape, seed=seed).requires_grad_() for seed, shape in enumerate(shapes)]

    def loss():
        return attend(*leaves, backend="cpu", **options).square().sum()

    expected = torch.autograd.grad(loss(), leaves)
    twist = torch.autograd.graph.saved_tensors_hooks(
        lambda part: part.detach(), lambda part: part.mT.contiguous().mT if part.ndim > 1 else part
    )
    with twist:
        output = loss()
    torch.testing.assert_close(torch.autograd.grad(output, leaves), expected)


INFINITE = {"softmax": normalizers.Softmax(), "sparsemax": normalizers.Sparsemax(), "entmax": normalizers.Entmax(1.5)}


@pytest.mark.parametrize("normalizer", INFINITE.values(), ids=INFINITE)
@pytest.mark.parametrize("masked", [False, True])
def test_scores_of_minus_infinity_alone_are_not_taken_for_a_mask(normalizer, masked):
    query, key, value = torch.full((1, 3, 1), torch.inf), -1 - torch.rand(1, 5, 1), draw(1, 5, 2)
    mask = torch.tensor([[True, False, True, True, True], [False] * 5, [True] * 5]) if masked else None
    found = []
    for backend in ("reference", "cpu"):
        options = {"normalizer": normalizer, "mask": mask, "aux": AuxRequest(entropy=True, top=2), "backend": backend}
        output, aux = attend(query, key, value, **options)
        found.append([output, aux.entropy, *aux.top])
    torch.testing.assert_close(found[1], found[0], equal_nan=True)
    assert found[1][0].isnan().any(-1).tolist() == [[True, not masked, True]]
