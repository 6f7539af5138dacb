"""A call as a tree: its batch, its blocks, its randomness, its way through an operator."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from calls import call_of, drawn
from saccade import AuxRequest, biases, masks, normalizers, reads, scores
from saccade._call.call import BackendState, opaque, rows
from saccade.backends import reference

FULL = {
    "score": scores.Cosine(torch.linspace(0.5, 2.0, 5)[:, None]),
    "mask": masks.Causal(align="end") & masks.Lengths(torch.tensor([[6], [3]])),
    "bias": biases.Alibi(torch.tensor([0.1, 0.2, 0.3]), align="end") + drawn(5, 1, seed=3),
    "gate": torch.rand(3, 5, 7, generator=torch.Generator().manual_seed(4)),
    "normalizer": normalizers.Entmax(torch.full((3, 1, 1), 1.3)),
    "read": reads.Sample(uniform=torch.rand(2, 3, 5, generator=torch.Generator().manual_seed(5))),
    "aux": AuxRequest(index=True, top=2),
}


def full_call(**options):
    return call_of(drawn(2, 3, 5, 4), drawn(2, 1, 7, 4, seed=1), drawn(3, 7, 6, seed=2), **{**FULL, **options})


@given(st.lists(st.integers(1, 3), max_size=3), st.tuples(st.booleans(), st.booleans(), st.booleans()))
def test_the_batch_is_what_torch_broadcasts(batch, ones):
    shapes = [(*[1 if one else size for size in batch], 5, 4) for one in ones]
    tensors = [torch.zeros(shape) for shape in shapes]
    assert call_of(*tensors).batch == tuple(torch.broadcast_shapes(*(shape[:-2] for shape in shapes)))


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_blocks_of_rows_make_up_the_whole(count):
    call = full_call()
    whole, aux = reference.run(call)
    parts = []
    for start in range(0, 5, count):
        size = min(count, 5 - start)
        parts.append(reference.attention(rows(call, start, size), call.grid()._replace(start=start, rows=size)))
    torch.testing.assert_close(torch.cat([output for output, _ in parts], -2), whole)
    assert torch.equal(torch.cat([found.index for _, found in parts], -1), aux.index)


def test_a_block_is_a_view():
    call = full_call()
    block = rows(call, 1, 3)
    assert block.query.shape == (2, 3, 3, 4) and block.query.data_ptr() == call.query[..., 1:, :].data_ptr()
    assert block.key is call.key and block.score.beta.shape == (3, 1) and block.normalizer.alpha.shape == (3, 1, 1)


def test_aligned_tensors_have_their_batch_at_one_place():
    call = full_call().aligned()
    assert {leaf.tensor.ndim - len(leaf.axes) for leaf in call.leaves()} == {2}
    torch.testing.assert_close(reference.run(call)[0], reference.run(full_call())[0])


def test_randomness_is_drawn_once():
    plain = full_call(read=reads.Soft(), aux=None)
    assert plain.with_randomness() is plain
    call = full_call(read=reads.Sample(), dropout_p=0.5).with_randomness()
    assert call.read.uniform.shape == call.noise.shape == (2, 3, 5)
    assert (call.noise >= 0).all() and (call.noise < 1 << 32).all() and call.noise.unique().numel() == 30
    assert torch.equal(reference.run(call)[0], reference.run(call)[0])


def test_given_uniforms_are_kept():
    assert full_call().with_randomness().read.uniform is FULL["read"].uniform


@pytest.mark.parametrize(
    ("options", "built_in"),
    [({}, True), ({"score": lambda q, k: q @ k.mT}, False), ({"normalizer": lambda s, m: s, "aux": None}, False)],
    ids=["ours", "a score", "a normalizer"],
)
def test_what_is_opaque_is_ours_alone(options, built_in):
    call = full_call(**options)
    assert call.built_in == opaque(call) == built_in


def test_what_a_generator_draws_cannot_cross_into_an_operator():
    call = full_call(read=reads.Sample(generator=torch.Generator()))
    assert not opaque(call) and opaque(call.with_randomness())


def test_what_is_asked_for():
    assert full_call().asks() and not full_call(aux=None).asks()
    assert full_call(read=reads.Soft(), aux=None).soft() and not full_call().soft()
    grid = full_call().grid()
    assert (grid.q_len, grid.k_len, grid.start, grid.rows) == (5, 7, 0, 5)


def test_all_tensors_are_leaves_and_come_back():
    call = full_call()
    leaves = call.leaves()
    assert len(leaves) == 10
    again = call.map(lambda tensor, axes: 2 * tensor if tensor.is_floating_point() else tensor)
    assert torch.equal(again.query, 2 * call.query) and torch.equal(again.gate.leaves()[0].tensor, 2 * FULL["gate"])


def test_threads_share_the_state_of_a_memory():
    meeting, state = Barrier(2), BackendState()

    class Kept:
        def __init__(self):
            meeting.wait(600)  # both threads have seen that there is none

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(state.of, [Kept, Kept])
    assert first is second
