"""The laws once more, on Triton's kernels in its interpreter: every member with them, in few combinations, since the
interpreter is slow.
"""

import pytest
import torch

from interpreter import interpreted, tiles
from laws import checks, smooth
from laws.case import Case
from laws.table import BIASES, GATES, MASKS, NORMALIZERS, READS, SCORES, Sizes, each
from saccade import errors
from saccade.backends.triton import ENGINE

pytestmark = interpreted

OWN_SCORES = [name for name in SCORES if name != "callable"]
OWN_NORMALIZERS = [name for name in NORMALIZERS if name != "callable"]
KERNELS = ["softmax", "sparsemax", "entmax_tensor"]


@pytest.fixture(autouse=True, scope="module")
def several_blocks_and_tiles(small_blocks):
    before = ENGINE.pairs
    with pytest.MonkeyPatch.context() as patch:
        tiles(patch, 8, 8, 4)
        object.__setattr__(ENGINE, "pairs", 100)
        yield
    object.__setattr__(ENGINE, "pairs", before)


@pytest.fixture
def large_tiles(several_blocks_and_tiles, monkeypatch):
    tiles(monkeypatch, 32, 1024, 64)
    object.__setattr__(ENGINE, "pairs", 1 << 20)
    yield
    object.__setattr__(ENGINE, "pairs", 100)


def members(masks=("none", "tensor"), reads=tuple(READS), seed=0):
    return each(OWN_SCORES, OWN_NORMALIZERS, masks, BIASES, GATES, reads, ["triton"], seed=seed)


@pytest.mark.parametrize("combination", members(MASKS, seed=21), ids="-".join)
def test_values(combination):
    checks.law_values(Case(*combination))


@pytest.mark.parametrize("combination", members(MASKS, ["soft", "top_k"], seed=22)[::2], ids="-".join)
def test_gradients(combination):
    smooth.law_gradients(Case(*combination))


@pytest.mark.parametrize("normalizer", KERNELS)
@pytest.mark.parametrize("score", ["additive_heads", "cosine"])
def test_empty_rows_and_hidden_keys(score, normalizer):
    case = Case(score, normalizer, read="sample", backend="triton")
    checks.law_empty_rows(case)
    checks.law_no_keys(case)
    checks.law_hidden_keys(case)
    checks.law_forbidden_weights(case)


@pytest.mark.parametrize("normalizer", KERNELS)
def test_batch_order_and_repetition(normalizer):
    case = Case("additive", normalizer, mask="tensor", backend="triton")
    checks.law_batch(case)
    checks.law_repeats(case)
    checks.law_permuted_keys(case)
    checks.law_permuted_queries(case)


@pytest.mark.parametrize("score", ["additive", "scaled_dot"])
def test_padding_and_causality(score):
    checks.law_padding(Case(score, backend="triton"))
    checks.law_causal(Case(score, backend="triton"), "end")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_accuracy_and_accumulation(dtype, large_tiles):
    sizes = Sizes(q=61, k=97)
    for score in ("additive", "cosine"):
        times = 3.0 if dtype == torch.float32 else 2.0
        checks.law_accuracy(Case(score, backend="triton", dtype=dtype, sizes=sizes), times)
    if dtype != torch.float32:
        checks.law_accumulation(Case(backend="triton", dtype=dtype))


@pytest.mark.parametrize("normalizer", KERNELS)
def test_first_and_second_derivatives(normalizer):
    smooth.law_derivatives(Case("additive", normalizer, mask="tensor", backend="triton"))


@pytest.mark.parametrize("normalizer", KERNELS)
def test_draws_and_ties(normalizer):
    smooth.law_draws(Case("additive", normalizer, mask="tensor", backend="triton"))
    smooth.law_ties(Case(normalizer=normalizer, backend="triton"))


def test_dropout_of_the_same_noise(large_tiles):
    smooth.law_same_noise(Case("additive", "entmax", backend="triton"))


def test_functional_transforms(large_tiles):
    smooth.law_functional(Case("additive", "entmax", mask="tensor", read="sample", backend="triton"))


@pytest.mark.parametrize("kind", ["score", "normalizer"])
def test_a_callable_is_refused(kind):
    case = Case(**{kind: "callable"}, backend="triton")
    with pytest.raises(errors.UnsupportedBackend, match="triton.*callable"):
        case.run(case.inputs())
