from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade.errors import ArgumentError
from saccade.tasks.translate.batches import Encoded, Sampler, by_length, pad, spread
from saccade.tasks.translate.batches import encode as encode_pairs
from saccade.tasks.translate.corpus import Pair
from saccade.tasks.translate.tokenizer import Characters


def example(index):
    """Lengths from 1 to 30, each index recognizable."""
    return Encoded([index] * (1 + index * 7 % 30), [index] * (1 + index * 3 % 11))


def encode(indices):
    return [example(index) for index in indices]


def row(sampler, steps):
    return [tuple(pair.source[0] for pair in sampler.batch(step)) for step in steps]


def test_a_batch_depends_on_seed_and_step_alone():
    first, second = (Sampler(encode, None, 200, seed=4) for _ in range(2))
    assert row(first, range(40)) == row(second, reversed(range(40)))[::-1]
    assert row(Sampler(encode, None, 200, seed=5), range(3)) != row(first, range(3))


@pytest.mark.parametrize("size", [1, 7, 500])
def test_an_epoch_has_every_example_once(size):
    sampler = Sampler(encode, size, 64, seed=1)
    places = [sampler._index(place) for place in range(3 * size)]
    for epoch in range(3):
        assert sorted(places[epoch * size : (epoch + 1) * size]) == list(range(size))


def test_a_pool_of_batches_holds_what_the_row_holds():
    sampler = Sampler(encode, None, 300, seed=2)
    seen = Counter(index for batch in row(sampler, range(16)) for index in batch)
    assert seen == Counter(sampler._index(place) for place in range(sampler.pool_examples))


def test_batches_have_about_the_tokens_asked_for_and_little_padding():
    sampler = Sampler(encode, None, 600, seed=3)
    batches = [sampler.batch(step) for step in range(64)]
    padded = [len(pairs) * max(pair.size for pair in pairs) for pairs in batches]
    assert 500 < min(padded) <= max(padded) < 700
    assert sum(pair.size for pairs in batches for pair in pairs) > 0.9 * sum(padded)


def test_even_the_smallest_corpus_and_the_smallest_batches_make_batches():
    for size, tokens in ((1, 1), (2, 10_000), (3, 5)):
        sampler = Sampler(encode, size, tokens, seed=1)
        assert all(sampler.batch(step) for step in range(40))


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 120))
def test_groups_hold_each_once_and_no_more_tokens_than_allowed(sizes, tokens):
    groups = by_length(sizes, tokens)
    assert sorted(index for group in groups for index in group) == list(range(len(sizes)))
    assert all(len(group) == 1 or len(group) * max(sizes[i] for i in group) <= tokens for group in groups)


def test_padding_begin_and_end():
    batch = pad([Encoded([7, 8], [9]), Encoded([], [4, 5, 6])]).to(torch.device("cpu"))
    assert batch.source.tolist() == [[7, 8, 2], [2, 0, 0]] and batch.lengths.tolist() == [3, 1]
    assert batch.target.tolist() == [[1, 9, 2, 0, 0], [1, 4, 5, 6, 2]]


def test_pairs_are_encoded_side_by_side():
    source, target = Characters("ab"), Characters("bc")
    assert encode_pairs([Pair("ab", "c", ""), Pair("", "b", "")], source, target) == [([4, 5], [5]), ([], [4])]


def test_pairs_that_are_too_long_are_left_out():
    sampler = Sampler(encode, 500, 200, seed=2, longest=11)
    seen = [pair for step in range(64) for pair in sampler.batch(step)]
    assert max(len(pair.source) for pair in seen) == 11
    assert {pair.source[0] for pair in seen} <= {index for index in range(500) if example(index).size <= 12}
    assert 150 < sum(pair.size for pair in seen) / 64 < 250


def test_a_stretch_with_few_pairs_that_fit_repeats_them():
    sampler = Sampler(lambda indices: [Encoded([7] * (1 if i == 3 else 99), [7]) for i in indices], 16, 1, 1, longest=5)
    assert all(sampler.batch(step) == [Encoded([7], [7])] for step in range(20))


def test_nothing_but_long_pairs_is_refused():
    with pytest.raises(ArgumentError, match="--max-length: all of 30 training pairs have a side of more than 2 tokens"):
        Sampler(lambda indices: [Encoded([7] * 9, [])] * len(indices), 30, 100, seed=1, longest=2)


@given(st.integers(1, 10**6), st.integers(1, 1000))
def test_a_sample_is_spread_over_the_whole(size, count):
    found = spread(size, count)
    assert 1 <= len(found) <= min(size, count) and found[0] == 0 and found[-1] < size
    assert size - found[-1] <= found.step
