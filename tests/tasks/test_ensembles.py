from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade.errors import ArgumentError
from saccade.tasks.ensembles import check_alike, mean_log_probs


def task(name="sing", **parts):
    return SimpleNamespace(name=name, parts=parts)


def other(folder, **more):
    return SimpleNamespace(task=task(**more), run=SimpleNamespace(folder=folder))


def described(own):
    return {f"the {what}": (value, f"{value!r}, another") for what, value in own.parts.items()}


def test_first_that_does_not_fit_is_named_with_what_differs():
    first = task(words=1, labels=2)
    check_alike(first, [], described)
    check_alike(first, [other("a", words=1, labels=2), other("b", labels=2, words=1)], described)
    with pytest.raises(ArgumentError, match="^--ensemble b: expected the labels of RUN, got 3, another$"):
        check_alike(first, [other("a", words=1, labels=2), other("b", words=1, labels=3), other("c")], described)


def test_another_task_is_refused_before_its_parts_are_looked_at():
    def parts(own):
        if own.name != "sing":
            raise AssertionError("a task of another kind has other parts")
        return described(own)

    with pytest.raises(ArgumentError, match="^--ensemble a: expected a run of sing, got one of dance$"):
        check_alike(task(), [other("a", name="dance")], parts)


@given(st.integers(1, 5), st.integers(2, 7), st.integers(0, 99))
def test_it_is_the_mean_of_probabilities(members, classes, seed):
    logits = 5 * torch.randn(members, 3, classes, generator=torch.Generator().manual_seed(seed))
    found = mean_log_probs(list(logits)).exp()
    torch.testing.assert_close(found, logits.softmax(-1).mean(0), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(mean_log_probs(list(logits.flip(0))).exp(), found, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(mean_log_probs([logits[0] + 7]), logits[0].log_softmax(-1), atol=1e-5, rtol=1e-5)


def test_impossible_tokens_stay_so_and_halves_are_widened():
    never = torch.tensor([0.0, -torch.inf])
    assert mean_log_probs([never, never]).tolist() == [0.0, -torch.inf]
    assert mean_log_probs([torch.zeros(2, dtype=torch.bfloat16)]).dtype == torch.float32
