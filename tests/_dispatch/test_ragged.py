"""Nested tensors have the results of a loop over their sequences."""

from dataclasses import fields

import pytest
import torch

from laws.table import BIASES, MASKS, NORMALIZERS, READS, SCORES, Sizes
from saccade import AuxRequest, attend, biases, explain, masks, normalizers, reads, remember, scores
from saccade.errors import ArgumentError, ArgumentTypeError, SaccadeError, ShapeError

Q_LENS, K_LENS = [3, 0, 1, 6, 2], [4, 2, 1, 6, 0]
STATISTICS = AuxRequest(top=2, received=True)


def offsets_of(lengths):
    return torch.tensor([0, *lengths]).cumsum(0)


def sides(heads=(), q_lens=Q_LENS, k_lens=K_LENS, dtype=torch.float64, d=11, c=11, e=13):
    """Leaves of queries, keys and values, each with its lengths."""
    generator = torch.Generator().manual_seed(0)
    sizes = (q_lens, d), (k_lens, c), (k_lens, e)
    return [
        (torch.randn(*heads, sum(lengths), dim, generator=generator, dtype=torch.float64).to(dtype), lengths)
        for lengths, dim in sizes
    ]


def nested(rows):
    offsets = {}
    return [
        torch.nested.nested_tensor_from_jagged(
            row, offsets.setdefault(tuple(lengths), offsets_of(lengths)), jagged_dim=row.ndim - 1
        )
        for row, lengths in rows
    ]


def loop(rows, **options):
    """Outputs and statistics of each sequence alone, by the plain formula."""
    pieces = zip(*(row.split(lengths, -2) for row, lengths in rows), strict=True)
    return [attend(*piece, backend="reference", **options) for piece in pieces]


def compare(rows, aux=STATISTICS, **options):
    rows = [(row.requires_grad_(), lengths) for row, lengths in rows]
    output, statistics = attend(*nested(rows), aux=aux, **options)
    expected = loop(rows, aux=aux, **options)
    assert output.is_nested and output.shape[:-2] == nested(rows)[0].shape[:-2]
    for ours, (theirs, _) in zip(output.unbind(), expected, strict=True):
        torch.testing.assert_close(ours, theirs)
    for field in fields(statistics):
        ours = getattr(statistics, field.name)
        for index, (_, theirs) in enumerate(expected):
            same(ours, getattr(theirs, field.name), index)
    weights = torch.linspace(-1, 1, output.values().numel(), dtype=output.dtype).view(output.values().shape)
    flat = torch.cat([theirs for theirs, _ in expected], -2)
    leaves = [row for row, _ in rows]
    ours, theirs = (
        torch.autograd.grad((result * weights).sum(), leaves, allow_unused=True, materialize_grads=True)
        for result in (output.values(), flat)
    )
    torch.testing.assert_close(ours, theirs)


def same(ours, theirs, index):
    if isinstance(ours, tuple):
        for side, expected, empty in zip(ours, theirs, (0, -1), strict=True):
            side = side.unbind()[index]
            torch.testing.assert_close(side[..., : expected.shape[-1]], expected)
            assert (side[..., expected.shape[-1] :] == empty).all()
    elif ours is not None:
        torch.testing.assert_close(ours.unbind()[index], theirs)


def shared(table):
    """Members whose tensors have no queries, keys or examples."""
    return [name for name, member in table.items() if not any({"q", "k"} & {*s.axes} for s in member.specs.values())]


def built(member, heads):
    generator, sizes = torch.Generator().manual_seed(1), Sizes(heads, max(Q_LENS), max(K_LENS))
    return member.build(**{name: spec.tensor(generator, sizes) for name, spec in member.specs.items()})


MEMBERS = [
    (kind, name)
    for kind, table in (
        ("score", SCORES),
        ("normalizer", NORMALIZERS),
        ("mask", MASKS),
        ("bias", BIASES),
        ("read", READS),
    )
    for name in shared(table)
    if name not in ("causal_tensor", "lengths", "prefix", "packed")
]


