import math

import pytest
import torch

from calls import call_of
from laws.case import Case
from laws.table import PAIR_BIASES, PAIR_MASKS
from saccade import biases, masks
from saccade._definitions.structure import Grid
from saccade.backends.flex import points
from saccade.backends.flex.folding import Fold, folding
from tiers import every

ALIGNS = ["start", "end", -2, 3, torch.tensor([[1], [-4]]), torch.tensor([0, 2, 5])]


def everywhere(function, fold):
    """A function of one query and one key at all of them, `(B, H, Lq, Lk)`."""
    sizes = (math.prod(fold.batch[: fold.split]), math.prod(fold.batch[fold.split :]), fold.grid.q_len, fold.grid.k_len)
    point = torch.meshgrid(*(torch.arange(size, dtype=torch.int32) for size in sizes), indexing="ij")
    return function(*point).expand(sizes)


def dense(values, fold):
    full = values.expand(*fold.batch, fold.grid.q_len, fold.grid.k_len)
    return full.reshape(math.prod(fold.batch[: fold.split]), math.prod(fold.batch[fold.split :]), *full.shape[-2:])


def called(case, inputs=None):
    inputs = inputs or case.inputs()
    arguments = case.arguments(inputs)
    tensors = (inputs[name] for name in ("query", "key", "value"))
    call = call_of(*tensors, **arguments)
    return call, folding(call)


def some_fold(split=1, q_len=5, k_len=7):
    return Fold((2, 3), split, 0, Grid(q_len, k_len, 0, q_len, torch.device("cpu")), torch.float64)


def assert_same_mask(mask, fold):
    assert torch.equal(everywhere(points.permitted(mask, fold), fold), dense(mask.dense(fold.grid), fold))


@pytest.mark.parametrize("broadcast", [False, True])
@every("name", [name for name in PAIR_MASKS if name != "none"])
def test_every_mask_at_one_pair_is_the_mask(name, broadcast):
    call, fold = called(Case(mask=name, broadcast=broadcast))
    assert_same_mask(call.mask, fold)


@every("split", [0, 1, 2])
@every("align", ALIGNS)
def test_masks_compose_with_any_alignment(align, split):
    fold, ids = some_fold(split), torch.tensor([0, 0, 1, 1, 1, 2, 2])
    causal, window = masks.Causal(align), masks.Window(2, 1, align)
    lengths = masks.Lengths(torch.tensor([[3], [6]]))
    assert_same_mask(causal, fold)
    assert_same_mask(window & ~causal | masks.Prefix(2), fold)
    assert_same_mask(causal & lengths & masks.Documents(ids[:5], ids), fold)
    assert_same_mask(
        masks.Window(None, 2, align) & masks.Window(1, None, align) | masks.Window(None, None, align), fold
    )
    assert_same_mask(masks.Prefix(torch.tensor([1, 0, 4])) | ~lengths & torch.tensor([True] * 3 + [False] * 4), fold)


@pytest.mark.parametrize(("align", "allowed"), [(2**63 - 1, True), (-(2**63), False)])
def test_aligns_at_the_ends_do_not_wrap_around(align, allowed):
    fold, mask = some_fold(), masks.Causal(torch.tensor([[align], [align]]))
    assert everywhere(points.permitted(mask, fold), fold).eq(allowed).all()


@pytest.mark.parametrize("center", [torch.tensor([0, 6, 3, 2, 9]), torch.tensor([0.5, math.nan, 7.0, -3.0, 2.0])])
def test_a_centre_of_any_kind(center):
    assert_same_mask(masks.Around(center, 1.5), some_fold())
    assert_same_mask(masks.Around(center.to(torch.bfloat16), 2), some_fold())


def test_a_tensor_of_one_entry_is_no_input_handed_back():
    fold, allowed = some_fold(), torch.tensor(True)
    found = points.permitted(masks.Dense(allowed), fold)(*torch.zeros(4, dtype=torch.int32))
    assert found and found.data_ptr() != allowed.data_ptr()


