"""Law 5: first and second derivatives everywhere, torch.func, randomness that the backward shares."""

import pytest

from laws import smooth
from laws.case import Case
from laws.combinations import each, interacting, thinned
from laws.table import BACKENDS, BIASES, GATES, MASKS, NORMALIZERS, READS, SCORES

SMOOTH = [name for name in SCORES if "fixed" not in SCORES[name].traits]
GRADIENTS = interacting(SCORES, NORMALIZERS, MASKS, BIASES, GATES, ["soft", "top_k"], BACKENDS, seed=7)
NAMED = [name for name in BACKENDS if name != "auto"]
SECOND = each(
    SMOOTH, NORMALIZERS, ["none", "tensor"], ["none", "tensor", "relative", "window"], GATES, ["soft"], NAMED, seed=8
)
FUNCTIONAL = each(SCORES, NORMALIZERS, MASKS, BIASES, GATES, ["soft", "sample", "top_k"], NAMED, seed=9)
DRAWN = each(
    ["scaled_dot", "additive", "cosine", "callable"],
    ["softmax", "temperature_tensor", "sparsemax", "entmax", "sigmoid", "sink"],
    BACKENDS,
)
NORMALIZED = ["temperature_tensor", "sink", "sparsemax", "callable"]
READ = each(["scaled_dot"], NORMALIZED, ["none"], ["none"], ["tensor"], READS, ["chunked", "cpu", "auto"])

FORWARD = each(SCORES, NORMALIZERS, MASKS, BIASES, GATES, READS, ["reference", "auto"], seed=10)


@pytest.mark.parametrize("combination", GRADIENTS, ids="-".join)
def test_gradients_are_the_textbooks(combination):
    smooth.law_gradients(Case(*combination))


@pytest.mark.parametrize("combination", thinned(SECOND, 2), ids="-".join)
def test_first_and_second_derivatives(combination):
    smooth.law_derivatives(Case(*combination))


@pytest.mark.parametrize("score", [name for name in SCORES if "dot" in SCORES[name].traits])
def test_derivatives_of_torchs_kernels(score):
    smooth.law_derivatives_of_output(Case(score, mask="tensor", backend="sdpa"))


@pytest.mark.parametrize("combination", thinned(FUNCTIONAL, 2), ids="-".join)
def test_functional_transforms(combination):
    smooth.law_functional(Case(*combination))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch scripts its own rules of forward mode
@pytest.mark.parametrize("combination", thinned(FORWARD, 2), ids="-".join)
def test_forward_mode(combination):
    smooth.law_forward(Case(*combination))


@pytest.mark.usefixtures("larger_blocks")
@pytest.mark.parametrize(
    ("score", "backend"),
    list(zip(["scaled_dot", "additive", "callable", "additive"], BACKENDS, strict=True)),
)
def test_dropout(score, backend):
    smooth.law_dropout(Case(score, backend=backend))


@pytest.mark.usefixtures("larger_blocks")
@pytest.mark.parametrize(
    ("score", "normalizer"), [("scaled_dot", "softmax"), ("additive", "entmax"), ("callable", "sigmoid")]
)
def test_dropout_of_the_same_noise(score, normalizer):
    smooth.law_same_noise(Case(score, normalizer, backend="chunked"))


@pytest.mark.parametrize(("score", "normalizer", "backend"), DRAWN)
def test_draws(score, normalizer, backend):
    smooth.law_draws(Case(score, normalizer, mask="tensor", backend=backend))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("normalizer", ["softmax", "sparsemax", "entmax", "sigmoid"])
def test_ties_go_to_the_lower_index(normalizer, backend):
    smooth.law_ties(Case(normalizer=normalizer, backend=backend))


@pytest.mark.parametrize("combination", READ, ids="-".join)
def test_what_requires_a_gradient_is_the_same_everywhere(combination):
    smooth.law_requires(Case(*combination))
