"""Strings of symbols: the likeliest against all that there are, and what each symbol is rewarded with."""

import itertools

import pytest
import torch

from saccade.models.strings import NOTHING, likeliest, rewards, symbol_logits


@pytest.mark.parametrize(("symbols", "longest"), [(3, 2), (2, 4), (1, 3)])
def test_the_likeliest_strings_are_an_exhaustive_searchs(symbols, longest):
    shares = torch.randn(5, longest, symbols + 1, dtype=torch.float64).softmax(-1)
    every = [word for count in range(1, longest + 1) for word in itertools.product(range(symbols), repeat=count)]
    for count in sorted({1, 2, len(every)}):
        strings, found = likeliest(shares, count)
        for row, given in enumerate(shares):
            first = given[0, :symbols].sum()
            true = {}
            for word in every:
                share = torch.stack([given[place, symbol] for place, symbol in enumerate(word)]).prod() / first
                true[word] = float(share * given[len(word), symbols] if len(word) < longest else share)
            best = sorted(true.values(), reverse=True)[:count]
            torch.testing.assert_close(found[row], torch.tensor(best, dtype=torch.float64))
            words = [tuple(symbol for symbol in word if symbol != NOTHING) for word in strings[row].tolist()]
            assert len(set(words)) == count and [true[word] for word in words] == pytest.approx(best)
        if count == len(every):
            torch.testing.assert_close(found.sum(-1), torch.ones(5, dtype=torch.float64))  # nothing else can be said


def test_a_symbol_that_is_certain_to_be_none_leaves_numbers():
    shares = torch.tensor([[[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]])
    strings, found = likeliest(shares, 2)
    assert strings.shape == (1, 2, 2) and not found.isnan().any()


def test_a_symbol_is_said_after_its_last_glimpse():
    logits = torch.arange(12.0).view(1, 2, 6, 1)
    assert symbol_logits(logits, 3).flatten().tolist() == [1, 3, 5, 7, 9, 11]
    assert torch.equal(symbol_logits(logits, 1), logits[:, :, -1:]) and torch.equal(symbol_logits(logits, 6), logits)


def test_a_symbol_is_rewarded_while_all_before_are_right():
    answers = torch.tensor([[0, 1, 2], [0, 1, 2], [0, 1, 2], [0, 1, 2]])
    logits = torch.nn.functional.one_hot(answers, 3).float()
    wanted = torch.tensor([[0, 1, 2], [1, 1, 2], [0, 2, 2], [0, 1, NOTHING]])
    found = rewards(logits, wanted)
    assert found.to_come.tolist() == [[3, 2, 1], [0, 0, 0], [1, 0, 0], [2, 1, 0]]
    assert found.left.tolist() == [[3, 2, 1], [3, 0, 0], [3, 2, 0], [2, 1, 0]]
