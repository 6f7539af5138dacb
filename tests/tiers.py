"""Which cases of a test are in the fast tier, and cases that are too cheap to be tests of their own."""

import functools
import inspect

import pytest
import torch


def rest_slow(cases, fast=1):
    """Mark all cases but the first ones slow: they go the same way through the code."""
    return [
        pytest.param(*(case if type(case) is tuple else (case,)), marks=[pytest.mark.slow] * (place >= fast))
        for place, case in enumerate(cases)
    ]


def every(names, cases):
    """Parametrize a test as pytest does, but run all cases as one test: each costs less than collecting it would."""
    split = names.replace(" ", "").split(",") if isinstance(names, str) else list(names)
    listed = [case if len(split) > 1 else (case,) for case in cases]
    assert listed, "no cases"

    def decorate(test):
        @functools.wraps(test)
        def run(**fixtures):
            for case in listed:
                torch.manual_seed(0)
                try:
                    test(**dict(zip(split, case, strict=True)), **fixtures)
                except BaseException as error:
                    error.add_note(f"in the case {case!r:.500}")
                    raise

        signature = inspect.signature(test)
        left = [parameter for name, parameter in signature.parameters.items() if name not in split]
        run.__signature__ = signature.replace(parameters=left)
        return run

    return decorate
