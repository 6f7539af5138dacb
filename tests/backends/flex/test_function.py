import math
import shutil
import zlib

import pytest
import torch
from torch.nn.attention.flex_attention import create_block_mask
from torch.utils.checkpoint import checkpoint

from laws import checks, smooth
from laws.case import Case
from laws.combinations import interacting
from laws.table import MASKS, PAIR_BIASES, PAIR_MASKS, Sizes
from near import assert_near
from saccade import AuxRequest, attend, biases, masks, normalizers, scores
from saccade._definitions.structure import Grid
from saccade.backends import flex
from saccade.backends.flex import function
from saccade.backends.flex.folding import Fold
from saccade.backends.flex.function import block_mask
from saccade.backends.flex.points import permitted
from saccade.masks import as_mask
from tiers import every

SCORES = ["dot", "scaled_dot", "scale", "scale_tensor", "softcap", "cosine", "cosine_beta", "general", "general_heads"]
NORMALIZERS = ["softmax", "temperature", "sink"]
SERVED = interacting(SCORES, NORMALIZERS, PAIR_MASKS, PAIR_BIASES, ["none"], ["soft"], ["flex"], seed=21)
LSE = AuxRequest(lse=True)
DERIVED = [
    (score, ("none", "tensor", "prefix_or_causal", "documents")[place % 4]) for place, score in enumerate(SCORES)
]
CAPABILITY = torch.backends.cpu.get_cpu_capability()


def learning(case):
    """The inputs, all floats but the bias's as leaves: a bias that needs gradients is not served."""
    inputs = case.inputs()
    return checks.differentiable(inputs, *(name for name in inputs if name.startswith("bias.")))


@pytest.mark.parametrize("combination", SERVED, ids="-".join)
def test_output_lse_and_gradients_are_the_textbooks(combination, kernels):
    case = Case(*combination, broadcast=zlib.crc32("-".join(combination).encode()) % 2 == 1)
    inputs = learning(case)
    output, aux = case.run(inputs, LSE)
    truth, statistics = case.truth(inputs)
    expected = truth, checks.requested(statistics, LSE)
    checks.same((output, aux), expected)
    leaves = checks.learning(inputs)
    grads = checks.gradients(checks.pulled(output, aux), leaves)
    checks.same(grads, checks.gradients(checks.pulled(*expected), leaves), 1e-7)
    checks.same(case.run(inputs), truth)


@pytest.mark.parametrize(
    ("score", "mask"), [*DERIVED[:4], *(pytest.param(*one, marks=pytest.mark.slow) for one in DERIVED[4:])]
)
def test_first_and_second_derivatives(score, mask, kernels):
    smooth.law_derivatives_of_output(Case(score, mask=mask, backend="flex"))


@pytest.mark.slow
def test_second_derivatives_of_lse_and_a_sink(kernels):
    smooth.differentiates(Case("softcap", "sink", mask="tensor", backend="flex"), LSE)


def test_saved_tensors_may_be_recomputed_or_change_strides(kernels):
    case = Case(mask="causal_end", backend="flex")
    inputs = learning(case)
    saved = torch.autograd.graph.saved_tensors_hooks(torch.Tensor.detach, torch.Tensor.clone)

    def gradients(output):
        return checks.gradients(checks.pulled(output), checks.learning(inputs))

    expected = gradients(case.run(inputs))
    with saved:
        hooked = case.run(inputs)
    checks.same(gradients(hooked), expected, 0, 0)
    checks.same(gradients(checkpoint(case.run, inputs, use_reentrant=False)), expected, 0, 0)


def test_a_graph_that_is_kept_is_run_through_twice(kernels):
    inputs = learning(Case(mask="causal_end", backend="flex"))
    output = Case(mask="causal_end", backend="flex").run(inputs)
    first, second = (checks.gradients(checks.pulled(output), checks.learning(inputs)) for _ in range(2))
    checks.same(first, second, 0, 0)


def test_the_gradient_of_lse_alone(kernels):
    case = Case(mask="causal_end", backend="flex")
    inputs = learning(case)
    grads = checks.gradients(case.run(inputs, LSE)[1].lse.sum(), checks.learning(inputs))
    wanted = checks.gradients(case.on("reference").run(inputs, LSE)[1].lse.sum(), checks.learning(inputs))
    checks.same(grads, wanted)