@pytest.mark.parametrize("heads", [(), (3,)], ids=["(B, j, D)", "(B, H, j, D)"])
@pytest.mark.parametrize(("kind", "name"), MEMBERS)
def test_every_member_is_as_in_a_loop(kind, name, heads):
    member = {"score": SCORES, "normalizer": NORMALIZERS, "mask": MASKS, "bias": BIASES, "read": READS}[kind][name]
    width = 17 if any("c" in spec.axes for spec in member.specs.values()) else 11
    aux = AuxRequest(top=2, received=True, index="hard" in member.traits)
    compare(sides(heads, c=width), aux, **{kind: built(member, heads)})


DESCENDING = masks.Where(lambda i, j: j <= 2 * i)
PLACES = {
    "causal": {"mask": masks.Causal("end")},
    "a window": {"mask": masks.Window(1, 1, "end") & DESCENDING},
    "prefix": {"mask": masks.Prefix(2)},
    "not": {"mask": ~masks.Prefix(1) | masks.Causal("start")},
    "intervals": {"mask": masks.Intervals(1, 3)},
    "a boolean": {"mask": torch.tensor(True) & masks.Window(None, 1, -1)},
    "gate": {
        "gate": torch.tensor([[[0.5]], [[2.0]], [[1.0]]], dtype=torch.float64) * biases.Alibi(torch.tensor(0.1), 1)
    },
    "biases": {"bias": biases.Alibi(torch.tensor(0.3), "end") + biases.Position(lambda i, j: (i * j).double())},
    "signed": {"normalizer": normalizers.Identity(), "gate": biases.Alibi(torch.tensor(0.1), "start")},
    "a head": {"score": scores.ScaledDot(torch.tensor([[[0.5]], [[-1.0]], [[2.0]]], dtype=torch.float64))},
    "lse": {"aux": AuxRequest(lse=True, entropy=True), "mask": masks.Causal("start")},
    "top 3": {"read": reads.TopK(3), "mask": DESCENDING, "aux": AuxRequest(top=9)},
    "a callable of positions": {"score": lambda q, k, at: q @ k.mT + (at[0] - at[1])},
}


@pytest.mark.parametrize("name", PLACES)
def test_positions_are_those_in_a_sequence(name):
    compare(sides((3,), c=11), **PLACES[name])


@pytest.mark.parametrize("name", PLACES)
def test_queries_and_keys_of_equal_lengths(name):
    compare(sides((3,), Q_LENS, Q_LENS), **PLACES[name])


