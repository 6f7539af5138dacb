"""A class that is derived from one of ours, and computes otherwise, is asked on every backend."""

import pytest
import torch

from saccade import AuxRequest, attend, normalizers, remember, scores
from saccade.errors import ArgumentError, UnsupportedBackend
from tiers import every

QUERY, KEY, VALUE = torch.randn(3, 2, 5, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def sharper(kind, *arguments):
    """Three times as sharp as the class that it is derived from."""

    class Sharper(kind):
        def __call__(self, first, second):
            if isinstance(self, normalizers.Normalizer):
                return super().__call__(3 * first, second)
            return 3 * super().__call__(first, second)

    return Sharper(*arguments)


@every("backend", ["auto", "reference", "chunked", "cpu"])
@every("kind", [(normalizers.Softmax,), (normalizers.Sparsemax,), (normalizers.Entmax, 1.5)])
def test_a_normalizer_of_a_derived_class_is_its_own(kind, backend):
    made, *arguments = kind
    leaf = QUERY.clone().requires_grad_()
    found = attend(leaf, KEY, VALUE, score=scores.Dot(), normalizer=sharper(*kind), backend=backend)
    wanted = attend(leaf * 3, KEY, VALUE, score=scores.Dot(), normalizer=made(*arguments), backend="reference")
    torch.testing.assert_close(found, wanted)
    gradients = (torch.autograd.grad(output.square().sum(), leaf) for output in (found, wanted))
    torch.testing.assert_close(*gradients)


@every("backend", ["auto", "reference", "chunked", "cpu"])
@every("kind", [(scores.Dot,), (scores.Cosine,), (scores.Additive, torch.ones(4).double())])
def test_a_score_of_a_derived_class_is_its_own(kind, backend):
    own = sharper(*kind)
    wanted = attend(QUERY, KEY, VALUE, score=lambda query, key: own(query, key), backend="reference")
    torch.testing.assert_close(attend(QUERY, KEY, VALUE, score=own, backend=backend), wanted)
    torch.testing.assert_close(remember(KEY, VALUE, score=own).read(QUERY, backend=backend), wanted)
    grown = remember(KEY[:, :2], VALUE[:, :2], score=own).append(KEY[:, 2:], VALUE[:, 2:])
    torch.testing.assert_close(grown.read(QUERY, backend=backend), wanted)


def test_kernels_name_the_kinds_that_they_do_not_know():
    with pytest.raises(UnsupportedBackend, match="not the score Sharper"):
        attend(QUERY, KEY, VALUE, score=sharper(scores.Dot), backend="sdpa")
    with pytest.raises(UnsupportedBackend, match="not the normalizer Sharper"):
        attend(QUERY, KEY, VALUE, normalizer=sharper(normalizers.Softmax), backend="sdpa")
    with pytest.raises(ArgumentError, match=r"aux.lse: expected normalizers.Softmax, .* got Sharper"):
        attend(QUERY, KEY, VALUE, normalizer=sharper(normalizers.Softmax), aux=AuxRequest(lse=True))
