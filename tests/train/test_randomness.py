import importlib.util
import random
from contextlib import contextmanager

import numpy as np
import pytest
import torch

from saccade.train import randomness
from saccade.train.randomness import derive, generator, reproducible, seeded


def test_numbers_are_the_same_on_every_machine():
    assert derive(1, "step", 12) == 9036691971860427136
    assert len({derive(seed, "step", step) for seed in range(20) for step in range(20)}) == 400


def test_block_has_its_own_numbers_and_leaves_others_alone():
    torch.manual_seed(5)
    expected = torch.rand(2)
    torch.manual_seed(5)
    with seeded(1, "x"):
        inside = torch.rand(2)
    assert torch.equal(torch.rand(2), expected)
    with seeded(1, "x"):
        assert torch.equal(torch.rand(2), inside)
    assert not torch.equal(torch.rand(2, generator=generator(2, "x")), torch.rand(2, generator=generator(1, "x")))


@pytest.mark.parametrize(("initialized", "devices"), [(False, []), (True, [0, 1])])
def test_gpu_is_asked_for_its_numbers_only_if_it_is_in_use(monkeypatch, initialized, devices):
    asked = []

    @contextmanager
    def fork(devices):
        asked.extend(devices)
        yield

    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: initialized)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.random, "fork_rng", fork)
    with seeded(1, "x"):
        assert asked == devices


@pytest.mark.parametrize("used", [False, True])
def test_a_gpu_that_nothing_had_used_begins_from_the_seed_of_before(monkeypatch, used):
    asked, before = [], torch.initial_seed()
    monkeypatch.setattr(torch.cuda, "manual_seed_all", asked.append)
    with pytest.raises(KeyError), seeded(1, "x"):
        raise KeyError
    assert asked == [derive(1, "x"), before] and torch.initial_seed() == before
    with randomness.undisturbed():
        torch.rand(2)
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda: used)
    assert asked[2:] == [before] * used  # a seed of its own, which waits for it to be used, stays


def test_a_block_leaves_all_generators_alone():
    def state():
        return random.getstate(), str(np.random.get_state()), torch.get_rng_state().tolist()  # noqa: NPY002 (global)

    before = state()
    with randomness.undisturbed():
        random.random()
        np.random.rand()  # noqa: NPY002
        torch.rand(2)
    assert state() == before


@pytest.mark.parametrize(("enabled", "warn_only"), [(False, False), (True, False), (True, True)])
def test_the_deterministic_mode_is_afterwards_the_callers(enabled, warn_only):
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(enabled, warn_only=warn_only)
    try:
        with reproducible():
            assert torch.are_deterministic_algorithms_enabled()
            assert not torch.is_deterministic_algorithms_warn_only_enabled()
        assert torch.are_deterministic_algorithms_enabled() == enabled
        assert torch.is_deterministic_algorithms_warn_only_enabled() == warn_only
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])


@pytest.mark.slow  # Lightning takes seconds to import
@pytest.mark.parametrize("name", ["callback", "engine"])
def test_an_import_waits_for_no_training(monkeypatch, name):
    """A thread that trains imports too: it would wait for another one's module, and that one for its generators."""
    monkeypatch.setattr(randomness, "_GENERATORS", None)  # which nobody can enter
    spec = importlib.util.find_spec(f"saccade.train.{name}")
    before = random.getstate()
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    assert random.getstate() == before
