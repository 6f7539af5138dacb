"""Laws 3 and 4: batch, padding, order and repetition change nothing but rounding; causal derivatives are exactly 0."""

import pytest
import torch

from laws import checks
from laws.case import Case
from laws.combinations import each
from laws.table import BACKENDS, BIASES, GATES, NORMALIZERS, READS, SCORES, TABLES, Sizes

BATCH = each(SCORES, NORMALIZERS, ["none", "tensor", "lengths"], BIASES, GATES, READS, BACKENDS, seed=4)
ORDERLESS = {
    kind: [name for name, member in table.items() if "positional" not in member.traits]
    for kind, table in TABLES.items()
}
ALIKE = {"boxcar", "epanechnikov", "triangular"}  # scores of which many are equal: `top_k` takes the first of them
KEYS = each(
    ORDERLESS["score"],
    NORMALIZERS,
    ORDERLESS["mask"],
    ORDERLESS["bias"],
    ORDERLESS["gate"],
    ["soft", "top_k"],
    BACKENDS,
    seed=5,
)
KEYS = [combination for combination in KEYS if combination[0] not in ALIKE or "top_k" not in combination]
QUERIES = each(SCORES, NORMALIZERS, ORDERLESS["mask"], ORDERLESS["bias"], ORDERLESS["gate"], READS, BACKENDS, seed=6)
PLAIN = [name for name in SCORES if "fixed" not in SCORES[name].traits]
TIMES = {torch.float32: 3.0, torch.bfloat16: 2.0, torch.float16: 2.0}
ACCURATE = [
    (score, backend, list(TIMES)[(row + column) % 3])
    for row, score in enumerate(PLAIN)
    for column, backend in enumerate([*BACKENDS, "sdpa"])
    if backend != "sdpa" or "dot" in SCORES[score].traits
]


@pytest.mark.parametrize("combination", BATCH, ids="-".join)
def test_each_sequence_alone(combination):
    checks.law_batch(Case(*combination))


@pytest.mark.parametrize("combination", BATCH, ids="-".join)
def test_the_same_call_gives_the_same_bits(combination):
    checks.law_repeats(Case(*combination))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("score", [name for name in SCORES if name != "callable"])
def test_padding(score, backend):
    checks.law_padding(Case(score, backend=backend))


@pytest.mark.parametrize("combination", KEYS, ids="-".join)
def test_keys_in_another_order(combination):
    checks.law_permuted_keys(Case(*combination))


@pytest.mark.parametrize("combination", QUERIES, ids="-".join)
def test_queries_in_another_order(combination):
    checks.law_permuted_queries(Case(*combination))


@pytest.mark.parametrize("align", ["start", "end", 1, -2])
@pytest.mark.parametrize("backend", [*BACKENDS, "sdpa"])
def test_causal_derivatives_are_exactly_zero(backend, align):
    checks.law_causal(Case(backend=backend), align)


@pytest.mark.parametrize("backend", ["reference", "chunked"])
@pytest.mark.parametrize("score", ["additive", "cosine", "gaussian"])
def test_causal_derivatives_of_other_scores(score, backend):
    checks.law_causal(Case(score, backend=backend), "end")


@pytest.mark.usefixtures("larger_blocks")
@pytest.mark.parametrize(("score", "backend", "dtype"), ACCURATE, ids=str)
def test_accuracy(score, backend, dtype):
    normalizer = "sum" if "nonnegative" in SCORES[score].traits else "softmax"
    checks.law_accuracy(
        Case(score, normalizer, backend=backend, dtype=dtype, sizes=Sizes((1, 3), q=61, k=97)), TIMES[dtype]
    )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("backend", [*BACKENDS, "sdpa"])
def test_half_types_accumulate_in_float32(backend, dtype):
    checks.law_accumulation(Case(backend=backend, dtype=dtype))
