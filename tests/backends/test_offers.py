"""Backends answer a call once, and the answers are what `attend` and `explain` go by."""

from types import SimpleNamespace

import pytest
import torch

from calls import call_of
from saccade import attend, explain, masks, normalizers, scores
from saccade._dispatch import choose
from saccade.backends.offers import Answers, Offer, Pairs, Refusal

X = torch.randn(2, 3, 5, 8)
LONG = torch.empty(1, 2, 1100, 8)
CALLS = {
    "plain": (X, {}),
    "a window": (LONG, {"mask": masks.Window(9, 0)}),
    "a sink under a window": (LONG, {"mask": masks.Window(9, 0), "normalizer": normalizers.Softmax(sink=0.0)}),
    "additive": (X, {"score": scores.Additive(torch.ones(8)), "mask": masks.Lengths(torch.tensor([[5], [2]]))}),
    "sparsemax": (X, {"normalizer": normalizers.Sparsemax()}),
    "sigmoid": (LONG, {"normalizer": normalizers.Sigmoid()}),
}


@pytest.fixture
def asked(monkeypatch):
    """The names of the backends that are asked, one after the other."""
    names = []
    for name, module in choose.BACKENDS.items():
        offer = lambda call, rivals=None, name=name, real=module.offer: names.append(name) or real(call, rivals)
        monkeypatch.setattr(module, "offer", offer)
    return names


@pytest.mark.parametrize("name", CALLS)
def test_attend_asks_no_backend_twice_nor_one_of_cuda(name, asked):
    x, options = CALLS[name]
    backend = explain(x, x, x, **options).backend
    asked.clear()
    choose.choose(call_of(x, x, x, **options))
    assert backend in asked and len(asked) == len(set(asked)) and not {"flex", "triton"} & set(asked)


@pytest.mark.parametrize("name", CALLS)
def test_explain_asks_every_backend_once(name, asked):
    x, options = CALLS[name]
    explain(x, x, x, **options)
    assert sorted(asked) == sorted(choose.BACKENDS)


def test_a_named_backend_is_the_only_one_that_is_asked(asked):
    attend(X, X, X, backend="chunked")
    assert asked == ["chunked"]


def test_an_answer_is_kept_and_rivals_see_it():
    call, never = call_of(X, X, X), Offer(lambda call: 0, reason="it is slow")
    backends = {
        "slow": SimpleNamespace(offer=lambda call, rivals: never),
        "none": SimpleNamespace(offer=lambda call, rivals: Refusal("it knows no call")),
        "good": SimpleNamespace(offer=lambda call, rivals: Offer(lambda call: int(rivals.serves("slow")))),
    }
    answers = Answers(call, backends)
    assert [answers.serves(name) for name in backends] == [True, False, True]
    assert [answers.of(name).reason for name in backends] == ["it is slow", "it knows no call", None]
    assert answers.of("good").peak_bytes(call) == 1 and answers.of("slow") is never


def test_pairs_print_their_ratio():
    assert str(Pairs(64, 16, 32)) == "64, 16 allowed, 32 computed: 2.0 times as many"
    assert str(Pairs(64, 0, 0)) == "64, 0 allowed, 0 computed"