@pytest.mark.parametrize("sink", [None, 0.5])
@pytest.mark.parametrize("bias", [False, True])
def test_an_empty_row_gives_zeros_whatever_it_holds(bias, sink, kernels):
    query, key, value = (torch.randn(2, 3, n, 4, dtype=torch.float64) for n in (5, 7, 7))
    query[..., 1, :] = torch.nan
    allowed = torch.ones(5, 7, dtype=torch.bool)
    allowed[1] = False
    rule = {"bias": torch.zeros(5, 7).masked_fill(~allowed, -torch.inf)} if bias else {"mask": allowed}
    tensors = [tensor.requires_grad_() for tensor in (query, key, value)]
    normalizer = normalizers.Softmax(sink=sink)
    output, aux = attend(*tensors, **rule, normalizer=normalizer, aux=LSE, backend="flex")
    assert (output[..., 1, :] == 0).all() and (aux.lse[..., 1] == -math.inf).all()
    grads = torch.autograd.grad(checks.pulled(output, aux), tensors)
    assert all(grad.isfinite().all() for grad in grads) and (grads[0][..., 1, :] == 0).all()


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("poison", [math.nan, math.inf])
def test_what_nobody_may_attend_to_influences_nothing(poison, bias, kernels):
    query, key, value = (torch.randn(2, 3, n, 4, dtype=torch.float64) for n in (5, 7, 7))
    lengths = masks.Lengths(torch.tensor([[4], [6]]))
    hidden = torch.arange(7) >= torch.tensor([4, 6])[:, None]
    mask = masks.Causal("end") & lengths
    holes = torch.zeros(2, 1, 1, 7).masked_fill(hidden[:, None, None], -torch.inf)
    rule = {"bias": holes, "mask": masks.Causal("end")} if bias else {"mask": mask}
    results = []
    for filled in (0.0, poison):
        tensors = [query, *(t.masked_fill(hidden[:, None, :, None], filled) for t in (key, value))]
        tensors = [tensor.detach().requires_grad_() for tensor in tensors]
        output = attend(*tensors, **rule, backend="flex")
        results.append((output, *torch.autograd.grad(checks.pulled(output), tensors)))
    checks.same(results[1], results[0], 0, 0)


def test_nan_reaches_the_rows_that_attend_to_it_alone(kernels):
    query, key, value = (torch.randn(1, 6, 4) for _ in range(3))
    key[0, 3] = torch.nan
    output = attend(query, key, value, mask=masks.Causal(), backend="flex")
    assert output[0, 3:].isnan().all() and output[0, :3].isfinite().all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_types(dtype, kernels):
    query, key, value = (torch.randn(2, 3, n, 16).to(dtype) for n in (61, 97, 97))
    output, aux = attend(query, key, value, mask=masks.Causal("end"), aux=LSE, backend="flex")
    exact = attend(query.double(), key.double(), value.double(), mask=masks.Causal("end"), backend="reference")
    assert output.dtype == dtype and aux.lse.dtype == torch.float32
    torch.testing.assert_close(output.double(), exact, rtol=0.02, atol=0.01)


def test_groups_share_keys_and_nothing_is_copied(kernels, monkeypatch):
    seen = []

    def watched(query, key, value, *rest):
        seen.append((query.shape, key.shape, rest[2]))
        return kernels(query, key, value, *rest)

    monkeypatch.setattr(function, "kernel", lambda: watched)
    query, key = torch.randn(2, 3, 4, 5, 8), torch.randn(2, 3, 1, 7, 8)
    mask = masks.Causal("end") & masks.Lengths(torch.tensor([[[4]], [[7]]]))
    output = attend(query, key, key, mask=mask, backend="flex")
    assert seen == [((2, 12, 5, 8), (2, 3, 7, 8), True)]
    torch.testing.assert_close(output, attend(query, key, key, mask=mask, backend="reference"))


@pytest.mark.parametrize("batch", [(), (3,), (2, 3), (2, 1, 3), (2, 3, 1, 2)])
def test_any_number_of_batch_dimensions(batch, kernels):
    query, key = torch.randn(*batch, 5, 8), torch.randn(*batch, 7, 8)
    arguments = {"mask": masks.Prefix(3) | masks.Causal("end"), "bias": biases.Alibi(torch.rand(batch), "end")}
    found = attend(query, key, key, **arguments, backend="flex")
    torch.testing.assert_close(found, attend(query, key, key, **arguments, backend="reference"))


@pytest.mark.parametrize(("batch", "q_len", "k_len"), [((2,), 0, 3), ((2,), 3, 0), ((0,), 3, 4)])
def test_no_pairs(batch, q_len, k_len, kernels):
    output, aux = attend(torch.ones(*batch, q_len, 4), *[torch.ones(*batch, k_len, 4)] * 2, aux=LSE, backend="flex")
    assert output.shape == (*batch, q_len, 4) and (output == 0).all() and (aux.lse == -math.inf).all()


