from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade.data.dataset import spread
from saccade.tasks.batches import Cache, Sampler, by_length, in_batches, rectangle
from saccade.tasks.translate.codec import Encoded


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


@pytest.mark.slow
def test_even_the_smallest_corpus_and_the_smallest_batches_make_batches():
    for size, tokens in ((1, 1), (2, 10_000), (3, 5)):
        sampler = Sampler(encode, size, tokens, seed=1)
        assert all(sampler.batch(step) for step in range(40))


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 120))
def test_groups_hold_each_once_and_no_more_tokens_than_allowed(sizes, tokens):
    groups = by_length(sizes, tokens)
    assert sorted(index for group in groups for index in group) == list(range(len(sizes)))
    assert all(len(group) == 1 or len(group) * max(sizes[i] for i in group) <= tokens for group in groups)


def test_a_stretch_with_few_examples_that_fit_repeats_them():
    sampler = Sampler(lambda indices: [Encoded([7], [7]) for i in indices if i == 3], 16, 1, 1)
    assert all(sampler.batch(step) == [Encoded([7], [7])] for step in range(20))


@pytest.mark.parametrize("size", [None, 300])
def test_counted_examples_are_not_made_before_a_batch(size):
    made = []
    count = lambda indices: sum(example(index).size for index in indices)
    sampler = Sampler(lambda indices: made.extend(indices) or encode(indices), size, 200, 1, count=count)
    assert not made
    assert row(sampler, range(20)) == row(Sampler(encode, size, 200, 1), range(20)) and made


def test_an_epoch_is_in_the_order_given():
    order = lambda drawn: torch.randperm(5, generator=drawn).repeat_interleave(2) * 2 + torch.arange(10) % 2
    sampler = Sampler(encode, 10, 30, 1, order=order)
    places = [sampler._index(place) for place in range(20)]
    assert sorted(places[:10]) == sorted(places[10:]) == list(range(10)) and places[:10] != places[10:]
    assert all(second == first + 1 for first, second in zip(places[::2], places[1::2], strict=True))


@given(st.integers(1, 10**6), st.integers(1, 1000))
def test_a_sample_is_spread_over_the_whole(size, count):
    found = spread(size, count)
    assert 1 <= len(found) <= min(size, count) and found[0] == 0 and found[-1] < size
    assert size - found[-1] <= found.step


@pytest.mark.parametrize(("most", "made"), [(1000, 3), (100, 5), (0, 6)])
def test_what_fits_is_made_once(most, made):
    count = []
    cache = Cache(lambda index: count.append(index) or index, most, lambda item: 60)
    for index in (0, 1, 2, 0, 1, 2):
        assert cache.get(index) == index
    assert len(count) == made


def test_what_is_not_wanted_is_asked_once():
    count = []
    cache = Cache(count.append, 0, lambda item: 0)
    assert cache.get(3) is None and cache.get(3) is None and count == [3]


@given(st.lists(st.integers(1, 30), max_size=30), st.integers(1, 60))
def test_work_in_batches_comes_back_in_order_each_once(sizes, most):
    seen = []

    def work(places):
        seen.extend(places)
        return [f"{place}" for place in places]

    assert in_batches(sizes, most, work) == [f"{place}" for place in range(len(sizes))]
    assert sorted(seen) == list(range(len(sizes)))


def test_work_that_comes_back_short_is_an_error():
    with pytest.raises(ValueError, match="argument"):
        in_batches([1, 1], 9, lambda places: places[:1])


@given(st.lists(st.lists(st.integers(1, 99), max_size=7), min_size=1, max_size=6))
def test_rows_are_a_rectangle_with_nothing_behind_them(rows):
    found = rectangle(rows)
    assert found.shape == (len(rows), max(map(len, rows))) and found.dtype == torch.int64
    for line, row in zip(found.tolist(), rows, strict=True):
        assert line[: len(row)] == row and not any(line[len(row) :])
