"""`plainly` runs every call by plain operations of torch, in one thread, and computes what kernels compute."""

import contextlib
import re
import subprocess
import threading

import pytest
import torch

from launches import launched, own_nodes
from laws import checks
from laws.case import Case, differentiable, learning
from laws.table import BIASES, GATES, MASKS, NORMALIZERS, READS, SCORES
from models import test_answerers as answerers
from models import test_ram as ram
from nn.test_replaced_layers import MODULES, X
from saccade import AuxRequest, attend, explain, masks, normalizers, plainly, reads, remember, scores
from saccade import nn as ours
from saccade._dispatch.choose import BACKENDS
from saccade.errors import UnsupportedBackend
from saccade.models.words import ProjectedWords, token_losses
from tiers import every
from tiny import environment, python

ADDITIVE = {"score": scores.Additive(torch.linspace(-1, 1, 8))}
CALLS = {
    **{f"score {name}": Case(name, "sum" if "nonnegative" in SCORES[name].traits else "softmax") for name in SCORES},
    **{f"normalizer {name}": Case("additive", name) for name in NORMALIZERS if not name.startswith("sum")},
    **{f"mask {name}": Case("additive", mask=name) for name in MASKS},
    **{f"bias {name}": Case("additive", bias=name) for name in BIASES},
    **{f"gate {name}": Case("additive", gate=name) for name in GATES},
    **{f"read {name}": Case("additive", read=name) for name in READS},
}
MODULES = {
    **MODULES,
    "experts": (lambda: ours.MixtureOfExperts(4, 5, 2), lambda module: module(X[..., :4])[0]),
    "groups of experts": (lambda: ours.MixtureOfExperts(4, 6, 1, groups=3), lambda module: module(X[..., :4])[0]),
    "gates": (lambda: ours.GatedLSTM(6, 4), lambda module: module(X)[0]),
    "glimpse": (lambda: ours.Glimpse(ours.Retina(2, 2)), lambda module: module(X[:, None], X[:, 0, :2])),
    "sparse heads": (
        lambda: ours.MultiheadAttention(6, 2, normalizer=normalizers.Sparsemax()),
        lambda module: module(X),
    ),
}


def drawn(length=300, width=8):
    return torch.randn(2, length, width)


def found(case, inputs):
    """The output, the statistics and the gradients of a call."""
    inputs = differentiable(inputs)
    output, aux = case.run(inputs, case.everything())
    return [output, aux], checks.gradients(checks.pulled(output, aux), learning(inputs)), own_nodes(output, aux)


@pytest.mark.parametrize("dtype", [torch.float32, pytest.param(torch.float64, marks=pytest.mark.slow)])
@every("name", CALLS)
def test_every_call_computes_the_same_without_a_kernel(name, dtype):
    case = CALLS[name].on("auto")
    case = Case(**{**vars(case), "dtype": dtype})
    inputs = case.inputs()
    (outside, due, _), (named, _, _) = found(case, inputs), found(case.on("cpu"), inputs)
    with launched() as names, plainly():
        inside, gradients, nodes = found(case, inputs)
    assert not names and not nodes
    for results in (outside, named):
        checks.same(inside, results)
    checks.same(gradients, due)


@every("name", MODULES)
def test_every_module_computes_the_same_without_a_kernel(name):
    make, call = MODULES[name]
    module = make().eval()

    def results():
        output = call(module)
        learned = [part for part in module.parameters() if part.requires_grad]
        return [output, *torch.autograd.grad(output.square().sum(), learned, allow_unused=True)], own_nodes(output)

    def compare(one, other):
        pairs = [pair for pair in zip(one, other, strict=True) if pair[0] is not None]
        torch.testing.assert_close(*zip(*pairs, strict=True), rtol=1e-3, atol=1e-5)

    outside, _ = results()
    with torch.no_grad():
        unrecorded = call(module)
    with launched() as names, plainly():
        inside, nodes = results()
        with torch.no_grad():
            compare([unrecorded], [call(module)])
    assert not names and not nodes
    compare(inside, outside)


@every("name", [*answerers.KINDS, *ram.MODELS])
def test_every_model_of_images_costs_the_same_without_a_kernel(name):
    """The models that write, label texts or memorize are held to `models.laws.the_same_plainly`."""
    if name in ram.MODELS:
        model, batch = ram.MODELS[name](), (ram.IMAGES, ram.LABELS, 0.5)
    else:
        model, batch = answerers.made(name), (answerers.images(), answerers.QUESTION, answerers.WANTED)
    costs = []
    for block in (contextlib.nullcontext(), plainly()):
        torch.manual_seed(1)
        with block, launched() as names:
            cost = model.eval().cost(*batch)
            gradients = torch.autograd.grad(cost, list(model.parameters()), allow_unused=True)
        costs.append([cost, *(grad for grad in gradients if grad is not None)])
    assert not names and not own_nodes(cost)
    torch.testing.assert_close(*costs, rtol=1e-3, atol=1e-5)


