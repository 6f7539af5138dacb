"""The tables miss nothing that is public, and the laws have them whole."""

import inspect

import pytest

from laws.case import Case
from laws.combinations import each, interacting, sensible
from laws.table import BACKENDS, BIASES, GATES, MASKS, NORMALIZERS, READS, SCORES, TABLES
from saccade import biases, masks, normalizers, reads, scores
from saccade._definitions.structure import Definition
from saccade._dispatch.choose import BACKENDS as SERVING

INNER = {"Factor", "Bias", "Score", "Bandwidth", "Normalizer", "Mask", "Read", "Hard", "Positioned", "UnitKeyCosine"}
"""What is no member: the bases, and what remains of a score whose keys are prepared (the memory's laws hold it)."""


def members(module):
    """The concrete definitions that a module defines."""
    found = inspect.getmembers(
        module,
        lambda thing: inspect.isclass(thing) and issubclass(thing, Definition) and thing.__module__ == module.__name__,
    )
    return {name for name, _ in found} - INNER


def classes(kind):
    """The classes in one table, those inside others included."""
    seen = set()
    for name in TABLES[kind]:
        case = Case(**{kind: name})
        stack = [case.arguments(case.inputs())[kind]]
        while stack:
            thing = stack.pop()
            seen.add(type(thing).__name__)
            stack.extend(value for value in vars(thing).values() if isinstance(value, Definition)) if isinstance(
                thing, Definition
            ) else None
    return seen


@pytest.mark.parametrize(("kind", "module"), [("score", scores), ("normalizer", normalizers), ("read", reads)])
def test_every_member_is_in_its_table(kind, module):
    assert members(module) <= classes(kind)


def test_every_mask_is_in_its_table():
    assert members(masks) - {"Dense"} <= classes("mask")  # what a plain tensor becomes


def test_every_bias_and_gate_is_in_its_table():
    assert members(biases) - {"Dense", "Weights"} <= classes("bias") | classes("gate")


def test_every_kernel_is_in_its_table():
    kernels = {
        SCORES[name].build(**Case(name).of("score", Case(name).inputs()))
        for name in SCORES
        if "nonnegative" in SCORES[name].traits
    }
    assert {kernel.name for kernel in kernels} == set(scores.KERNELS)


def test_every_backend_is_held():
    assert set(SERVING) - {"sdpa", "flex", "triton"} == set(BACKENDS) - {"auto"}  # three have modules of their own


FACTORS = [list(table) for table in (SCORES, NORMALIZERS, MASKS, BIASES, GATES, READS, BACKENDS)]


def pairs(combinations, first, second):
    """The pairs of entries of two factors that occur."""
    return {(combination[first], combination[second]) for combination in combinations}


def test_every_member_meets_every_backend():
    combinations = each(*FACTORS)
    for place, names in enumerate(FACTORS[:-1]):
        assert pairs(combinations, place, -1) == {(name, backend) for name in names for backend in BACKENDS}
    assert len(combinations) < 1.5 * len(SCORES) * len(BACKENDS)


def test_members_that_interact_meet_in_the_slow_tier():
    slow = [case.values[0] for case in interacting(*FACTORS) if hasattr(case, "marks")]
    assert pairs(slow, 0, 1) == {(s, n) for s in SCORES for n in NORMALIZERS if sensible(s, n)}
    assert pairs(slow, 2, 3) == {(m, b) for m in MASKS for b in BIASES}
    assert len(slow) < 1.5 * len(SCORES) * len(NORMALIZERS)
