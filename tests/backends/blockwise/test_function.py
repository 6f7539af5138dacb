import pytest
import torch
from torch.library import opcheck

from interpreter import interpreted
from saccade import AuxRequest, attend, masks, normalizers, reads, scores
from saccade._definitions.structure import encode
from saccade._dispatch import choose
from saccade.backends.blockwise import function
from saccade.backends.blockwise.blocks import floating_results, forward, result_names
from saccade.backends.blockwise.engine import engine_named

STATISTICS = AuxRequest(entropy=True, top=2, received=True)
CASES = {
    "additive": lambda: {"score": scores.Additive(torch.randn(4)), "aux": AuxRequest(lse=True)},
    "alphas": lambda: {
        "score": scores.Additive(torch.randn(4)),
        "normalizer": normalizers.Entmax(torch.linspace(1.2, 2.5, 5)[:, None]),
        "mask": masks.Lengths(torch.tensor([3, 7])),
        "aux": STATISTICS,
    },
    "statistics": lambda: {
        "score": scores.Dot(),
        "mask": torch.rand(5, 7) < 0.7,
        "read": reads.Sample(uniform=torch.rand(2, 5)),
        "aux": AuxRequest(lse=True, index=True, log_prob=True, entropy=True, top=3, received=True),
    },
    "temperature": lambda: {"normalizer": normalizers.Softmax(0.7), "bias": torch.randn(5, 7), "dropout_p": 0.4},
    "weights": lambda: {"normalizer": normalizers.Sparsemax(), "aux": AuxRequest(weights=True)},
}
ENGINE = pytest.mark.parametrize("engine", ["chunked", "cpu"])
CASE = pytest.mark.parametrize("name", CASES)


def call_of(options):
    """The aligned call that the blocks are given."""
    seen, real = [], choose.BACKENDS["chunked"].run
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choose.BACKENDS["chunked"], "run", lambda call: seen.append(call) or real(call))
        query, key, value = torch.randn(2, 5, 4), torch.randn(2, 7, 4), torch.randn(2, 7, 3)
        attend(query, key, value, **options, backend="chunked")
    return seen[0].aligned()


def encoded(call):
    """What the operators take of it."""
    numbers = []
    skeleton = encode(call, numbers)
    leaves = [leaf.tensor for leaf in call.leaves()]
    return [*leaves, torch.tensor(numbers, dtype=torch.float64)], skeleton


@CASE
def test_an_encoded_call_is_restored(name):
    call = call_of(CASES[name]())
    tensors, skeleton = encoded(call)
    again = function.restored(skeleton, tensors)
    assert all(torch.equal(one.tensor, two.tensor) for one, two in zip(call.leaves(), again.leaves(), strict=True))
    for engine in ("reference", "chunked", "cpu"):
        assert all(map(torch.equal, forward(engine_named(engine), call), forward(engine_named(engine), again)))


@ENGINE
@CASE
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_the_forward_operator_is_a_good_one(name, engine):
    tensors, skeleton = encoded(call_of(CASES[name]()))
    opcheck(function.forward_op, (tensors, skeleton, engine))


@ENGINE
@CASE
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_the_backward_operator_is_a_good_one(name, engine):
    call = call_of(CASES[name]())
    tensors, skeleton = encoded(call)
    results = dict(zip(result_names(call), forward(engine_named(engine), call), strict=True))
    grads = [torch.randn_like(results[part]) for part in floating_results(call)]
    wanted = [tensor.is_floating_point() for tensor in tensors[:-1]] + [False]
    opcheck(function.backward_op, (grads, tensors, [], skeleton, engine, wanted))


@ENGINE
def test_the_operators_have_the_strides_of_their_fakes(engine):
    call = call_of({})  # heads transposed behind rows, as in most networks
    call = call.map(lambda tensor, axes: tensor.transpose(0, 1).contiguous().transpose(0, 1))
    tensors, skeleton = encoded(call)
    grads = [torch.randn_like(part) for part in forward(engine_named(engine), call)]
    opcheck(function.forward_op, (tensors, skeleton, engine), test_utils="test_faketensor")
    arguments = grads, tensors, [], skeleton, engine, [True] * 3 + [False]
    opcheck(function.backward_op, arguments, test_utils="test_faketensor")


@interpreted
@pytest.mark.parametrize("top", [0, 3])
@pytest.mark.parametrize("read", [reads.TopK(2), reads.TopK(5), reads.Argmax(), reads.Soft()], ids=str)
def test_kernels_have_the_residuals_of_their_fake(read, top):
    tensors, skeleton = encoded(call_of({"read": read, "aux": AuxRequest(top=top)}))
    opcheck(function.forward_op, (tensors, skeleton, "triton"), test_utils="test_faketensor")


@ENGINE
@CASE
def test_the_operators_are_the_functions(name, engine):
    """What a compiler calls and what runs eagerly, forward and backward."""
    call = call_of(CASES[name]())
    tensors, skeleton = encoded(call)
    leaves = [tensor.detach().requires_grad_(tensor.is_floating_point()) for tensor in tensors[:-1]]
    count = len(result_names(call))
    eager = function.Blockwise.apply(engine, call, False, count, False, *leaves)
    opaque = function.Blockwise.apply(engine, skeleton, False, count, False, *leaves, tensors[-1])
    assert all(map(torch.equal, eager, opaque))
    learning = [leaf for leaf in leaves if leaf.requires_grad]
    ours, theirs = (
        torch.autograd.grad(
            sum(part.nan_to_num(neginf=0.0).sin().sum() for part in found if part.requires_grad),
            learning,
            allow_unused=True,
        )
        for found in (eager, opaque)
    )
    for one, two in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, two)


@CASE
def test_the_engines_agree(name):
    call = call_of(CASES[name]())
    torch.testing.assert_close(*(forward(engine_named(engine), call) for engine in ("chunked", "cpu")))


@ENGINE
def test_integers_carry_no_gradient(engine):
    call = call_of(CASES["statistics"]())
    leaves = [leaf.tensor.detach().requires_grad_(leaf.tensor.is_floating_point()) for leaf in call.leaves()]
    names = result_names(call)
    found = dict(zip(names, function.Blockwise.apply(engine, call, False, len(names), False, *leaves), strict=True))
    assert {name for name, part in found.items() if not part.requires_grad} == {"index", "top_indices"}
