from itertools import accumulate, cycle, product

import pytest
import torch

from calls import call_of
from near import assert_near
from saccade import attend, explain, masks, normalizers, scores
from saccade.backends.sdpa import documents, lays_out

LENGTHS = [200, 70, 330, 1, 111]
BATCHES = {
    "alike": ((2, 3), (2, 3), (2, 3), ()),
    "rows": ((3, 2), (3, 2), (3, 2), (3, 1)),
    "heads": ((2, 3), (2, 3), (2, 3), (1, 3)),
    "one row": ((), (), (), ()),
    "groups": ((2, 2, 3), (2, 2, 1), (2, 2, 1), ()),
    "groups of rows": ((2, 2, 3), (2, 2, 1), (2, 1, 1), (2, 1, 1)),
    "shared keys": ((2, 3), (), (1, 1), ()),
}


def ids_of(lengths, batch=(), dtype=torch.int64):
    """Ids of documents one after the other, of each entry in another order."""
    found = torch.empty(*batch, sum(lengths), dtype=dtype)
    for entry, place in enumerate(product(*map(range, batch))):
        turned = lengths[entry:] + lengths[:entry]
        names = torch.arange(len(turned)).flip(0)  # not sorted: to follow each other is enough
        found[place] = torch.repeat_interleave(names, torch.tensor(turned))
    return found


def tensors(batches, q_len, k_len, **kind):
    generator = torch.Generator().manual_seed(0)
    shapes = zip(batches, (q_len, k_len, k_len), (8, 8, 6), strict=False)
    return [torch.randn(*batch, *size, generator=generator, **kind) for batch, *size in shapes]


def compare(inputs, **options):
    """Outputs and gradients of torch's kernels, document after document, and of the plain formula."""
    found = []
    for backend in ("sdpa", "reference"):
        own = [tensor.clone().requires_grad_() for tensor in inputs]
        output = attend(*own, backend=backend, **options)
        weights = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).reshape(output.shape)
        found.append((output, *torch.autograd.grad((output * weights).sum(), own)))
    for ours, expected in zip(*found, strict=True):
        torch.testing.assert_close(ours, expected)


PER_QUERY = {
    "scale": lambda numbers: {"score": scores.ScaledDot(scale=numbers)},
    "beta": lambda numbers: {"score": scores.Cosine(beta=numbers)},
    "sink": lambda numbers: {"normalizer": normalizers.Softmax(sink=numbers)},
}


@pytest.mark.parametrize("lengths", [LENGTHS, [178] * 4], ids=["ragged", "alike"])
@pytest.mark.parametrize(
    ("name", "shape"), list(zip(PER_QUERY, [(712, 1), (3, 1, 1), (2, 1, 712, 1)], strict=True)), ids=str
)
def test_each_document_has_its_own_queries_numbers(name, shape, lengths):
    numbers = torch.linspace(0.1, 2, torch.Size(shape).numel(), dtype=torch.float64).reshape(shape)
    inputs, options = tensors(BATCHES["alike"], 712, 712, dtype=torch.float64), PER_QUERY[name](numbers)
    ids = ids_of(lengths)
    mask = masks.Documents(ids, ids) & masks.Causal()
    assert documents.documented(call_of(*inputs, mask=mask, **options)) is not None
    compare(inputs, mask=mask, **options)


@pytest.mark.parametrize(("name", "causal"), list(zip(BATCHES, cycle([False, True]))))
def test_documents_are_computed_one_after_the_other(name, causal):
    *batches, of_ids = BATCHES[name]
    ids = ids_of(LENGTHS, of_ids)
    mask = masks.Documents(ids, ids) & masks.Causal() if causal else masks.Documents(ids, ids)
    inputs = tensors(batches, sum(LENGTHS), sum(LENGTHS), dtype=torch.float64)
    assert documents.documented(call_of(*inputs, mask=mask)) is not None
    compare(inputs, mask=mask)


@pytest.mark.parametrize(("name", "causal"), list(zip(BATCHES, cycle([True, False]))))
def test_packed_rows_are_computed_one_after_the_other(name, causal):
    *batches, batch = BATCHES[name]
    turned = [[*LENGTHS[entry:], 0, *LENGTHS[:entry]] for entry in range(torch.Size(batch).numel())]
    offsets = torch.tensor([[0, *accumulate(lengths)] for lengths in turned]).view(*batch, -1)
    mask = masks.Packed(offsets) & masks.Causal() if causal else masks.Packed(offsets)
    inputs = tensors(batches, sum(LENGTHS), sum(LENGTHS), dtype=torch.float64)
    assert documents.documented(call_of(*inputs, mask=mask)) is not None
    compare(inputs, mask=mask)


def test_packed_rows_that_one_side_lacks():
    mask = masks.Packed(torch.tensor([0, 300, 300, 600]), torch.tensor([0, 400, 800, 800]))
    inputs = tensors(((2,),) * 3, 600, 800, dtype=torch.float64)
    assert documents.documented(call_of(*inputs, mask=mask)) is not None
    compare(inputs, mask=mask)
    assert not attend(*inputs, mask=mask)[:, 300:].any(), "nothing to attend to gives zeros"


def test_one_query_of_each_sequence_costs_its_own_keys():
    lengths = [20_000, 300, 35_000, 0, 47_000]
    inputs = tensors(((2,),) * 3, len(lengths), sum(lengths), dtype=torch.float64)
    mask = masks.Packed(torch.arange(6), torch.tensor([0, *accumulate(lengths)]))
    assert explain(*inputs, mask=mask).pairs.computed == 2 * sum(lengths)
    compare(inputs, mask=mask)


