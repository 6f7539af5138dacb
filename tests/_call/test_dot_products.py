"""Which scores are dot products, what they multiply, and who shares keys."""

import pytest
import torch

from calls import call_of, drawn
from saccade import normalizers, reads, scores
from saccade._call.dot_products import is_dot, name_of, product, sharing, why_not_sdpa

QUERY, KEY = drawn(2, 5, 4).double(), drawn(2, 7, 4, seed=1).double()
DOTS = {
    "dot": scores.Dot(),
    "scaled": scores.ScaledDot(),
    "scaled by 3": scores.ScaledDot(3.0),
    "cosine": scores.Cosine(2.0),
    "general": scores.General(drawn(4, 4, seed=2).double()),
}
OTHERS = {
    "additive": scores.Additive(torch.ones(4).double()),
    "gaussian": scores.Gaussian(1.0),
    "kernel": scores.Kernel("boxcar", 1.0),
    "a callable": lambda query, key: query @ key.mT,
}


@pytest.mark.parametrize("name", DOTS)
def test_the_product_is_the_score(name):
    assert is_dot(DOTS[name])
    query, key, scale, softcap = product(DOTS[name], QUERY, KEY)
    torch.testing.assert_close(scale * query @ key.mT, DOTS[name](QUERY, KEY))
    assert softcap is None and why_not_sdpa(call_of(QUERY, KEY, KEY, score=DOTS[name])) is None


def test_a_softcap_is_told_apart():
    score = scores.ScaledDot(0.4, softcap=1.5)
    query, key, scale, softcap = product(score, QUERY, KEY)
    torch.testing.assert_close(softcap * torch.tanh(scale * query @ key.mT / softcap), score(QUERY, KEY))
    call = call_of(QUERY, KEY, KEY, score=score)
    assert not is_dot(score) and is_dot(score, capped=True)
    assert (
        why_not_sdpa(call) is not None
        and "with a softcap" in why_not_sdpa(call)
        and why_not_sdpa(call, capped=True) is None
    )


@pytest.mark.parametrize("name", OTHERS)
def test_other_scores_are_refused_by_name(name):
    assert not is_dot(OTHERS[name]) and not is_dot(OTHERS[name], capped=True)
    assert name_of(OTHERS[name]) in why_not_sdpa(call_of(QUERY, KEY, KEY, score=OTHERS[name]))
    with pytest.raises(AssertionError, match="product: expected a score that is a dot product"):
        product(OTHERS[name], QUERY, KEY)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"normalizer": normalizers.Sparsemax()}, "the softmax alone, not the normalizer Sparsemax"),
        ({"normalizer": torch.softmax}, "the softmax alone, not the normalizer softmax"),
        ({"read": reads.Argmax()}, "the soft read alone, not Argmax"),
        ({"gate": torch.ones(5, 7)}, "no gate"),
    ],
    ids=lambda value: "" if isinstance(value, str) else next(iter(value)),
)
def test_what_else_torchs_kernels_do_not_know(options, reason):
    assert why_not_sdpa(call_of(QUERY, KEY, KEY, **options)).endswith(reason)


@pytest.mark.parametrize(
    ("rank", "key", "value", "groups"),
    [
        (0, (7, 4), (7, 4), 0),
        (2, (7, 4), (7, 4), 2),
        (2, (2, 3, 7, 4), (2, 3, 7, 4), 0),
        (3, (2, 3, 1, 7, 4), (2, 3, 1, 7, 4), 1),
        (3, (2, 3, 1, 7, 4), (2, 3, 5, 7, 4), 0),
        (3, (2, 1, 1, 7, 4), (1, 1, 7, 4), 2),
        (3, (1, 3, 1, 7, 4), (1, 3, 1, 7, 4), 1),
    ],
)
def test_groups_are_the_last_dimensions_that_share_keys(rank, key, value, groups):
    assert sharing(rank, torch.zeros(key), torch.zeros(value)) == groups
