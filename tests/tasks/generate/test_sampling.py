import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.tasks.generate import sample, search
from saccade.tasks.generate.sampling import draw
from tasks.generate.table import BEGIN, END, WORDS, Table

WRITTEN = [word for word in range(WORDS) if word != END]
ALMOST = 1 - 2.0**-53


def find(model, examples, limits, uniforms, **options):
    rows = torch.as_tensor(examples)
    return sample(model, model.start(rows), torch.as_tensor(limits), uniforms, begin=BEGIN, end=END, **options)


def numbers(seed, *shape):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.double)


def distribution(logits, temperature, top_p):
    """The probabilities of each token, one by one."""
    weights = [math.exp((value - max(logits)) / temperature) for value in logits]
    shares = [weight / sum(weights) for weight in weights]
    kept, whole = set(), 0.0
    for token in sorted(range(len(shares)), key=lambda token: -shares[token]):
        if whole < top_p:
            kept.add(token)
            whole += shares[token]
    return [share / whole if token in kept else 0.0 for token, share in enumerate(shares)]


def by_hand(model, example, limit, uniforms, temperature, top_p, min_length, prefix):
    """One output, token by token."""
    tokens = [*prefix]
    for uniform in uniforms:
        if len(tokens) >= limit:
            break
        before, last = [BEGIN, BEGIN, *tokens][-2:]
        logits = model.logits[example, before, last].tolist()
        if len(tokens) < min_length:
            logits[END] = -math.inf
        reached = itertools.accumulate(distribution(logits, temperature, top_p))
        token = next(token for token, below in enumerate(reached) if uniform < below)
        if token == END:
            break
        tokens.append(token)
    return tokens


@given(
    st.integers(0, 1000),
    st.lists(st.integers(0, 6), min_size=1, max_size=4),
    st.integers(1, 3),
    st.sampled_from([0.3, 1.0, 3.0]),
    st.sampled_from([0.2, 0.7, 1.0]),
    st.integers(0, 7),
    st.lists(st.sampled_from(WRITTEN), max_size=3),
)
@settings(max_examples=20)
def test_it_is_the_draw_by_hand(seed, limits, count, temperature, top_p, least, prefix):
    model, uniforms = Table(len(limits), seed), numbers(seed, len(limits), count, 7)
    options = {"temperature": temperature, "top_p": top_p, "min_length": least, "prefix": prefix}
    found = find(model, range(len(limits)), limits, uniforms, **options)
    for row, limit in enumerate(limits):
        own = uniforms[row].tolist()
        expected = [by_hand(model, row, limit, line, temperature, top_p, least, prefix) for line in own]
        assert found.lists()[row] == expected
        scores = [model.score(row, tokens) for tokens in expected]
        assert found.scores[row].tolist() == pytest.approx(scores, abs=1e-4)
        alone = find(model, [row], [limit], uniforms[row : row + 1], **options)
        assert alone.lists()[0] == expected


@given(st.integers(0, 1000), st.sampled_from([0.1, 1.0, 4.0]), st.sampled_from([1e-9, 0.3, 0.9, 1.0]))
@settings(max_examples=20)
def test_every_token_is_drawn_by_its_probability(seed, temperature, top_p):
    logits, grid = 2 * torch.randn(11, generator=torch.Generator().manual_seed(seed)), 10_000
    uniforms = (torch.arange(grid, dtype=torch.double) + 0.5) / grid
    counts = draw(logits.expand(grid, -1), uniforms, temperature, top_p).bincount(minlength=11)
    expected = torch.tensor(distribution(logits.tolist(), temperature, top_p), dtype=torch.double)
    assert (counts / grid - expected).abs().max() <= 1.01 / grid  # of an interval as many points, or one more or less


def test_outputs_are_as_frequent_as_they_are_probable():
    """By Hoeffding's inequality the largest of 30 differences exceeds 0.018 in less than one of 10⁹ such tests."""
    model, size = Table(1, 5), 40_000
    found = find(model, [0], [2], numbers(5, 1, size, 3))
    counts = {}
    for tokens in found.lists()[0]:
        counts[tuple(tokens)] = counts.get(tuple(tokens), 0) + 1
    every = [path for length in range(3) for path in itertools.product(WRITTEN, repeat=length)]
    assert set(counts) <= set(every)
    bound = math.sqrt(math.log(2 * 30 / 1e-9) / (2 * size))
    for path in every:
        # at the limit the end comes whatever its probability
        score = model.score(0, path, ended=len(path) < 2)
        assert counts.get(path, 0) / size == pytest.approx(math.exp(score), abs=bound)


@pytest.mark.parametrize("options", [{"top_p": 1e-12}, {"temperature": 1e-12}, {"temperature": 5e-324}])
def test_with_the_most_probable_alone_it_is_greedy(options):
    model, limits = Table(9, 3), [8, 0, 3, 5, 8, 8, 2, 1, 8]
    greedy = search(model, model.start(torch.arange(9)), torch.tensor(limits), begin=BEGIN, end=END)
    found = find(model, range(9), limits, numbers(1, 9, 2, 9), **options)
    assert found.lists() == [[best, best] for [best] in greedy.lists()]


def test_what_may_not_be_drawn_is_not_at_either_end_of_the_numbers():
    gains = torch.tensor([-math.inf, 0.3, -math.inf, 0.1, -math.inf]).expand(2, -1)
    assert draw(gains, torch.tensor([0.0, ALMOST], dtype=torch.double)).tolist() == [1, 3]
    rounded = torch.randn(1000, 7).index_fill(1, torch.tensor(6), -math.inf)
    assert (draw(rounded, torch.full((1000,), ALMOST, dtype=torch.double)) < 6).all()


class Counted(Table):
    """Notes how many rows each step is asked for."""

    def __init__(self, examples, seed):
        super().__init__(examples, seed)
        self.rows = []

    def step(self, token, state):
        self.rows.append(len(token))
        return super().step(token, state)


@pytest.mark.parametrize("count", [1, 3])
def test_examples_that_are_over_cost_nothing_any_more(count):
    model = Counted(4, 3)
    model.logits[..., END] = -50.0  # none ends before its limit
    find(model, range(4), [3, 1, 1, 4], numbers(0, 4, count, 5))
    assert model.rows == [count * left for left in (4, 4, 2, 2, 1)]


def test_a_model_whose_numbers_are_none_ends():
    model = Table(2, 0)
    model.logits.fill_(float("nan"))
    found = find(model, range(2), [3, 5], numbers(0, 2, 2, 6), top_p=0.5)
    assert found.lengths.tolist() == [[3, 3], [5, 5]]