def test_without_align_if_lengths_are_equal():
    for options in ({"mask": masks.Causal()}, {"bias": biases.RelativePosition(torch.randn(3, 5).double())}):
        compare(sides((3,), Q_LENS, Q_LENS), **options)
    rows = [tensor for tensor, _ in sides((3,), Q_LENS, Q_LENS)]
    apart = [torch.nested.nested_tensor_from_jagged(row, offsets_of(Q_LENS), jagged_dim=2) for row in rows]
    alike = attend(*nested(sides((3,), Q_LENS, Q_LENS)), mask=masks.Causal())
    assert torch.equal(attend(*apart, mask=masks.Causal()).values(), alike.values())
    with pytest.raises(ArgumentError, match="align of masks.Causal: expected 'start', 'end' or an int.*got None"):
        attend(*nested(sides(q_lens=[2, 3], k_lens=[3, 2])), mask=masks.Causal())
    with pytest.raises(ArgumentError, match="align of masks.Causal: .*differ"):
        attend(*nested(sides()), mask=masks.Causal())


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
@pytest.mark.parametrize("side", range(3), ids=["query", "key", "value"])
@pytest.mark.parametrize("options", [{}, {"score": scores.Gaussian(1.0), "read": reads.Argmax()}], ids=["soft", "hard"])
def test_one_sequence_may_hold_anything(options, side, bad):
    rows = sides((3,), Q_LENS, Q_LENS, torch.float32)
    clean = attend(*nested(rows), **options).unbind()
    rows[side][0][:, 4:6] = bad  # in the sequence of six
    rows = [(row.requires_grad_(), lengths) for row, lengths in rows]
    outputs = attend(*nested(rows), **options).unbind()
    for index in (0, 2, 4):
        torch.testing.assert_close(outputs[index], clean[index])
    others = sum(outputs[index].sum() for index in (0, 2, 4))
    grads = torch.autograd.grad(others, [row for row, _ in rows], allow_unused=True)
    apart = torch.ones(sum(Q_LENS), dtype=torch.bool)
    apart[4:10] = False  # 0 · NaN within the sequence is its own
    assert all(grad is None or grad[:, apart].isfinite().all() for grad in grads)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_types(dtype):
    rows = sides((3,), dtype=dtype)
    output = attend(*nested(rows), mask=masks.Causal("end"))
    expected = loop([(row.double(), lengths) for row, lengths in rows], mask=masks.Causal("end"))
    assert output.dtype == dtype
    torch.testing.assert_close(output.values().double(), torch.cat(expected, -2), atol=2e-2, rtol=2e-2)


def test_gradients_reach_nested_leaves():
    tensors = [torch.randn(length, 2, 8) for length in Q_LENS]
    x = torch.nested.nested_tensor(tensors, layout=torch.jagged, requires_grad=True)
    heads = x.transpose(1, 2)
    output = attend(heads, heads, heads, mask=masks.Causal())
    (output + heads).transpose(1, 2).values().square().sum().backward()  # one raggedness: they add
    dense = [tensor.transpose(0, 1).requires_grad_() for tensor in tensors]
    sum((attend(*[t] * 3, mask=masks.Causal()) + t).square().sum() for t in dense).backward()
    torch.testing.assert_close(x.grad.values(), torch.cat([t.grad.transpose(0, 1) for t in dense]))


def test_sequences_with_holes_between_them():
    padded = torch.randn(3, 6, 4, dtype=torch.float64)
    starts, lengths = torch.tensor([0, 1, 2]), torch.tensor([3, 0, 4])
    x = torch.nested.narrow(padded, 1, starts, lengths, layout=torch.jagged)
    output = attend(x, x, x).unbind()
    for index, (start, length) in enumerate(zip(starts.tolist(), lengths.tolist(), strict=True)):
        piece = padded[index, start : start + length]
        torch.testing.assert_close(output[index], attend(piece, piece, piece))


def test_grouped_queries_share_the_keys_of_a_sequence():
    generator = torch.Generator().manual_seed(0)
    rows = [
        (torch.randn(*heads, sum(lengths), 8, generator=generator, dtype=torch.float64), lengths)
        for heads, lengths in (((2, 3), Q_LENS), ((2, 1), K_LENS), ((2, 1), K_LENS))
    ]
    output = attend(*nested(rows), mask=masks.Causal("end"))
    torch.testing.assert_close(output.values(), torch.cat(loop(rows, mask=masks.Causal("end")), -2))


def test_draws_and_dropout_stay_in_their_sequence():
    query, key, value = nested(sides((2,), Q_LENS, [2, 2, 2, 2, 2]))
    output, aux = attend(query, key, value, read=reads.Sample(), aux=AuxRequest(index=True, log_prob=True))
    for index, log_prob, out, values in zip(
        *(t.unbind() for t in (aux.index, aux.log_prob, output, value)), strict=True
    ):
        assert ((index >= 0) & (index < 2)).all() and (log_prob < 0).all()
        torch.testing.assert_close(out, values.gather(-2, index[..., None].expand(*index.shape, 13)))
    assert not attend(query, key, value, dropout_p=1.0).values().any()


