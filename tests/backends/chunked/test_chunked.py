"""The engine of `chunked`: what it prepares, and that its blocks are the reference."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from calls import call_of, drawn
from saccade import AuxRequest, masks, normalizers, reads, remember, scores
from saccade.backends import chunked, reference
from saccade.backends.blockwise.engine import engine_named
from saccade.scores import exponentials


def additive_call(**options):
    v = drawn(4, seed=3)
    return call_of(drawn(2, 5, 4), drawn(2, 7, 4, seed=1), drawn(2, 7, 3, seed=2), score=scores.Additive(v), **options)


def test_exponentials_of_additive_keys_are_prepared_once():
    call = additive_call()
    prepared = chunked.prepare(call)
    assert torch.equal(prepared.cache, exponentials(call.key)) and chunked.prepare(prepared) is prepared
    other = call_of(call.query, call.key, call.value)
    assert chunked.prepare(other) is other


def test_what_a_memory_prepared_is_taken(monkeypatch):
    memory = remember(drawn(2, 7, 4), drawn(2, 7, 3), score=scores.Additive(drawn(4)))
    monkeypatch.setattr(chunked, "exponentials", None)
    assert memory.read(drawn(2, 5, 4), backend="chunked").shape == (2, 5, 3)


def test_its_weights_are_the_references():
    call = chunked.prepare(additive_call(mask=torch.rand(5, 7) < 0.6))
    found, allowed, _ = chunked.weigh(call, call.grid())
    expected, same, _ = reference.weigh(additive_call(mask=call.mask.allowed), call.grid())
    torch.testing.assert_close(found, expected)
    assert torch.equal(allowed, same)


@given(st.integers(0, 6), st.integers(0, 9), st.integers(1, 60), st.booleans())
def test_blocks_of_any_size_are_the_reference(queries, keys, pairs, additive):
    engine = engine_named("chunked")
    before = engine.pairs
    object.__setattr__(engine, "pairs", pairs)
    try:
        call = call_of(
            drawn(2, 3, queries, 4),
            drawn(2, 1, keys, 4, seed=1),
            drawn(2, 1, keys, 3, seed=2),
            score=scores.Additive(drawn(4, seed=3)) if additive else scores.ScaledDot(),
            mask=masks.Causal(align="end"),
            normalizer=normalizers.Sparsemax(),
            read=reads.Sample(uniform=torch.rand(2, 3, queries)),
            aux=AuxRequest(entropy=True, top=2, received=True, index=True),
        )
        (output, aux), (expected, truth) = chunked.run(call), reference.run(call)
    finally:
        object.__setattr__(engine, "pairs", before)
    torch.testing.assert_close(output, expected)
    for name in ("entropy", "received", "index", "top"):
        torch.testing.assert_close(getattr(aux, name), getattr(truth, name))


@pytest.mark.parametrize("length", [64, 4096])
def test_what_it_allocates_does_not_grow_with_the_pairs(length):
    x = torch.empty(length, 8, device="meta")
    call = call_of(x, x, x)
    inputs = 4 * 3 * x.numel()
    assert chunked.offer(call).peak_bytes(call) <= inputs + 4 * 6 * max(engine_named("chunked").budget(call), length)
