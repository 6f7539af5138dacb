"""The specification's own parts: cleaning, dropout, participants, what a callable may return."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from calls import call_of, drawn
from saccade import AuxRequest, attend, masks, normalizers, scores
from saccade.backends import reference
from saccade.backends.offers import Offer
from saccade.backends.reference import both, cleaned, dropout, looked_up, participants, shared, untrusted
from saccade.errors import ShapeError

Q, K, V = drawn(2, 3, 5, 4), drawn(2, 1, 7, 4, seed=1), drawn(2, 1, 7, 6, seed=2)


def textbook(query, key, value, mask, bias, gate):
    """One entry, one query at a time."""
    found = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
    for n in range(query.shape[0]):
        for h in range(query.shape[1]):
            for i in range(query.shape[2]):
                allowed = [j for j in range(key.shape[2]) if mask[n, h, i, j]]
                score = {j: query[n, h, i] @ key[n, 0, j] / math.sqrt(query.shape[-1]) + bias[i, j] for j in allowed}
                total = sum(s.exp() for s in score.values())
                for j, s in score.items():
                    found[n, h, i] += s.exp() / total * gate[h, i, j] * value[n, 0, j]
    return found


def test_it_is_the_textbook():
    mask = torch.rand(1, 2, 5, 7) < 0.5
    bias, gate = drawn(5, 7, seed=3).double(), drawn(2, 5, 7, seed=4).double()
    query, key, value = Q[:1, :2].double(), K[:1].double(), V[:1].double()
    output, _ = reference.run(call_of(query, key, value, mask=mask, bias=bias, gate=gate))
    torch.testing.assert_close(output, textbook(query, key, value, mask, bias, gate))


@given(st.integers(0, 999), st.sampled_from([0.0, 0.2, 0.7, 1.0]), st.integers(1, 9))
def test_who_takes_part(seed, density, budget):
    """Keys that some query may attend to and queries that may attend to some key, whatever the blocks."""
    mask = torch.rand(2, 3, 5, 7, generator=torch.Generator().manual_seed(seed)) < density
    keys, queries = looked_up(call_of(Q, K, V, mask=mask), budget * 42)
    assert torch.equal(keys, mask.any(-2)) and torch.equal(queries, mask.any(-1))


def test_a_bias_of_minus_infinity_forbids_as_a_mask_does():
    flags = torch.rand(5, 7) < 0.6
    bias = torch.zeros(5, 7).masked_fill(~flags, -math.inf)
    by_mask, by_bias = (reference.run(call_of(Q, K, V, **option))[0] for option in ({"mask": flags}, {"bias": bias}))
    torch.testing.assert_close(by_mask, by_bias)
    assert torch.equal(participants(call_of(Q, K, V, bias=bias))[0].expand(2, 3, 7), flags.any(0).expand(2, 3, 7))


def test_only_what_takes_part_in_nothing_is_cleaned():
    flags = torch.ones(5, 7, dtype=torch.bool)
    flags[:, 3], flags[2] = False, False
    call = cleaned(call_of(Q, K, V, mask=flags))
    for found, original, gone in ((call.query, Q, 2), (call.key, K, 3), (call.value, V, 3)):
        kept = [n for n in range(original.shape[-2]) if n != gone]
        assert not found[..., gone, :].any() and torch.equal(found[..., kept, :], original[..., kept, :])


def test_a_key_that_one_head_may_attend_to_stays():
    flags = torch.zeros(2, 3, 5, 7, dtype=torch.bool)
    flags[:, 1, 0, 3] = True  # keys are shared by heads
    assert torch.equal(cleaned(call_of(Q, K, V, mask=flags)).key[:, :, 3], K[:, :, 3])
    assert shared(flags.any(-2), K).shape == (2, 1, 7)


@pytest.mark.parametrize(("score", "expected"), [(scores.Gaussian(1.0), [2.0, 3.0]), (scores.Dot(), [0.0, 0.0])])
def test_where_scores_mix_keys_the_mean_stands_in(score, expected):
    key = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [math.nan, 9.0]]])
    call = call_of(key, key, key, mask=torch.tensor([[[True, True, False]]]), score=score)
    assert cleaned(call).key[0, 2].tolist() == expected


@pytest.mark.parametrize("poison", [math.nan, math.inf])
def test_only_what_is_not_finite_is_not_trusted(poison):
    flags, value = torch.ones(5, 7, dtype=torch.bool), V.clone()
    value[..., 3, :] = poison
    assert not untrusted(call_of(Q, K, value)) and not untrusted(call_of(Q, K, V, mask=flags))
    assert untrusted(call_of(Q, K, value, mask=flags))
    assert untrusted(call_of(Q, K, V, mask=flags, score=scores.Gaussian(1.0)))


@given(st.floats(0, 1), st.integers(1, 4), st.integers(1, 50))
def test_dropout_is_of_the_row_and_the_position_alone(p, rows, keys):
    call = call_of(drawn(rows, 4), drawn(keys, 4), drawn(keys, 4), dropout_p=p).with_randomness()
    weights = torch.ones(rows, keys, dtype=torch.float64)
    found = dropout(call, weights)
    assert torch.equal(found, dropout(call, weights))
    assert p == 1 or torch.equal(found, (found > 0).double() / (1 - p))
    assert torch.equal(found[:, : keys // 2], dropout(call, weights[:, : keys // 2]))  # of other keys it knows nothing


def test_dropout_keeps_the_share_it_ought_to():
    call = call_of(drawn(500, 1), drawn(400, 1), drawn(400, 1), dropout_p=0.3).with_randomness()
    kept = dropout(call, torch.ones(500, 400)) > 0
    assert abs(kept.double().mean() - 0.7) < 0.005
    assert (kept.double().mean(0) - 0.7).abs().max() < 0.1 and (kept.double().mean(1) - 0.7).abs().max() < 0.12


def test_all_is_dropped_at_one_and_nothing_at_zero():
    weights = torch.rand(5, 7)
    assert not dropout(call_of(Q, K, V, dropout_p=1.0).with_randomness(), weights).any()
    assert dropout(call_of(Q, K, V), weights) is weights


@pytest.mark.parametrize(
    "returned",
    [
        lambda q, k: None,
        lambda q, k: (q @ k.mT).long(),
        lambda q, k: (q @ k.mT)[..., :2],
        lambda q, k: torch.ones(4, 2, 3, 5, 7),
    ],
    ids=["nothing", "integers", "another shape", "more dimensions"],
)
def test_what_a_callable_returns_is_checked(returned):
    with pytest.raises(ShapeError, match=r"score: expected the callable to return floats .*\(2, 3, 5, 7\), got"):
        reference.run(call_of(Q, K, V, score=returned))


def test_a_callables_weights_are_masked_for_it():
    flags = torch.rand(5, 7) < 0.5
    call = call_of(Q, K, V, normalizer=lambda s, m: torch.ones_like(s), mask=flags, aux=AuxRequest(weights=True))
    assert torch.equal(reference.run(call)[1].weights, flags.float().expand(2, 3, 5, 7))


def test_what_a_callable_scores_as_minus_infinity_is_forbidden():
    def score(query, key):
        return (query @ key.mT).masked_fill(masks.Causal("start").dense(call_of(Q, K, V).grid()), -math.inf)

    request = AuxRequest(weights=True)
    found = reference.run(call_of(Q, K, V, score=score, normalizer=normalizers.Sigmoid(), aux=request))[1].weights
    assert not found.tril().any() and (found.triu(1) == found).all()


def test_none_is_all_true():
    flags = torch.rand(3) < 0.5
    assert both(None, flags) is flags and torch.equal(both(flags, ~flags), torch.zeros(3, dtype=torch.bool))


def test_what_it_lays_out_is_counted():
    assert reference.peak_bytes(call_of(Q, K, V)) == 4 * 2 * 3 * 5 * 7 * 3
    additive = call_of(Q, K, V, score=scores.Additive(torch.ones(4)))
    assert reference.peak_bytes(additive) == 4 * 2 * 3 * 5 * 7 * 4
    assert reference.offer(additive) == Offer(reference.peak_bytes)


class Doubling(scores.Score):
    def __call__(self, query, key):
        return query.mul_(2) @ key.mul_(3).mT


class Doubled(scores.Dot):
    def __call__(self, query, key):
        return super().__call__(query.mul_(2), key.mul_(3))


class Raised(normalizers.Softmax):
    def __call__(self, scores, mask):
        return super().__call__(scores.add_(1), mask.logical_not_().logical_not_())


def raised(scores, mask):
    weights = scores.add_(1).masked_fill(~mask, -torch.inf).softmax(-1)
    mask.zero_()
    return weights


@pytest.mark.parametrize("length", [5, 700])
@pytest.mark.parametrize("backend", ["auto", "reference", "chunked", "cpu"])
@pytest.mark.parametrize(
    ("score", "normalizer"),
    [
        (lambda query, key: query.mul_(2) @ key.mul_(3).mT, normalizers.Softmax()),
        (Doubling(), normalizers.Softmax()),
        (Doubled(), normalizers.Softmax()),
        (scores.Dot(), raised),
        (scores.Dot(), Raised()),
    ],
    ids=["callable", "score", "derived", "callable normalizer", "derived normalizer"],
)
def test_who_writes_into_its_arguments_changes_no_tensor_of_the_caller(score, normalizer, backend, length):
    tensors = [torch.randn(1, length, 4, dtype=torch.float64) / 4 for _ in range(3)]
    mask, leaf = torch.rand(1, length, length) > 0.3, tensors[0].clone().requires_grad_()
    before, factor = [*(tensor.clone() for tensor in tensors), mask.clone()], 1 if type(score) is scores.Dot else 6
    for query in (tensors[0], leaf):
        found = attend(query, *tensors[1:], score=score, normalizer=normalizer, mask=mask, backend=backend)
        expected = attend(query, *before[1:3], score=scores.ScaledDot(factor), mask=before[3], backend="reference")
        torch.testing.assert_close(found, expected)
        assert all(map(torch.equal, (*tensors, mask), before)) and torch.equal(query.detach(), before[0])
    [gradient], [truth] = (torch.autograd.grad(output.square().sum(), leaf) for output in (found, expected))
    torch.testing.assert_close(gradient, truth)
