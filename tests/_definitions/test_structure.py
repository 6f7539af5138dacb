import json
import weakref

import pytest
import torch

from laws.table import PRIMES, TABLES
from saccade import attend, biases, masks, normalizers, scores
from saccade._definitions.structure import Definition, Grid, aligned, decode, encodable, encode, foreign
from saccade.errors import ArgumentError
from tiers import every


def grid(q, k, start=0, rows=None):
    return Grid(q, k, start, q if rows is None else rows, torch.device("cpu"))


def tree():
    """Definitions within definitions, tensors at several depths."""
    return (masks.Causal("end") & torch.ones(2, 3, dtype=torch.bool)) | ~masks.Lengths(torch.tensor([1, 2]))


def test_leaves_are_found_and_put_back_in_order():
    leaves = tree().leaves()
    assert [leaf.axes for leaf in leaves] == [("q", "k"), ()]
    other = tree().with_leaves(iter([torch.zeros(2, 3, dtype=torch.bool), torch.tensor([0, 0])]))
    assert not other.leaves()[0].tensor.any() and other.leaves()[1].tensor.tolist() == [0, 0]


def test_map_leaves_the_original_alone():
    score = scores.Cosine(torch.ones(3, 1))
    doubled = score.map(lambda tensor, axes: 2 * tensor)
    assert (doubled.beta == 2).all() and (score.beta == 1).all() and doubled.leaves()[0].axes == ("q", "1")


def test_a_grid_counts_rows_from_its_start():
    assert grid(7, 4, start=5, rows=2).queries().tolist() == [[5], [6]]
    assert grid(7, 4).keys().tolist() == [[0, 1, 2, 3]]


@pytest.mark.parametrize(
    ("shape", "axes", "rank", "expected"),
    [((5,), ("d",), 2, (1, 1, 5)), ((2, 5), ("d",), 1, (2, 5)), ((), (), 2, (1, 1)), ((3, 4), ("q", "k"), 0, (3, 4))],
)
def test_aligned_puts_batch_dimensions_at_one_place(shape, axes, rank, expected):
    assert aligned(torch.zeros(shape), axes, rank).shape == expected


@every(
    "definition",
    [
        tree(),
        scores.ScaledDot(scale=0.5, softcap=3.0),
        scores.Kernel("boxcar", 2.0),
        normalizers.Softmax(torch.ones(1), sink=1.0),
        masks.Window(2, None, align=-1),
        biases.Alibi(torch.ones(3), torch.tensor(1)) + torch.zeros(2, 2),
        biases.Alibi(torch.ones(3)) * torch.ones(2, 2),
        masks.Prefix(3),
        masks.Intervals(torch.tensor([[0, 1]]), 4),
    ],
)
def test_what_is_encoded_comes_back(definition):
    numbers: list[float] = []
    text = encode(definition, numbers)
    json.loads(text)
    back = decode(text, numbers).with_leaves(iter([leaf.tensor for leaf in definition.leaves()]))
    assert repr(back) == repr(definition)
    assert encodable(definition)


def test_decoding_leaves_no_reference_cycle():
    class Numbers(list):
        """A list with weak references."""

    numbers = Numbers()
    alive = weakref.ref(numbers)
    decode(encode(masks.Causal() & masks.Window(2, 0), numbers), numbers)
    del numbers
    assert alive() is None


def test_numbers_leave_the_text():
    one, other = [], []
    assert encode(masks.Window(1, 2, align=3), one) == encode(masks.Window(4, 5, align=6), other)
    assert one == [1, 2, 3] and other == [4, 5, 6]


def test_functions_are_known_and_not_encodable():
    for function in (masks.Causal() & masks.Where(lambda i, j: i == j), biases.Position(lambda i, j: i * 0.5)):
        assert not encodable(function) and not foreign(function)


def test_the_users_own_definitions_are_not_encodable():
    class Own(scores.Score):
        __match_args__ = ()

    assert not encodable(Own())


@every(("role", "name"), [(role, name) for role, table in TABLES.items() for name in table])
def test_members_are_equal_if_they_hold_the_same_tensors(role, name):
    member, generator = TABLES[role][name], torch.Generator().manual_seed(0)
    tensors = {name: spec.tensor(generator, PRIMES) for name, spec in member.specs.items()}
    first = member.build(**tensors)
    if not isinstance(first, Definition):  # a tensor or a callable
        return
    second = first.with_leaves(leaf.tensor for leaf in first.leaves())
    assert second is not first and first == second and hash(first) == hash(second) and len({first, second}) == 1
    other = first.map(lambda tensor, axes: tensor.clone())
    assert (other != first) == bool(first.leaves())


def test_equality_is_of_class_and_of_all_that_is_held():
    v, function = torch.ones(3), torch.less
    assert scores.Additive(v) != scores.Additive(v.clone()) and scores.Dot() != scores.ScaledDot()
    assert scores.ScaledDot(0.5) == scores.ScaledDot(scale=0.5) != scores.ScaledDot(0.25)
    assert scores.Cosine(v) != scores.Cosine(1.0) and scores.Additive(v) != v and scores.Dot() != "dot"
    assert masks.Where(function) == masks.Where(function) != masks.Where(torch.greater)
    assert biases.Position(function, v) == biases.Position(function, v) != biases.Position(function, v.clone())
    mask = masks.Causal() & torch.ones(2, 2, dtype=torch.bool)
    assert mask == masks.Causal() & mask.second.allowed and mask != masks.Causal() | mask.second.allowed

    class Own(scores.Score):
        def __init__(self, weight):
            self.weight = weight

    assert Own(v) == Own(v) != Own(v.clone()) and hash(Own([v])) != hash(Own([v]))


@pytest.mark.parametrize(
    ("operands", "backends"),
    [("left", ("auto", "reference", "chunked")), ("right", ("reference", "chunked", "auto"))],
    ids=["left", "right"],
)
def test_masks_composed_5000_times_are_one_mask(operands, backends):
    x, more = torch.randn(2, 5, 8), masks.Window(1, 4)
    mask, either, twice = masks.Causal(), masks.Window(0, 0), masks.Causal()
    for _ in range(5000):
        mask, either = (mask & more, either | more) if operands == "left" else (more & mask, more | either)
        twice = ~twice
    pairs = (mask, masks.Window(1, 0)), (either, more), (twice, masks.Causal())
    for (deep, plain), backend in zip(pairs, backends, strict=True):
        outputs = [attend(x, x, x, mask=which, backend=backend) for which in (deep, plain)]
        assert torch.equal(*outputs)
    assert mask == mask and hash(mask) == hash(mask)


def test_biases_and_gates_composed_5000_times_are_sums_and_products():
    generator = torch.Generator().manual_seed(0)
    steps = 1e-3 * torch.randn(5000, 5, 5, dtype=torch.float64, generator=generator)
    x, bias, gate = torch.randn(2, 5, 8, dtype=torch.float64), biases.Dense(steps[0]), biases.Weights(steps[0].exp())
    for step in steps[1:]:
        bias, gate = bias + step, step.exp() * gate
    for backend in ("auto", "reference"):
        found = attend(x, x, x, bias=bias, gate=gate, backend=backend)
        expected = attend(x, x, x, bias=steps.sum(0), gate=steps.sum(0).exp(), backend="reference")
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


def test_operators_nested_in_turn_are_refused_before_the_stack_ends():
    mask = masks.Causal()
    with pytest.raises(ArgumentError, match=r"^(Both|Either): expected at most 256 different operators nested"):
        for _ in range(5000):
            mask = (mask & masks.Window(1, 0)) | masks.Window(0, 0)
