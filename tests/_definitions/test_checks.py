"""The checks that definitions share: what each lets pass, what it refuses, and that the message names it."""

import math
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from calls import drawn
from saccade import attend, biases, normalizers, scores
from saccade._definitions import checks
from saccade._definitions.numerics import LARGEST, SMALLEST
from saccade._definitions.structure import Extent
from saccade.errors import ArgumentError, ArgumentTypeError, SaccadeError, ShapeError

EXTENT = Extent((2, 3), 5, 7, 4, 4, torch.float32, torch.device("cpu"), True)


def refused(check, *given, error=SaccadeError, **options):
    """The message of one clear error: what was expected, what was got, on one line."""
    with pytest.raises(error) as caught:
        check(*given, **options)
    message = str(caught.value)
    assert "expected" in message and "got" in message and "\n" not in message
    return message


@given(st.lists(st.integers(1, 3), max_size=3), st.lists(st.integers(1, 3), max_size=3))
def test_what_broadcasts_is_what_torch_expands(batch, to):
    try:
        torch.zeros(batch).expand(to)
        fits = True
    except RuntimeError:
        fits = False
    if fits:
        checks.broadcasts("mask", tuple(batch), tuple(to))
    else:
        assert refused(checks.broadcasts, "mask", tuple(batch), tuple(to), error=ShapeError).startswith("mask: ")


@given(st.lists(st.sampled_from([1, 2, 3, 5, 7]), max_size=5))
def test_what_fits_is_what_expands_to_all_pairs(shape):
    try:
        torch.zeros(shape).expand(2, 3, 5, 7)
    except RuntimeError:
        assert str(tuple(shape)) in refused(checks.fits, "bias", torch.zeros(shape), EXTENT, error=ShapeError)
    else:
        checks.fits("bias", torch.zeros(shape), EXTENT)


def test_padding_that_lacks_dimensions_is_told_where_they_go():
    assert "write mask[:, None, None]" in refused(checks.fits, "mask", torch.zeros(2, 7), EXTENT, error=ShapeError)
    assert "write" not in refused(checks.fits, "mask", torch.zeros(4, 7), EXTENT, error=ShapeError)


NUMBERS = {
    "least": ({"least": 1}, [1, 1.5, math.inf], [0.9, -math.inf, math.nan]),
    "above": ({"above": 0}, [1e-300, 3], [0, -1, math.nan]),
    "high": ({"least": 0, "high": 2}, [0, 2.0], [-1, 2.1, math.inf, math.nan]),
    "any": ({}, [-1, 0.0, math.inf], [math.nan]),
    "a tensor will do": ({"least": 1, "tensor": True}, [2, torch.zeros(3)], [0]),
    "none will do": ({"least": 1, "none": True}, [2, None], [0]),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name):
    options, good, bad = NUMBERS[name]
    for value in good:
        checks.number("eps", value, **options)
    for value in bad:
        assert refused(checks.number, "eps", value, error=ArgumentError, **options).startswith("eps: expected a number")
    for value in (True, "1", [1.0], *([] if options.get("none") else [None])):
        assert type(value).__name__ in refused(checks.number, "eps", value, error=ArgumentTypeError, **options)


@pytest.mark.parametrize("value", [-1, 1.0, True, "3"])
def test_whole_numbers(value):
    checks.whole("top", 0, least=0)
    checks.whole("top", 7, least=0)
    assert "an int of at least 0" in refused(checks.whole, "top", value, least=0, error=ArgumentError)


def test_values_are_looked_at_only_where_they_may_be():
    wrong = torch.tensor([True, False])
    with pytest.raises(ArgumentError, match="^no$"):
        checks.ensure(wrong, "no", values=True)
    checks.ensure(wrong, "no", values=False)
    checks.ensure(wrong.to("meta"), "no", values=True)
    checks.ensure(torch.ones(0, dtype=torch.bool), "no", values=True)


