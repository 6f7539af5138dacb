from functools import partial

import pytest
import torch

from saccade._definitions.structure import Grid
from saccade._definitions.user_callables import bind_positions

BLOCK = Grid(q_len=9, k_len=2, start=4, rows=3, device=torch.device("cpu"))


def named(query, key, scale=1.0, positions=None):
    return positions


def in_order(query, key, positions=None, /):
    return positions


class Asking(torch.nn.Module):
    def forward(self, query, key, positions):
        return positions


class Callable:
    def __call__(self, query, key, positions):
        return positions

    def method(self, query, key, where):
        return where


@pytest.mark.parametrize(
    "function",
    [named, in_order, partial(named, scale=2.0), Callable(), Callable().method, lambda q, key, where: where, Asking()],
    ids=["name", "in order", "partial", "object", "method", "third", "module"],
)
def test_who_asks_is_told(function):
    i, j = bind_positions(function, BLOCK)(None, None)
    assert i.tolist() == [[4], [5], [6]] and j.tolist() == [[0, 1]]


def test_a_module_that_is_compiled_asks_as_it_did():
    compiled = torch.compile(Asking(), backend="eager")
    assert bind_positions(compiled, BLOCK) is not compiled


@pytest.mark.parametrize(
    "function",
    [torch.add, lambda query, key: query, lambda query, key, weight=1.0: query, torch.nn.Identity(), max, torch.cdist],
)
def test_who_does_not_ask_is_left_alone(function):
    assert bind_positions(function, BLOCK) is function