def test_explain_plans_the_row_or_the_longest_sequence():
    rows = sides((2,), [300, 400], [300, 400], torch.float32, 8, 8, 8)
    assert explain(*nested(rows)).pairs == (2 * 700**2, *[2 * (300**2 + 400**2)] * 2)
    alone = explain(*nested(rows), score=scores.Location(torch.ones(400, 8)))
    longest = [row[:, 300:] for row, _ in rows]
    assert alone == explain(*longest, score=scores.Location(torch.ones(400, 8)))


STRIDED = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")


@STRIDED
@pytest.mark.parametrize("side", range(3), ids=["query", "key", "value"])
def test_tensors_that_are_not_nested_alike_are_one_error(side):
    rows = [(row, lengths) for row, lengths in sides((2,))]
    pieces = [piece.transpose(0, 1) for piece in rows[side][0].split(rows[side][1], -2)]
    jagged = torch.nested.nested_tensor(pieces, layout=torch.jagged)
    for bad, error, message in (
        (rows[side][0], ArgumentTypeError, "got a dense one. Nest all three"),
        (torch.nested.nested_tensor(pieces), ArgumentTypeError, r"torch.jagged, got torch.strided. Make it"),
        (jagged, ShapeError, r"Write \.transpose\(1, 2\)"),
        (lambda index: index, ArgumentTypeError, "got function"),
    ):
        tensors = nested(rows)
        tensors[side] = bad
        for call in (attend, explain):
            with pytest.raises(error, match=f"{['query', 'key', 'value'][side]}: expected.*{message}"):
                call(*tensors)


def test_sequences_of_other_numbers_are_one_error():
    query, key, value = nested(sides())
    with pytest.raises(ShapeError, match="key: expected 5 sequences, as query has, got 2"):
        attend(query, *nested([(torch.ones(4, 11).double(), [3, 1])] * 2))
    other = torch.nested.nested_tensor_from_jagged(value.values(), offsets_of([2, 4, 1, 6, 0]))
    with pytest.raises(ArgumentError, match="value: expected sequences of the lengths of key, got others"):
        attend(query, key, other)
    with pytest.raises(ArgumentError, match="key: expected dtype"):
        attend(query, *nested(sides(dtype=torch.float32))[1:])


