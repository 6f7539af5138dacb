import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.tasks.generate import search
from tasks.generate.table import BEGIN, END, WORDS, Table

WRITTEN = [word for word in range(WORDS) if word != END]


def find(model, examples, limits, **options):
    rows = torch.as_tensor(examples)
    return search(model, model.start(rows), torch.as_tensor(limits), begin=BEGIN, end=END, **options)


def greedy(model, example, limit):
    tokens, before, last = [], BEGIN, BEGIN
    while len(tokens) < limit:
        token = int(model.logits[example, before, last].argmax())
        if token == END:
            break
        tokens.append(token)
        before, last = last, token
    return tokens


def by_hand(model, example, limit, beam_size, alpha, min_length=0, prefix=()):
    """The same search, one output at a time: (score, tokens) of those that ended, best first."""
    going, ended = [(model.score(example, prefix, ended=False), [*prefix])], []
    for length in range(len(prefix), max(limit, len(prefix)) + 1):
        longer = []
        for total, tokens in going:
            before, last = [BEGIN, BEGIN, *tokens][-2:]
            gains = model.logits[example, before, last].float().log_softmax(-1).tolist()
            allowed = [word for word in range(WORDS) if word != END or length >= min_length]
            allowed = allowed if length < limit else [END]
            longer += [(total + gains[token], [*tokens, token]) for token in allowed]
        longer.sort(key=lambda item: -item[0])
        penalty = ((6 + length) / 6) ** alpha
        ended += [(total / penalty, tokens[:-1]) for total, tokens in longer[:beam_size] if tokens[-1] == END]
        going = [item for item in longer if item[1][-1] != END][:beam_size]
        if len(ended) >= beam_size or not going:
            break
    return sorted(ended, key=lambda item: -item[0])[:beam_size]


@given(
    st.integers(0, 1000),
    st.integers(1, 6),
    st.lists(st.integers(0, 6), min_size=1, max_size=5),
    st.sampled_from([-0.5, 0.0, 0.6, 2.0]),
)
@settings(max_examples=20)
def test_it_is_the_search_by_hand(seed, beam_size, limits, alpha):
    model = Table(len(limits), seed)
    found = find(model, range(len(limits)), limits, beam_size=beam_size, length_penalty=alpha)
    for row, limit in enumerate(limits):
        expected = by_hand(model, row, limit, beam_size, alpha)
        assert found.lists()[row] == [tokens for _, tokens in expected]
        assert found.scores[row, : len(expected)].tolist() == pytest.approx([total for total, _ in expected], abs=1e-4)


@given(
    st.integers(0, 1000),
    st.integers(1, 6),
    st.lists(st.integers(0, 6), min_size=1, max_size=5),
    st.integers(0, 8),
    st.lists(st.sampled_from(WRITTEN), max_size=4),
    st.sampled_from([-0.5, 0.0, 0.6]),
)
@settings(max_examples=20)
def test_with_prefix_and_least_length_it_is_search_by_hand(seed, beam_size, limits, least, prefix, alpha):
    model = Table(len(limits), seed)
    options = {"beam_size": beam_size, "length_penalty": alpha, "min_length": least, "prefix": prefix}
    found = find(model, range(len(limits)), limits, **options)
    for row, limit in enumerate(limits):
        expected = by_hand(model, row, limit, beam_size, alpha, least, prefix)
        assert found.lists()[row] == [tokens for _, tokens in expected]
        assert found.scores[row, : len(expected)].tolist() == pytest.approx([total for total, _ in expected], abs=1e-4)
        for tokens in found.lists()[row]:
            assert tokens[: len(prefix)] == prefix and min(least, limit) <= len(tokens) <= max(limit, len(prefix))


@pytest.mark.parametrize("alpha", [-200.0, 200.0])
def test_penalties_that_float32_does_not_hold_rank_too(alpha):
    """As far from 1 as those of 45,000 tokens are with a length penalty of 10."""
    model, limits = Table(3, 7), [4, 5, 6]
    found = find(model, range(3), limits, beam_size=3, length_penalty=alpha, min_length=4)
    for row, limit in enumerate(limits):
        expected = by_hand(model, row, limit, 3, alpha, 4)
        assert found.lists()[row] == [tokens for _, tokens in expected] != []
        assert found.scores[row].tolist() == pytest.approx([total for total, _ in expected], rel=1e-4)


def test_best_after_prefix_is_the_best_of_all_that_begin_so():
    model, limit, prefix = Table(3, 7), 4, [2, 3]
    others = [[*path] for length in range(limit - 1) for path in itertools.product(WRITTEN, repeat=length)]
    found = find(model, range(3), [limit] * 3, beam_size=len(others), length_penalty=0.0, prefix=prefix, min_length=3)
    for example in range(3):
        every = [[*prefix, *path] for path in others if path]
        ranked = sorted(every, key=lambda path: model.score(example, path), reverse=True)
        assert found.lists()[example] == ranked
        assert float(found.scores[example, 0]) == pytest.approx(model.score(example, ranked[0]), abs=1e-5)


def test_a_model_that_ends_at_once_writes_what_comes_next():
    model = Table(1, 0)
    model.logits[..., END] = 9.0
    assert find(model, [0], [5]).lists() == [[[]]]
    for beam_size in (1, 3):
        [[best, *_]] = find(model, [0], [5], beam_size=beam_size, min_length=2).lists()
        assert len(best) == 2
    assert find(model, [0], [5], prefix=[4, 4]).lists() == [[[4, 4]]]


