import math
import shutil
import zlib

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from laws import checks, smooth
from laws.case import Case
from laws.combinations import interacting
from laws.table import PAIR_BIASES, PAIR_MASKS
from near import assert_near
from saccade import AuxRequest, attend, biases, masks, normalizers, scores
from saccade.backends import flex
from saccade.backends.flex import function

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
