"""Law 3 once more, over whatever shapes hypothesis draws: lengths of 0 and 1, broadcasts, strides, dtypes."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from laws import checks
from laws.case import Case
from laws.table import BACKENDS, BIASES, GATES, MASKS, NORMALIZERS, READS, SCORES, Sizes, pairwise

COMBINATIONS = pairwise(SCORES, NORMALIZERS, MASKS, BIASES, GATES, READS, BACKENDS, seed=10)
LENGTHS = st.sampled_from([0, 1, 1, 2, 3, 5, 17, 31])
SIZES = st.builds(
    Sizes,
    batch=st.lists(st.sampled_from([0, 1, 1, 2, 3]), min_size=1, max_size=3).map(tuple),
    q=LENGTHS,
    k=LENGTHS,
    d=st.integers(1, 5),
    c=st.just(4),
    e=st.integers(0, 3),
)
DTYPES = {torch.float64: 1e-8, torch.float32: 2e-3}


def strided(tensor: torch.Tensor, layout: str) -> torch.Tensor:
    """The same numbers, laid out another way."""
    if tensor.ndim < 2 or layout == "plain":
        return tensor
    if layout == "transposed":
        return tensor.mT.contiguous().mT
    return torch.stack((tensor, tensor.clone()), -1)[..., 0]


@settings(max_examples=30)
@given(
    st.sampled_from(COMBINATIONS),
    SIZES,
    st.booleans(),
    st.sampled_from(["plain", "transposed", "every second"]),
    st.integers(0, 99),
)
def test_any_shape_is_the_textbooks(combination, sizes, broadcast, layout, seed):
    case = Case(*combination, sizes=sizes, broadcast=broadcast)
    inputs = {name: strided(tensor, layout) for name, tensor in case.inputs(seed).items()}
    output, aux = case.truth(inputs)
    checks.same(case.run(inputs), output)
    checks.same(case.run(inputs, case.everything()), (output, aux))


@settings(max_examples=20)
@given(st.sampled_from(COMBINATIONS), SIZES, st.booleans())
def test_gradients_exist_for_any_shape(combination, sizes, broadcast):
    case = Case(*combination, sizes=sizes, broadcast=broadcast)
    inputs = checks.differentiable(case.inputs())
    grads = checks.gradients(checks.pulled(*case.run(inputs, case.everything())), checks.learning(inputs))
    assert all(grad.isfinite().all() for grad in grads)
