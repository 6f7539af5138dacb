"""Law 3 once more, over whatever shapes hypothesis draws: lengths of 0 and 1, broadcasts, strides, dtypes."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_leaves

from laws import checks
from laws.case import Case
from laws.combinations import each, pairwise
from laws.table import BACKENDS, BIASES, GATES, MASKS, NORMALIZERS, READS, SCORES, Sizes

COMBINATIONS = pairwise(SCORES, NORMALIZERS, MASKS, BIASES, GATES, READS, BACKENDS, seed=10)
FAKED = each(SCORES, NORMALIZERS, MASKS, BIASES, GATES, READS, ["auto", "reference", "chunked"], seed=11)
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
FEW = Sizes((2,), q=5, k=7)
"""Two blocks: each operation of a fake tensor takes a millisecond."""


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


@pytest.mark.parametrize(
    "combination",
    [pytest.param(names, marks=[pytest.mark.slow] * names[1].startswith("entmax")) for names in FAKED],
    ids="-".join,
)
def test_fake_tensors_have_the_shapes_of_real_ones(combination):
    case = Case(*combination, sizes=FEW, dtype=torch.float32)
    real = checks.packed(case.run(case.inputs(), case.everything()))
    mode = FakeTensorMode()
    inputs = {name: mode.from_tensor(tensor) for name, tensor in case.inputs().items()}
    with mode:
        fake = checks.packed(case.run(inputs, case.everything()))
        alone = case.run(inputs)
    found, expected = ([part.shape for part in tree_leaves(parts)] for parts in (fake, real))
    assert found == expected
    assert alone.shape == real[0].shape