def test_kernels_and_shortcuts_run_outside_alone():
    """Each of these calls runs something else outside, or this law would hold of nothing."""
    x, short = drawn(), drawn(1)
    with torch.no_grad():
        memory = remember(x, x, **ADDITIVE)
        memory.read(short)
    calls = {
        "the formula of torch": lambda: attend(x, x, x),
        "additive": lambda: attend(x, x, x, **ADDITIVE),
        "a step": lambda: memory.read(short),
        "rows": lambda: normalizers.Sparsemax()(x, None),
        "a draw": lambda: attend(x, x, x, **ADDITIVE, read=reads.Sample()),
        "losses": lambda: token_losses(x, torch.nn.Linear(8, 5), torch.ones(2, 300, dtype=torch.int64))[0],
        "experts": lambda: ours.MixtureOfExperts(8, 4, 2)(x),
        "nested": lambda: attend(*[torch.nested.as_nested_tensor([x[0], x[1, :7]], layout=torch.jagged)] * 3),
    }
    for name, call in calls.items():
        with torch.no_grad(), launched() as outside:
            call()
        assert outside, name
        with torch.no_grad(), plainly(), launched() as inside:
            call()
        assert not inside, name


def test_a_step_over_a_window_reads_all_keys_and_gathers_none():
    x = drawn(1000)
    window, step = masks.Window(3, 0, align="end"), x[:, -1:]
    with plainly():
        plan = explain(step, x, x, mask=window)
        inside = attend(step, x, x, mask=window)
    assert plan.terms == 2 * 1000 * 8 and explain(step, x, x, mask=window).terms < 100 * 8
    torch.testing.assert_close(attend(step, x, x, mask=window), inside)


def test_projected_words_make_no_table():
    words, embedding, linear = ProjectedWords(), torch.nn.Embedding(5, 4), torch.nn.Linear(4, 3)
    tokens = torch.arange(5).repeat(4)
    with plainly(), torch.no_grad():
        for _ in range(3):
            projected = words.project(embedding, linear, tokens, embedding(tokens))
    assert words.table is None and torch.equal(projected, linear(embedding(tokens)))


def test_the_plan_says_so():
    x = drawn()
    with plainly():
        plan = explain(x, x, x, **ADDITIVE)
        lazily = explain(x, x, lambda index: x[index], read=reads.TopK(2))
    reason = "saccade.plainly() is on, and it runs the reference alone"
    assert plan.backend == lazily.backend == "reference"
    assert plan.why == lazily.why == {name: reason for name in BACKENDS if name != "reference"}
    assert explain(x, x, x, **ADDITIVE).backend == "cpu"


@every("backend", [name for name in BACKENDS if name != "reference"])
def test_another_backend_by_name_is_refused(backend):
    x = drawn(5)
    sentence = f"backend='{backend}': saccade.plainly() is on, and it runs the reference alone; take backend='auto'"
    with plainly():
        for call in (attend, explain):
            with pytest.raises(UnsupportedBackend, match=f"^{re.escape(sentence)}$"):
                call(x, x, x, backend=backend)
        assert torch.equal(attend(x, x, x, backend="reference"), attend(x, x, x))


def test_blocks_are_nested_and_end_with_an_error():
    x = drawn()

    def backend():
        return explain(x, x, x).backend

    with plainly():
        with plainly():
            assert backend() == "reference"
        assert backend() == "reference"
        with pytest.raises(ZeroDivisionError), plainly():
            raise ZeroDivisionError
        assert backend() == "reference"
    with pytest.raises(ZeroDivisionError), plainly():
        raise ZeroDivisionError
    assert backend() == "sdpa" and [plainly()(backend)() for _ in range(2)] == ["reference"] * 2
    assert backend() == "sdpa"


def test_other_threads_keep_their_kernels():
    x, plans = drawn(), []
    thread = threading.Thread(target=lambda: plans.append(explain(x, x, x, **ADDITIVE).backend))
    with plainly():
        thread.start()
        thread.join()
    assert plans == ["cpu"]


def test_a_backward_in_the_block_has_the_gradients_of_its_forward():
    x = drawn().requires_grad_()
    output = attend(x, x, x, **ADDITIVE)
    with plainly():
        inside = torch.autograd.grad(output.square().sum(), x, retain_graph=True)
    torch.testing.assert_close(inside, torch.autograd.grad(output.square().sum(), x), rtol=1e-4, atol=1e-5)


def test_a_function_that_closes_over_parameters_sees_all_rows_once():
    x, rows = drawn(), []

    def score(query, key):
        rows.append(query.shape[-2])
        return query @ key.mT

    with plainly():
        attend(x, x, x, score=score, aux=AuxRequest(entropy=True))
    assert rows == [300]