def variety(batch, q_len, k_len):
    lengths = torch.randint(1, k_len + 1, (batch, 1))
    tensors = (torch.randn(batch, 2, length, 16) for length in (q_len, k_len, k_len))
    return tuple(tensors), {
        "score": scores.ScaledDot(softcap=5.0),
        "mask": (masks.Causal("end") | masks.Prefix(40)) & masks.Lengths(lengths),
        "bias": biases.Alibi(torch.rand(2), "end") + torch.randn(1, k_len),
    }


@pytest.mark.slow
@torch.no_grad()
def test_other_lengths_batches_and_numbers_compile_once(monkeypatch):
    from torch._dynamo.testing import CompileCounterWithBackend

    counter = CompileCounterWithBackend("eager")
    fused = torch.compile(function.plain, dynamic=True, fullgraph=True, backend=counter)
    monkeypatch.setattr(function, "kernel", lambda: fused)
    monkeypatch.setattr(flex, "unsupported", flex.unserved)
    for sizes in ((5, 300, 500), (7, 700, 900), (3, 270, 1300)):
        tensors, arguments = variety(*sizes)
        found = attend(*tensors, **arguments, aux=LSE, backend="flex")
        expected = attend(*tensors, **arguments, aux=LSE, backend="reference")
        checks.same((found[0], found[1].lse), (expected[0], expected[1].lse), 1e-3, 1e-4)
        assert counter.frame_count == 1


@pytest.mark.slow
@torch.no_grad()
def test_who_compiles_us_compiles_flex_attention_with_us(monkeypatch):
    from torch._dynamo.testing import CompileCounterWithBackend

    torch._dynamo.reset()  # what was compiled before, by other tests, counts as compiled again
    counter = CompileCounterWithBackend("eager")
    monkeypatch.setattr(flex, "unsupported", flex.unserved)
    call = torch.compile(attend, dynamic=True, fullgraph=True, backend=counter)
    for sizes in ((5, 300, 500), (7, 700, 900)):
        tensors, arguments = variety(*sizes)
        expected = attend(*tensors, **arguments, backend="reference")
        torch.testing.assert_close(call(*tensors, **arguments, backend="flex"), expected, rtol=1e-3, atol=1e-4)
    assert counter.frame_count == 1


@pytest.mark.slow
@torch.no_grad()
@pytest.mark.filterwarnings("ignore:.torch.jit.script_method. is deprecated:DeprecationWarning")  # torch's own
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch compiles for a CPU with g++, and there is none")
@pytest.mark.skipif(CAPABILITY == "DEFAULT", reason="what torch 2.13 writes needs vectors (at::vec::transpose_block)")
def test_torchs_own_compiler_takes_masks_and_biases(monkeypatch):
    fused = torch.compile(function.plain, dynamic=False, fullgraph=True)
    monkeypatch.setattr(function, "kernel", lambda: fused)
    monkeypatch.setattr(flex, "unsupported", flex.unserved)
    tensors, arguments = variety(4, 300, 400)
    found = attend(*tensors, **arguments, backend="flex")
    torch.testing.assert_close(found, attend(*tensors, **arguments, backend="reference"), rtol=1e-3, atol=1e-4)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")  # torch's own look at its inputs
def test_torchs_own_backward_is_traced_on_a_cpu(monkeypatch):
    """On a CPU torch refuses to differentiate; its own plain formulas for both passes are there all the same."""
    monkeypatch.setattr(torch.nn.attention.flex_attention, "_validate_device", lambda query, key, value: None)
    fused = torch.compile(function.plain, dynamic=True, fullgraph=True, backend="aot_eager")
    monkeypatch.setattr(function, "kernel", lambda: fused)
    monkeypatch.setattr(flex, "unsupported", flex.unserved)
    inputs, arguments = variety(3, 300, 500)

    def results(*given, backend="reference", times=1):
        tensors, bias = [tensor.detach().requires_grad_() for tensor in given], arguments["bias"]
        whole = {**arguments, "bias": bias.map(lambda part, axes: part.to(given[0].dtype))}
        output, aux = attend(*tensors, **whole, aux=LSE, backend=backend)
        pull = checks.pulled(output, aux)
        return output, aux.lse, *[torch.autograd.grad(pull, tensors, retain_graph=True) for _ in range(times)]

    *found, once, again = results(*inputs, backend="flex", times=2)
    for grads in (once, again):
        assert_near((*found, grads), results, *inputs)


def test_our_compiled_kernel_is_made_once_and_lazily():
    assert function.compiled() is function.compiled() and function.kernel() is function.compiled()