@pytest.mark.parametrize("shape", [(), (1,), (5, 1), (1, 1), (3, 5, 1), (2, 1, 1, 1)])
def test_one_number_a_query(shape):
    checks.per_query("beta", torch.ones(shape), EXTENT)
    checks.positive("beta", torch.ones(shape), EXTENT)
    assert "from 1e-12 to 1e+12" in refused(checks.positive, "beta", torch.zeros(shape), EXTENT, error=ArgumentError)


@pytest.mark.parametrize("shape", [(5,), (7, 1), (5, 2), (4, 5, 1), (9, 2, 3, 5, 1)])
def test_what_is_not_one_number_a_query(shape):
    assert "beta" in refused(checks.per_query, "beta", torch.ones(shape), EXTENT, error=ShapeError)


def test_integers_where_numbers_are_wanted():
    assert "int64" in refused(checks.per_query, "beta", torch.ones(1, dtype=torch.long), EXTENT, error=ArgumentError)


def test_a_scores_parameter():
    score = scores.Dot()

    def check(tensor):
        checks.parameter("weight", score, tensor, (None, 4), "(..., L, D)", EXTENT)

    for shape in ((9, 4), (3, 9, 4), (2, 1, 9, 4)):
        check(torch.ones(shape))
    for wrong in (torch.ones(4), torch.ones(9, 3), torch.ones(4, 9, 4), torch.ones(9, 4).double(), 1.0):
        assert refused(check, wrong).startswith("weight of scores.Dot: expected ")
    assert ".to(query.device)" in refused(check, torch.ones(9, 4, device="meta"), error=ArgumentError)


@pytest.mark.parametrize("align", ["start", "end", 0, -3, torch.tensor(2), torch.ones(2, 3, dtype=torch.long)], ids=str)
def test_an_alignment_that_is_one(align):
    checks.check_align("masks.Causal", align, EXTENT)


@pytest.mark.parametrize("align", ["left", 1.0, True, torch.tensor(2.0), torch.ones(3).long(), None], ids=str)
def test_an_alignment_that_is_none(align):
    assert "align of masks.Causal" in refused(checks.check_align, "masks.Causal", align, EXTENT)
    if align is None:
        checks.check_align("masks.Causal", None, EXTENT._replace(q_len=7))


def test_lengths_have_no_batch_or_all_of_it():
    checks.batch_only("lengths", (), EXTENT)
    checks.batch_only("lengths", (2, 1), EXTENT)
    assert "tensor[:, None]" in refused(checks.batch_only, "lengths", (2,), EXTENT, error=ShapeError)
    assert "tensor[" not in refused(checks.batch_only, "lengths", (1, 2, 3), EXTENT, error=ShapeError)
    refused(checks.batch_only, "lengths", (3, 2), EXTENT, error=ShapeError)


def test_positions():
    for shape in ((5,), (1,), (3, 5), (2, 1, 1)):
        checks.per_position("uniform", torch.ones(shape), 5, "Lq", EXTENT)
    for wrong in (torch.ones(()), torch.ones(4), torch.ones(2, 5), 0.5):
        assert refused(checks.per_position, "uniform", wrong, 5, "Lq", EXTENT).startswith("uniform: expected")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.complex64])
def test_what_are_no_integers(dtype):
    assert str(dtype) in refused(checks.whole_dtype, "ids", torch.zeros(2, dtype=dtype), error=ArgumentTypeError)


def test_options_are_named_as_they_are_typed():
    ranges = ("beam_size", 1, 10), ("length_penalty", 0, 1)
    checks.in_ranges(SimpleNamespace(beam_size=10, length_penalty=0), ranges)
    with pytest.raises(ArgumentError, match="--length-penalty: expected a number from 0 to 1, got nan"):
        checks.in_ranges(SimpleNamespace(beam_size=1, length_penalty=math.nan), ranges)


