"""`attend` at its edge: its signature's shapes, its return convention, its doors to torch."""

import beartype
import jaxtyping
import pytest
import torch

from saccade import AuxOutput, AuxRequest, attend, masks, normalizers, reads, scores

CHECKED = jaxtyping.jaxtyped(attend, typechecker=beartype.beartype)


def test_the_annotations_hold_for_good_calls():
    q, k, v = torch.randn(2, 3, 4, 5, 8), torch.randn(2, 3, 1, 7, 8), torch.randn(2, 3, 1, 7, 6)
    assert CHECKED(q, k, v).shape == (2, 3, 4, 5, 6)
    output, aux = CHECKED(
        q,
        k,
        v,
        score=scores.Cosine(),
        mask=torch.ones(5, 7, dtype=torch.bool),
        normalizer=normalizers.Entmax(),
        aux=AuxRequest(top=2),
    )
    assert output.shape == (2, 3, 4, 5, 6) and isinstance(aux, AuxOutput)
    assert CHECKED(q[0, 0, 0], k[0, 0, 0], v[0, 0, 0], score=lambda a, b: a @ b.mT).shape == (5, 6)


@pytest.mark.parametrize(
    "shapes", [((2, 5, 8), (2, 7, 8), (2, 6, 8)), ((2, 5, 8), (3, 7, 8), (2, 7, 8)), ((8,), (7, 8), (7, 8))], ids=str
)
def test_the_annotations_refuse_bad_shapes(shapes):
    with pytest.raises(jaxtyping.TypeCheckError):
        CHECKED(*map(torch.randn, shapes))


def test_aux_is_a_pytree_of_what_was_asked_for():
    x = torch.randn(2, 5, 8)
    assert isinstance(attend(x, x, x), torch.Tensor)
    _, aux = attend(x, x, x, aux=AuxRequest(lse=True, top=2))
    leaves, structure = torch.utils._pytree.tree_flatten(aux)
    assert [leaf.shape for leaf in leaves] == [(2, 5), (2, 5, 2), (2, 5, 2)]
    back = torch.utils._pytree.tree_unflatten([leaf + 1 for leaf in leaves], structure)
    assert torch.equal(back.lse, aux.lse + 1) and back.weights is None


def test_the_draw_of_a_generator_repeats():
    x = torch.randn(2, 5, 8)
    draws = [attend(x, x, x, read=reads.Sample(generator=torch.Generator().manual_seed(seed))) for seed in (1, 1, 2)]
    assert torch.equal(draws[0], draws[1]) and not torch.equal(draws[0], draws[2])


def test_the_entropy_of_an_empty_row_is_no_negative_zero():
    x = torch.ones(2, 3, 4)
    mask = masks.Lengths(torch.tensor([3, 0]))
    found = attend(x, x, x, mask=mask, aux=AuxRequest(entropy=True), backend="reference")[1].entropy
    assert not found[1].signbit().any()
