"""What is checked at the public edge, and what comes out of it."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from calls import call_of, drawn
from saccade import AuxRequest, attend, masks, normalizers, reads, scores
from saccade._call.validation import batch_of, kinds, probability, tensors
from saccade.errors import ArgumentError, ArgumentTypeError, SaccadeError, ShapeError
from tiers import every

X = drawn(2, 5, 4)
SIZES = st.lists(st.integers(1, 3), max_size=3)


@given(st.tuples(SIZES, SIZES, SIZES))
def test_the_batch_is_what_torch_broadcasts_or_an_error(batches):
    parts = [torch.zeros(*batch, 5, 4) for batch in batches]
    try:
        expected = torch.broadcast_shapes(*batches)
    except RuntimeError:
        with pytest.raises(ShapeError, match=r"^(key|value): expected leading dimensions that broadcast .*got"):
            batch_of(*parts)
    else:
        assert batch_of(*parts) == tuple(expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_floating_tensors_pass(dtype):
    tensors(*[X.to(dtype)] * 3)
    assert attend(*[X.to(dtype)] * 3).dtype == dtype


BAD = {
    "query": [(None, X, X), (X[0, 0], X, X), (X.long(), X, X), (X.to_sparse(), X, X), (X.bool(), X, X)],
    "key": [(X, [1.0], X), (X, X.double(), X), (X, X.to("meta"), X), (X, torch.zeros(()), X)],
    "value": [(X, X, X[:, :3]), (X, X, X.half()), (X, X, "value")],
}


@every(("name", "given"), [(name, given) for name, many in BAD.items() for given in many])
def test_the_argument_that_is_wrong_is_named(name, given):
    with pytest.raises(SaccadeError, match=f"^{name}: expected .*got"):
        tensors(*given)


@pytest.mark.parametrize("p", [0, 1, 0.0, 0.3, 1.0])
def test_probabilities(p):
    probability(p)
    output = attend(X, X, X, dropout_p=p)
    assert output.any() == (p < 1) and torch.equal(output, attend(X, X, X)) == (p == 0)


@pytest.mark.parametrize("p", [-0.1, 1.1, "0", None, True])
def test_what_are_no_probabilities(p):
    with pytest.raises(ArgumentError, match="^dropout_p: expected .*got"):
        probability(p)


GOOD_KINDS = {"score": scores.Dot(), "normalizer": normalizers.Softmax(), "read": reads.Soft(), "aux": AuxRequest()}


@every(
    ("name", "wrong"),
    [
        ("score", scores.Dot),
        ("score", normalizers.Softmax()),
        ("score", "dot"),
        ("normalizer", normalizers.Softmax),
        ("normalizer", scores.Dot()),
        ("normalizer", None),
        ("read", reads.Soft),
        ("read", lambda weights, value: value),
        ("aux", None),
        ("aux", {"lse": True}),
    ],
)
def test_kinds(name, wrong):
    kinds(**GOOD_KINDS)
    kinds(**{**GOOD_KINDS, "score": lambda q, k: q @ k.mT, "normalizer": lambda s, m: s})
    with pytest.raises(ArgumentTypeError, match=f"^{name}: expected"):
        kinds(**{**GOOD_KINDS, name: wrong})


def test_arguments_become_definitions():
    flags, numbers = torch.ones(5, 5, dtype=torch.bool), torch.zeros(5, 5)
    call = call_of(X, X, X, mask=flags, bias=numbers, gate=numbers)
    assert isinstance(call.mask, masks.Mask) and call.bias.leaves()[0].tensor is numbers
    assert call.gate.leaves()[0].tensor is numbers and call.aux == AuxRequest() and call.noise is call.state is None
    assert call.query is X and call.dropout_p == 0.0


DEFINED = {
    "lse": {"normalizer": normalizers.Softmax(0.5)},
    "index": {"read": reads.Argmax()},
    "log_prob": {"read": reads.Sample()},
    "entropy": {"normalizer": normalizers.Sparsemax()},
}
UNDEFINED = {
    "lse": {"normalizer": normalizers.Entmax()},
    "index": {"read": reads.TopK(2)},
    "log_prob": {"read": reads.Argmax()},
    "entropy": {"normalizer": normalizers.Sum(0.1)},
}


@pytest.mark.parametrize("name", DEFINED)
def test_statistics_are_defined_or_refused(name):
    request = AuxRequest(**{name: True})
    assert call_of(X, X, X, aux=request, **DEFINED[name]).aux is request
    with pytest.raises(ArgumentError, match=rf"^aux\.{name}: expected .*got"):
        call_of(X, X, X, aux=request, **UNDEFINED[name])


def test_values_are_not_looked_at_under_a_transform():
    def call(query, lengths):
        return call_of(query, query, query, mask=masks.Lengths(lengths)).query

    with pytest.raises(ArgumentError, match="key_lengths"):
        call(X, torch.tensor([9, 9]))
    mapped = torch.func.vmap(call)(X[:, None], torch.tensor([[9], [9]]))
    assert mapped.shape == (2, 1, 5, 4)