@pytest.mark.parametrize("causal", [False, True])
def test_documents_of_one_length_are_computed_at_once(causal):
    ids = ids_of([128] * 5)
    mask = masks.Causal() & masks.Documents(ids, ids) if causal else masks.Documents(ids, ids)
    inputs = tensors(((2, 3),) * 3, 640, 640, dtype=torch.float64)
    found = documents.documented(call_of(*inputs, mask=mask))
    assert [row.q_lens for row in found.rows] == [[128] * 5]
    for score in (scores.Dot(), scores.ScaledDot(torch.rand(3, 1, 1, dtype=torch.float64)), scores.Cosine(3.0)):
        compare(inputs, mask=mask, score=score)


def test_documents_that_one_side_lacks():
    query_ids, key_ids = ids_of([300, 150, 150]), ids_of([100, 300, 400]) + 1
    inputs = tensors(((2,),) * 3, 600, 800, dtype=torch.float64)
    mask = masks.Documents(query_ids, key_ids)
    compare(inputs, mask=mask)
    assert not attend(*inputs, mask=mask)[:, -150:].any(), "nothing to attend to gives zeros"


def test_causal_documents_begin_together_or_are_laid_out():
    ids, longer = ids_of([300, 300]), ids_of([300, 300, 100])
    inputs = tensors(((2,),) * 3, 600, 700, dtype=torch.float64)
    longer[:100], longer[100:] = 7, ids
    for align, served in (("end", True), (100, True), ("start", False), (99, False)):
        mask = masks.Documents(ids, longer) & masks.Causal(align)
        assert (documents.documented(call_of(*inputs, mask=mask)) is not None) == served
        compare(inputs, mask=mask)


def test_what_is_not_documents_one_after_the_other():
    inputs = tensors(((2, 3),) * 3, 640, 640)
    ids = ids_of([128] * 5)
    returns = ids.clone()
    returns[-3:] = ids[0]
    short, both = torch.arange(640) // 8, ids_of([300, 340], (2, 3))
    for mask in (
        masks.Documents(returns, returns),
        masks.Documents(ids, returns),
        masks.Documents(short, short),
        masks.Documents(both, both),
        masks.Documents(ids, ids) & masks.Window(5, 5),
        masks.Documents(ids, ids) & masks.Causal(torch.tensor([[0], [1]])),
        ~masks.Documents(ids, ids),
    ):
        call = call_of(*inputs, mask=mask)
        assert documents.documented(call) is None
        assert lays_out(call)


def test_other_documents_may_hold_anything():
    ids = ids_of(LENGTHS)
    query, key, value = tensors(((2, 3),) * 3, len(ids), len(ids))
    mask = masks.Documents(ids, ids)
    expected = attend(query, key, value, mask=mask)
    poisoned = [tensor.clone() for tensor in (query, key, value)]
    for tensor in poisoned:
        tensor[..., 270:, :] = torch.nan
    found = attend(*poisoned, mask=mask, backend="sdpa")
    assert torch.equal(found[..., :270, :], expected[..., :270, :])
    inputs = [tensor.requires_grad_() for tensor in poisoned]
    grads = torch.autograd.grad(attend(*inputs, mask=mask, backend="sdpa")[..., :200, :].sum(), inputs)
    assert all(grad[..., :200, :].isfinite().all() for grad in grads)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_sinks_and_half_types(dtype):
    ids = ids_of(LENGTHS)
    inputs = tensors(((2, 3),) * 3, len(ids), len(ids))
    options = {"mask": masks.Documents(ids, ids), "normalizer": normalizers.Softmax(temperature=0.5, sink=0.3)}
    given = [tensor.to(dtype) for tensor in inputs]
    found = attend(*given, backend="sdpa", **options)
    assert_near(found, lambda *tensors: attend(*tensors, backend="reference", **options), *given)


def test_second_derivatives():
    ids = ids_of([300, 300])
    inputs = [tensor.requires_grad_() for tensor in tensors(((),) * 3, 600, 600, dtype=torch.float64)]
    found = []
    for backend in ("sdpa", "reference"):
        loss = attend(*inputs, mask=masks.Documents(ids, ids), backend=backend).square().sum()
        first = torch.autograd.grad(loss, inputs, create_graph=True)
        found.append(torch.autograd.grad(sum(grad.square().sum() for grad in first), inputs))
    torch.testing.assert_close(*found)


def test_auto_takes_them_and_explain_counts_their_pairs():
    ids = ids_of(LENGTHS)
    inputs = tensors(((2, 3),) * 2, len(ids), len(ids))
    inputs.append(inputs[1])
    plan = explain(*inputs, mask=masks.Documents(ids, ids))
    squares = sum(length * length for length in LENGTHS)
    assert (plan.backend, plan.pairs) == ("sdpa", (6 * len(ids) ** 2, 6 * squares, 6 * squares))
    assert plan.peak_bytes == 0
    causal = explain(*inputs, mask=masks.Documents(ids, ids) & masks.Causal())
    assert causal.pairs.allowed == 6 * sum(length * (length + 1) // 2 for length in LENGTHS)


def test_documents_without_pairs_give_zeros_with_a_graph():
    query, key = torch.randn(1, 512, 8, requires_grad=True), torch.randn(1, 512, 8)
    mask = masks.Documents(torch.zeros(512, dtype=torch.long), torch.ones(512, dtype=torch.long))
    output = attend(query, key, key, mask=mask)
    output.sum().backward()
    assert not output.any() and not query.grad.any()