@every("broadcast", [False, True])
@every("name", [name for name in PAIR_BIASES if name != "none"])
def test_every_bias_at_one_pair_is_the_bias(name, broadcast):
    call, fold = called(Case(bias=name, broadcast=broadcast))
    found = everywhere(points.added(call.bias, fold), fold)
    torch.testing.assert_close(found, dense(call.bias.values(call.grid(), torch.float64), fold))


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ({"mask": "where_batch"}, "masks.Where answers for batch dimensions"),
        ({"bias": "position_batch"}, "biases.Position answers for batch dimensions"),
    ],
)
def test_functions_with_batch_dimensions_are_left_to_others(part, reason):
    assert reason in points.unknown(called(Case(**part))[0])


def test_a_function_that_learns_is_left_to_others():
    case, weight = Case(bias="position"), torch.ones((), requires_grad=True)
    inputs = case.inputs()
    assert points.unknown(called(case, inputs)[0]) is None
    inputs["bias.table"].requires_grad_()
    assert "a bias that needs gradients" in points.unknown(called(case, inputs)[0])
    x = torch.zeros(2, 5, 4)
    bias = biases.Position(lambda i, j: weight * (i - j))
    call = call_of(x, x, x, bias=bias)
    assert "a bias that needs gradients" in points.unknown(call)
    with torch.no_grad():
        assert points.unknown(call) is None


@pytest.mark.parametrize("bound", [0, torch.tensor([1]), torch.tensor([[[0, 1, 2, -1, 9]], [[5, 0, 0, 2, 2]]])])
def test_intervals_of_tensors_and_numbers(bound):
    assert_same_mask(masks.Intervals(bound, 5) | masks.Intervals(-3, bound), some_fold())


@pytest.mark.parametrize("align", ALIGNS, ids=str)
def test_biases_with_any_alignment(align):
    fold = some_fold()
    table, slopes = torch.randn(3, 5, dtype=torch.float64), torch.rand(2, 1, dtype=torch.float64)
    for bias in (biases.RelativePosition(table, align), biases.Alibi(slopes, align) + torch.randn(5, 1).double()):
        found = everywhere(points.added(bias, fold), fold)
        torch.testing.assert_close(found, dense(bias.values(fold.grid, torch.float64), fold))


def test_minus_infinity_in_one_bias_forbids():
    fold = some_fold()
    holes = torch.zeros(5, 7).masked_fill(torch.eye(5, 7).bool(), -torch.inf)
    bias = biases.Dense(holes) + torch.full((5, 7), torch.nan).masked_fill(~torch.eye(5, 7).bool(), 1.0)
    found = everywhere(points.added(bias, fold), fold)
    assert torch.equal(found, dense(torch.where(torch.eye(5, 7).bool(), -torch.inf, 1.0).double(), fold))


def test_what_is_the_same_for_all_is_not_copied():
    fold, tensor = some_fold(), torch.ones(1, 3, 1, 7)
    assert fold.definition(tensor, 2).shape == (1, 3, 1, 7)
    assert fold.definition(tensor, 2).data_ptr() == tensor.data_ptr()
    assert fold.definition(torch.ones(7), 1).shape == (1, 1, 7)


@pytest.mark.parametrize(
    ("query", "key", "split", "groups"),
    [((), (), 0, 0), ((2,), (2,), 1, 0), ((2, 3), (2, 3), 1, 0), ((2, 3), (2, 1), 1, 1), ((2, 3), (), 0, 2)],
)
def test_a_batch_is_b_and_a_number_of_heads_h(query, key, split, groups):
    key = torch.zeros(*key, 7, 4)
    _, fold = called(Case(), {"query": torch.zeros(*query, 5, 4), "key": key, "value": key})
    assert (fold.split, fold.groups) == (split, groups)


def test_groups_are_heads_that_share_keys():
    query, key = torch.randn(2, 3, 5, 4, 7, 8), torch.randn(2, 3, 5, 1, 11, 8)
    _, fold = called(Case(), {"query": query, "key": key, "value": key})
    assert (fold.split, fold.groups) == (2, 1)
    assert torch.equal(fold.rows(query), query.reshape(6, 20, 7, 8))
    assert torch.equal(fold.keys(key), key.reshape(6, 5, 11, 8)) and fold.keys(key).data_ptr() == key.data_ptr()
