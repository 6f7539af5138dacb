"""Hooks of one thread, and process-wide settings that several threads hold at once."""

import copy
import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import torch

from saccade._threads import Shared, hooked, own_filters
from saccade.look import _figure
from saccade.train import randomness


@pytest.fixture
def other():
    with ThreadPoolExecutor(1) as pool:
        yield lambda work: pool.submit(work).result()


def test_hooks_see_the_calls_of_their_thread_alone(other):
    linear, before, after = torch.nn.Linear(2, 3), [], []
    with hooked([linear], lambda *args: after.append(args), lambda *args: before.append(args), with_kwargs=True):
        expected = linear(torch.ones(1, 2))
        assert torch.equal(other(lambda: linear(torch.ones(1, 2))), expected)
    linear(torch.ones(1, 2))
    assert [len(args) for args in before] == [3] and [len(args) for args in after] == [4]
    assert not linear._forward_hooks and not linear._forward_pre_hooks


def test_hooks_go_whatever_ends_the_block():
    linear = torch.nn.Linear(2, 3)
    with pytest.raises(KeyError), hooked([linear], lambda *args: None):
        raise KeyError
    assert not linear._forward_hooks


def test_a_copy_made_within_the_block_is_as_always():
    linear, called = torch.nn.Linear(2, 3), []
    with hooked([linear], lambda *args: called.append(args)):
        copied = copy.deepcopy(linear)
        copied(torch.ones(1, 2))
    copied(torch.ones(1, 2))
    assert not called


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("lock", [_figure._DRAWING, randomness._GENERATORS])
def test_a_lock_of_another_thread_is_free_in_a_forked_child(other, lock):
    other(lock.acquire)
    if not (child := os.fork()):
        os._exit(int(not lock.acquire(blocking=False)))
    assert os.waitpid(child, 0)[1] == 0
    assert not lock.acquire(blocking=False)
    other(lock.release)


def test_the_last_holder_restores_a_setting(other):
    events = []

    @contextmanager
    def setting():
        events.append("set")
        yield
        events.append("restored")

    held = Shared(setting)
    first, second = held(), held()
    first.__enter__()
    other(second.__enter__)
    first.__exit__(None, None, None)
    assert events == ["set"]
    other(lambda: second.__exit__(None, None, None))
    assert events == ["set", "restored"]
    with held():
        assert events == ["set", "restored", "set"]


def test_filters_of_warnings_are_as_before_after_two_threads(other):
    before = list(warnings.filters)
    first, second = own_filters(), own_filters()
    first.__enter__()
    other(second.__enter__)
    warnings.simplefilter("ignore")
    first.__exit__(None, None, None)
    other(lambda: second.__exit__(None, None, None))
    assert warnings.filters == before