def test_ints_beyond_64_bits_are_refused():
    assert "at most 9223372036854775807" in refused(checks.whole, "top", 2**63, least=0, error=ArgumentError)
    assert "at most 7" in refused(checks.whole, "top", 8, least=0, high=7, error=ArgumentError)
    for value in (2**63, -(10**400)):
        assert "write it as a float" in refused(checks.number, "radius", value, error=ArgumentError)
    for align in (2**63 - 1, -(2**62)):
        assert "align of Causal" in refused(checks.check_align, "Causal", align, EXTENT, error=ArgumentError)


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32, torch.uint64])
def test_integers_that_torch_cannot_compare_are_refused(dtype):
    assert ".long()" in refused(checks.whole_dtype, "ids", torch.zeros(2, dtype=dtype), error=ArgumentTypeError)


POSITIVE = {
    "temperature": lambda value: {"normalizer": normalizers.Softmax(value)},
    "alpha": lambda value: {"normalizer": normalizers.Entmax(value)},
    "softcap": lambda value: {"score": scores.ScaledDot(softcap=value)},
    "bandwidth": lambda value: {"score": scores.Gaussian(value)},
    "bandwidth of a kernel": lambda value: {
        "score": scores.Kernel("triangular", value),
        "normalizer": normalizers.Sum(),
    },
    "width": lambda value: {"bias": biases.GaussianWindow(torch.tensor([0.0, 2.0, 4.25, 9.0]), value)},
    "width of a gate": lambda value: {"gate": biases.GaussianWindow(torch.tensor([0.0, 2.0, 4.25, 9.0]), value)},
}
OUTSIDE = [1e-45, 1e-38, 1e-20, 1e30, math.inf, math.nan, 0.0, -1.0]


def tensors_of_a_call():
    query, key, value = drawn(1, 4, 3), drawn(1, 6, 3, seed=1), drawn(1, 6, 2, seed=2)
    key[0, 0] = query[0, 0]  # at distance 0 of each other
    return query, key, value


@pytest.mark.parametrize("make", [float, torch.tensor], ids=["number", "tensor"])
@pytest.mark.parametrize("name", POSITIVE)
def test_what_is_outside_the_range_is_rejected(name, make):
    for value in OUTSIDE:
        with pytest.raises(ArgumentError, match=rf"{name.split()[0]}.*: expected .* from 1(e-12)? to 1e\+12.*got"):
            attend(*tensors_of_a_call(), **POSITIVE[name](make(value)))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_types_round_no_limit_away(dtype):
    for value in (0.0, math.inf):
        with pytest.raises(ArgumentError, match="temperature: expected values from"):
            attend(*tensors_of_a_call(), normalizer=normalizers.Softmax(torch.tensor(value, dtype=dtype)))


@pytest.mark.parametrize("make", [float, torch.tensor], ids=["number", "tensor"])
@pytest.mark.parametrize("end", [SMALLEST, LARGEST])
@pytest.mark.parametrize("name", POSITIVE)
def test_both_ends_of_the_range_are_right(name, end, make):
    end = max(end, 1.0) if name == "alpha" else end
    single = attend(*tensors_of_a_call(), **POSITIVE[name](make(end)))
    tensors = [tensor.double() for tensor in tensors_of_a_call()]
    double = attend(*tensors, backend="reference", **POSITIVE[name](end))
    assert double.isfinite().all()
    torch.testing.assert_close(single.double(), double, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in POSITIVE if name != "alpha"])
def test_a_transform_clamps_a_tensor_and_has_no_nan(name):
    tensors = tensors_of_a_call()

    def call(parameter):
        return attend(*tensors, **POSITIVE[name](parameter))

    parameters = torch.tensor([1e-45, 0.0, 1.0])
    found = torch.vmap(call)(parameters)
    assert found.isfinite().all()
    torch.testing.assert_close(found[0], call(SMALLEST), rtol=1e-4, atol=1e-5)
    gradients = torch.vmap(torch.func.grad(lambda parameter: call(parameter).sum()))(parameters)
    assert gradients.isfinite().all()
