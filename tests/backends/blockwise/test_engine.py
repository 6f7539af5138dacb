import dataclasses
import sys
from types import SimpleNamespace

import pytest
import torch

from saccade import attend, normalizers
from saccade.backends import chunked, cpu, reference, triton
from saccade.backends.blockwise import Engine
from saccade.backends.blockwise.engine import DEFINITION, ENGINES, engine_named


def test_engines_are_known_by_name():
    assert engine_named("chunked") is chunked.ENGINE and engine_named("cpu") is cpu.engine.ENGINE
    assert engine_named("reference") is DEFINITION and engine_named("triton") is triton.ENGINE
    assert all(name == engine_named(name).name for name in ENGINES)


def test_there_are_no_engines_but_those_of_the_table():
    with pytest.raises(KeyError):
        engine_named("sdpa")


def test_a_new_one_is_a_name_and_its_functions(monkeypatch):
    seen = []

    def weigh(call, grid):
        seen.append((grid.start, call.query.shape[-2]))
        return reference.weigh(call, grid)

    engine = Engine("mine", lambda call: call, weigh, reference.read, pairs=14)
    with pytest.raises(dataclasses.FrozenInstanceError):
        engine.pairs = 3
    monkeypatch.setitem(sys.modules, "of_my_own", SimpleNamespace(ENGINE=engine))
    monkeypatch.setitem(ENGINES, "mine", "of_my_own:ENGINE")
    monkeypatch.setattr(chunked, "run", lambda call: cpu.blockwise.run(engine, call))
    query, key = torch.randn(5, 3).requires_grad_(), torch.randn(7, 3)
    found, expected = (
        attend(query, key, key, normalizer=normalizers.Sparsemax(), backend=name) for name in ("chunked", "reference")
    )
    assert seen == [(0, 2), (2, 2), (4, 1)]
    torch.testing.assert_close(found, expected)
    ours, theirs = (torch.autograd.grad(part.square().sum(), query)[0] for part in (found, expected))
    torch.testing.assert_close(ours, theirs)
    assert seen[3:] == seen[:3]  # each block is computed again