class Additive(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.v = torch.nn.Parameter(torch.linspace(-1, 1, 4))

    def forward(self, query, key, lengths):
        return attend(query, key, key, score=scores.Additive(self.v), mask=masks.Lengths(lengths))


class Half(torch.nn.Module):
    def forward(self, query, key, lengths):
        mask = masks.Window(key.shape[1] // 2, 1, align="start") & masks.Lengths(lengths)
        return attend(query, key, key, score=scores.Additive(torch.ones(4)), mask=mask)


class Call(torch.nn.Module):
    def __init__(self, case):
        super().__init__()
        self.case = case

    def forward(self, inputs):
        return checks.packed(self.case.run(inputs, self.case.everything()))


QUERIES, KEYS = (torch.export.Dim(name, min=2, max=4096) for name in ("queries", "keys"))
TORCHS_OWN = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


def sized(queries, keys):
    draws = torch.Generator().manual_seed(queries)
    return (*(torch.randn(2, size, 4, generator=draws) for size in (queries, keys)), torch.tensor([3, keys]))


def exported(module, **more):
    shapes = ({1: QUERIES}, {1: KEYS}, {})
    return torch.export.export(module, sized(5, 7), dynamic_shapes=shapes, **more)


def operators(program):
    """The operators of Saccade in a program."""
    return {str(node.target) for node in program.graph.nodes if "saccade" in str(node.target)}


@TORCHS_OWN
@pytest.mark.parametrize("module", [Additive, pytest.param(Half, marks=pytest.mark.slow)])
@pytest.mark.parametrize("strict", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_program_exported_in_the_block_computes_attention_of_any_length(module, strict):
    with plainly():
        program = exported(module(), strict=strict)
    assert operators(program) == set()
    torch.testing.assert_close(program.module()(*sized(23, 31)), module()(*sized(23, 31)), atol=1e-6, rtol=0)


@TORCHS_OWN
@pytest.mark.slow
def test_a_program_exported_outside_has_our_operator():
    program = exported(Additive())
    assert operators(program) == {"saccade.blockwise_forward.default"}
    torch.testing.assert_close(program.module()(*sized(23, 31)), Additive()(*sized(23, 31)), atol=1e-6, rtol=0)


WITHOUT = """
import sys
sys.modules["saccade"] = None  # its import raises
import torch
inputs, expected = torch.load(sys.argv[2])
output = torch.export.load(sys.argv[1]).module()(*inputs)
print((output - expected).abs().max().item())
"""


@TORCHS_OWN
@pytest.mark.slow  # a process of its own
def test_such_a_program_runs_without_saccade(tmp_path):
    with plainly():
        torch.export.save(exported(Additive()), tmp_path / "additive.pt2")
    inputs = sized(23, 31)
    torch.save((inputs, Additive()(*inputs).detach()), tmp_path / "expected.pt")
    command = [*python("-W", "ignore", "-c", WITHOUT), tmp_path / "additive.pt2", tmp_path / "expected.pt"]
    process = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    assert float(process.stdout) <= 1e-6


@TORCHS_OWN
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CALLS if not re.search("callable|where|position", name)])
def test_every_call_is_exported(name):
    module = Call(CALLS[name].on("auto"))
    inputs = module.case.inputs()
    with plainly():
        program = torch.export.export(module, (inputs,))
    assert operators(program) == set()
    checks.same(program.module()(inputs), module(inputs), 1e-6)


def traced(graphs):
    """A backend of torch.compile that keeps the operations of its graphs and runs them eagerly."""

    def compiler(module, inputs):
        graphs.append({str(node.target) for node in module.graph.nodes})
        return module.forward

    return compiler


@TORCHS_OWN
@pytest.mark.slow  # torch imports its compiler
def test_a_compiled_function_keeps_the_way_of_the_call_that_compiled_it():
    x, graphs = drawn(7), []

    def call(x):
        return attend(x, x, x, **ADDITIVE)

    compiled = torch.compile(call, backend=traced(graphs), fullgraph=True)
    with plainly():
        compiled(x)
    assert len(graphs) == 1 and not any("blockwise" in name for name in graphs[0])
    torch.testing.assert_close(compiled(x), call(x))
    assert len(graphs) == 1
    torch.compiler.reset()
    compiled(x)
    with plainly():
        compiled(x)
    assert len(graphs) == 2 and any("blockwise" in name for name in graphs[1])


@TORCHS_OWN
@pytest.mark.slow
def test_a_block_in_a_compiled_function_breaks_its_graph():
    x = drawn(7)

    def call(x):
        with plainly():
            return x * 2, explain(x, x, x).backend

    broken = torch.compile(call, backend="eager")(x)
    assert torch.equal(broken[0], 2 * x) and broken[1] == "reference" and explain(x, x, x).backend == "sdpa"
    torch.compiler.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported, match="ContextVar"):
        torch.compile(call, backend="eager", fullgraph=True)(x)