@pytest.mark.slow
@pytest.mark.skipif(not torch.cuda.is_available(), reason="flex_attention's kernels run on CUDA; there is none")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_on_cuda(dtype):
    for sizes in ((3, 300, 500), (2, 1000, 1300)):
        tensors, arguments = variety(*sizes)
        tensors = [tensor.to("cuda", dtype).requires_grad_() for tensor in tensors]
        arguments = {
            name: part.map(lambda tensor, axes: tensor.to("cuda")) if name != "score" else part
            for name, part in arguments.items()
        }
        results = []
        for backend in ("flex", "reference"):
            output, aux = attend(*tensors, **arguments, aux=LSE, backend=backend)
            total = output.float().square().sum() + aux.lse.masked_fill(aux.lse == -math.inf, 0.0).sum()
            results.append((output, aux.lse, *torch.autograd.grad(total, tensors)))
        checks.same(results[0], results[1], 0.02, 0.02 if dtype == torch.float32 else 0.2)


def folded(q_len, k_len, batch=(2, 3)):
    return Fold(batch, 1, 0, Grid(q_len, k_len, 0, q_len, torch.device("cpu")), torch.float32)


def brute(mask, fold, size):
    """Which blocks hold an allowed pair, and which hold nothing else and end before the last query and key."""
    lengths = fold.grid.q_len, fold.grid.k_len
    allowed = mask.dense(fold.grid).expand(*fold.batch, *lengths)
    padded = torch.nn.functional.pad(allowed, (0, -lengths[1] % size, 0, -lengths[0] % size))
    parts = padded.unflatten(-1, (-1, size)).unflatten(-3, (-1, size)).transpose(-3, -2)
    return parts.any((-2, -1)), parts.all((-2, -1))


@pytest.mark.parametrize("mask", [masks.Causal("end"), masks.Window(2, 1, "start"), masks.Prefix(0)], ids=str)
def test_torchs_block_mask_lists_the_blocks(mask):
    fold, size = folded(11, 13), 3
    some, full = brute(mask, fold, size)
    made = block_mask(mask, fold, size)
    assert made.seq_lengths == (11, 13) and made.BLOCK_SIZE == (3, 3) and made.shape == (1, 1, 11, 13)
    assert torch.equal(made.to_dense()[0, 0].bool(), some[0, 0])
    assert torch.equal(made.full_kv_num_blocks[0, 0].long(), full[0, 0].sum(-1))
    first = made.full_kv_indices[0, 0, -2, : int(made.full_kv_num_blocks[0, 0, -2])]
    assert first.tolist() == full[0, 0, -2].nonzero()[:, 0].tolist()


REFUSED = ("where_batch",)
"""What flex does not serve: its kernels know scalars alone (`points.unknown`)."""

ESTIMATED = ("around", "documents", "composed")
"""Masks, with centres and documents in no order, of which the map may know no more than that a pair may be allowed."""


def listed(counts, indices):
    """Blocks `(B, H, query blocks, key blocks)`, from how many there are in each row, and which."""
    found = torch.zeros(indices.shape, dtype=torch.bool)
    first = torch.arange(indices.shape[-1]) < counts[..., None]
    return found.scatter(-1, indices.long(), first)


def assert_listed(mask, exactly):
    """As torch's own `create_block_mask` lists them of the same function of one query and one key."""
    fold, size, found = folded(11, 13), 3, []
    made = block_mask(mask, fold, size)
    truth = create_block_mask(permitted(mask, fold), 2, 3, 11, 13, device="cpu", BLOCK_SIZE=size)
    for one in (made, truth):
        partly = listed(one.kv_num_blocks, one.kv_indices).expand(2, 3, -1, -1)
        full = listed(one.full_kv_num_blocks, one.full_kv_indices).expand(2, 3, -1, -1)
        assert not (partly & full).any()
        found.append((partly | full, full))
    (looked_at, full), (needed, filled) = found
    assert (looked_at | ~needed).all() and (filled | ~full).all()
    assert not exactly or (torch.equal(looked_at, needed) and torch.equal(full, filled))


@every("inverted", [False, True])
@every("name", [name for name in MASKS if name not in ("none", *REFUSED)])
def test_the_lists_are_those_that_torch_makes(name, inverted):
    case = Case(mask=name, sizes=Sizes((2, 3), 11, 13))
    mask = as_mask(MASKS[name].build(**case.of("mask", case.inputs())))
    assert_listed(~mask if inverted else mask, name not in ESTIMATED)


@pytest.mark.parametrize(
    "mask",
    [
        masks.Documents(torch.arange(11) // 4, torch.arange(13) // 4),
        masks.Around(torch.arange(11) * 1.1, 2.0),
        masks.Causal("end") & masks.Lengths(torch.tensor([[5], [13]])),
    ],
    ids=["documents", "around", "causal lengths"],
)
def test_in_order_they_are_exactly_those(mask):
    assert_listed(mask, exactly=True)