@given(st.integers(0, 1000), st.integers(2, 6), st.integers(1, 6), st.sampled_from([-0.5, 0.0, 0.6, 2.0]))
@settings(max_examples=20)
def test_the_best_few_are_the_best_of_all_though_they_are_found_sooner(seed, beam_size, count, alpha):
    model, limits = Table(4, seed), [9, 3, 0, 9]
    everything = find(model, range(4), limits, beam_size=beam_size, length_penalty=alpha)
    few = find(model, range(4), limits, beam_size=beam_size, length_penalty=alpha, count=count)
    assert few.lists() == [outputs[:count] for outputs in everything.lists()]
    torch.testing.assert_close(few.scores, everything.scores[:, :count])


class Counted(Table):
    """Notes how many rows each step is asked for."""

    def __init__(self, examples, seed):
        super().__init__(examples, seed)
        self.rows = []

    def step(self, token, state):
        self.rows.append(len(token))
        return super().step(token, state)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_examples_that_are_over_cost_nothing_any_more(beam_size):
    model = Counted(4, 3)
    model.logits[..., END] = -50.0  # none ends before its limit
    find(model, range(4), [3, 1, 1, 4], beam_size=beam_size)
    assert model.rows == [beam_size * left for left in (4, 4, 2, 2, 1)]


def test_the_best_alone_is_found_sooner():
    steps = {}
    for count in (1, 4):
        model = Counted(20, 3)
        find(model, range(20), [30] * 20, beam_size=4, length_penalty=0.0, count=count)
        steps[count] = sum(model.rows)
    assert steps[1] < steps[4]


class Equal(Table):
    """Every token is as probable as every other."""

    def __init__(self, examples):
        super().__init__(examples, 0)
        self.logits.zero_()


@pytest.mark.parametrize("beam_size", [1, 3, 7])
def test_ties_are_broken_alike_alone_and_together(beam_size):
    model, limits = Equal(9), [4, 4, 1, 0, 4, 2, 4, 3, 4]
    together = find(model, range(9), limits, beam_size=beam_size)
    assert together.lists() == find(model, range(9), limits, beam_size=beam_size).lists()
    for row, limit in enumerate(limits):
        assert find(model, [row], [limit], beam_size=beam_size).lists()[0] == together.lists()[row]


def test_a_model_whose_numbers_are_none_ends():
    model = Table(2, 0)
    model.logits.fill_(float("nan"))
    for beam_size in (1, 3):
        assert find(model, range(2), [3, 5], beam_size=beam_size).lists() == [[], []]


@given(st.integers(0, 1000), st.lists(st.integers(0, 6), min_size=1, max_size=4))
@settings(max_examples=20)
def test_a_beam_of_one_is_greedy(seed, limits):
    model = Table(len(limits), seed)
    found = find(model, range(len(limits)), limits)
    assert found.lists() == [[greedy(model, row, limit)] for row, limit in enumerate(limits)]


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
def test_a_beam_that_holds_everything_finds_the_best_of_all(alpha):
    model, limit = Table(3, 7), 3
    others = [word for word in range(WORDS) if word != END]
    every = [list(path) for length in range(limit + 1) for path in itertools.product(others, repeat=length)]
    found = find(model, range(3), [limit] * 3, beam_size=len(every), length_penalty=alpha)
    for example in range(3):
        penalty = {length: ((6 + length) / 6) ** alpha for length in range(limit + 1)}
        ranked = sorted(every, key=lambda path: model.score(example, path) / penalty[len(path)], reverse=True)
        assert found.lists()[example] == ranked
        best = model.score(example, ranked[0]) / penalty[len(ranked[0])]
        assert float(found.scores[example, 0]) == pytest.approx(best, abs=1e-5)


@given(st.integers(0, 1000), st.integers(1, 4), st.lists(st.integers(0, 6), min_size=2, max_size=4))
@settings(max_examples=20)
def test_an_example_is_decoded_alone_as_among_others(seed, beam_size, limits):
    model = Table(len(limits), seed)
    together = find(model, range(len(limits)), limits, beam_size=beam_size)
    for row, limit in enumerate(limits):
        alone = find(model, [row], [limit], beam_size=beam_size)
        assert alone.lists()[0] == together.lists()[row]
        torch.testing.assert_close(alone.scores[0], together.scores[row])


@given(st.integers(0, 1000), st.integers(1, 6))
@settings(max_examples=20)
def test_scores_are_those_of_the_outputs_best_first_and_none_twice(seed, beam_size):
    model = Table(1, seed)
    found = find(model, [0], [5], beam_size=beam_size)
    outputs = found.lists()[0]
    assert len(outputs) == len({tuple(output) for output in outputs}) == int(found.scores.isfinite().sum())
    scores = [model.score(0, output) / ((6 + len(output)) / 6) ** 0.6 for output in outputs]
    assert scores == pytest.approx(found.scores[0, : len(scores)].tolist(), abs=1e-4)
    assert scores == sorted(scores, reverse=True)
    assert all(len(output) <= 5 and END not in output for output in outputs)


def test_where_there_is_one_output_the_rest_is_empty():
    found = find(Table(1, 0), [0], [0], beam_size=3)
    assert found.lists() == [[[]]]
    assert found.lengths.tolist() == [[0, -1, -1]] and found.scores[0, 1:].tolist() == [float("-inf")] * 2
