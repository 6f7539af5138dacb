from dataclasses import dataclass

import pytest

from saccade.errors import ArgumentError
from saccade.tasks.generate.request import EvalRequest, Request
from saccade.tasks.labels import request as labels
from saccade.tasks.request import NoOptions, completed


@dataclass(frozen=True)
class Own(Request):
    extra: int = 3


def test_what_is_asked_is_kept_and_what_is_not_is_as_always():
    asked = Own(nbest=4, extra=5)
    assert completed(Request, asked) is asked and completed(Own, Request(nbest=4)) == Own(nbest=4)
    assert completed(Request, EvalRequest(beam_size=5, min_length=2)) == Request(beam_size=5, min_length=2)
    assert completed(Own, None) == Own() and completed(NoOptions, None) == NoOptions()


def test_nothing_asked_by_another_verb_is_nothing_asked():
    assert completed(Request, NoOptions()) == Request() and completed(labels.Request, NoOptions()).nbest == 1


def test_what_is_completed_is_checked():
    bad = EvalRequest()
    object.__setattr__(bad, "beam_size", 0)
    with pytest.raises(ArgumentError, match="--beam-size"):
        completed(Request, bad)