REFUSED = {
    "padding": {"mask": torch.ones(5, 1, 7, dtype=torch.bool)},
    "lengths": {"mask": masks.Lengths(torch.tensor(3))},
    "lengths of sequences": {"mask": masks.Lengths(torch.tensor(K_LENS))},
    "documents": {"mask": masks.Causal("end") & masks.Documents(torch.zeros(1).long(), torch.zeros(1).long())},
    "around": {"mask": masks.Around(torch.tensor([1.0]), 1.0)},
    "align": {"mask": masks.Causal(torch.tensor(1))},
    "prefix": {"mask": masks.Prefix(torch.tensor(1))},
    "packed": {"mask": masks.Packed(offsets_of(Q_LENS))},
    "nested": {"bias": nested(sides())[0]},
    "bias": {"bias": torch.ones(12, 13)},
    "window": {"gate": biases.GaussianWindow(torch.tensor([1.0]), 1.0)},
    "scale": {"score": scores.ScaledDot(torch.ones(5, 1, 1))},
    "temperature": {"normalizer": normalizers.Softmax(torch.ones(12, 1))},
    "uniform": {"read": reads.Sample(uniform=torch.ones(12))},
    "aux": {"aux": AuxRequest(weights=True)},
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_entries_of_sequences_is_one_clear_error(name):
    [argument] = REFUSED[name]
    with pytest.raises(SaccadeError, match=rf"^{argument}[.\w]*: expected .* got .*\. Attend to each sequence"):
        attend(*nested(sides()), **REFUSED[name])


@pytest.mark.parametrize(
    "options", [{"score": scores.Dot}, {"aux": True}, {"mask": torch.ones(())}, {"backend": "fast"}]
)
def test_other_errors_are_those_of_dense_tensors(options):
    messages = []
    for tensors in (nested(sides()), [row for row, _ in sides()]):
        with pytest.raises(SaccadeError) as caught:
            attend(*tensors, **options)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_a_prepared_mask_is_rejected_by_its_name():
    for call in (attend, explain):
        with pytest.raises(ArgumentTypeError, match="^mask: expected a plain mask .* got Prepared. Pass its .mask.$"):
            call(*nested(sides()), mask=masks.prepare(masks.Causal(), 12, 13, "cpu"))


@pytest.mark.parametrize("k_lens", [K_LENS, [3, 1, 0, 6, 2]], ids=["other sum", "equal sum"])
@pytest.mark.parametrize("part", [{"mask": masks.Causal()}, {"bias": biases.Alibi(torch.tensor(0.5).double())}])
def test_align_is_required_if_lengths_differ(part, k_lens):
    message = "^align of .*: expected 'start', 'end' or an int, since queries and keys differ in length, got None$"
    with pytest.raises(ArgumentError, match=message):
        attend(*nested(sides(k_lens=k_lens)), **part)


@pytest.mark.parametrize("score", [scores.ScaledDot(), lambda query, key: query @ key.mT], ids=["row", "loop"])
def test_no_sequences_have_no_results(score):
    empty = torch.nested.nested_tensor_from_jagged(torch.zeros(0, 8), torch.tensor([0]))
    output, aux = attend(empty, empty, empty, score=score, mask=masks.Causal(), aux=STATISTICS)
    assert (len(output), output.values().shape, aux.top[0].values().shape[0]) == (0, (0, 8), 0)
    assert explain(empty, empty, empty, score=score).backend in ("sdpa", "reference")


@pytest.mark.parametrize("offsets", [[0, 5, 3, 9], [0, 5, 8], [1, 3, 9], [0, 3, 12]])
@pytest.mark.parametrize("score", [scores.ScaledDot(), lambda query, key: query @ key.mT], ids=["row", "loop"])
def test_wrong_offsets_are_an_error_of_the_nested_tensor(score, offsets):
    wrong = torch.nested.nested_tensor_from_jagged(torch.zeros(9, 8), torch.tensor(offsets))
    message = "^query: expected offsets from 0 to 9, its positions, that do not fall, got others$"
    with pytest.raises(ArgumentError, match=message):
        attend(wrong, wrong, wrong, score=score)


def test_tensors_of_two_devices_are_one_error():
    query, key, value = nested(sides())
    with pytest.raises(ArgumentError, match="^key: expected device cpu, that of query, got meta"):
        attend(query, key.to("meta"), value.to("meta"))


def test_a_memory_has_no_nested_queries():
    query, key, _ = nested(sides())
    memory = remember(torch.randn(3, 11).double(), torch.randn(3, 2).double())
    with pytest.raises(SaccadeError, match="key: expected a nested tensor beside nested ones, got a dense one"):
        memory.read(query)
    with pytest.raises(SaccadeError, match="key: expected a dense tensor, got a nested one"):
        remember(key, key)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")
def test_a_compiler_takes_nested_tensors():
    function = lambda q, k, v: attend(q, k, v, mask=masks.Causal("end"))
    compiled = torch.compile(function, backend="aot_eager", fullgraph=True)
    for q_lens, k_lens in ((Q_LENS, K_LENS), ([2, 7], [5, 5])):
        rows = [(row.requires_grad_(), lengths) for row, lengths in sides((2,), q_lens, k_lens)]
        outputs = [run(*nested(rows)).values() for run in (compiled, function)]
        torch.testing.assert_close(*outputs)
        grads = [torch.autograd.grad(output.sum(), [row for row, _ in rows]) for output in outputs]
        torch.testing.assert_close(*grads)
