"""Every study's rule: chance alone reproduces a claim in at most 5 of 100 cases, and a true effect is detected."""

import inspect
import math

import numpy as np
import pytest

import study_draws as draws
from studies.frame.claims import LEVEL, POWER
from studies.frame.study import load, names
from tiers import rest_slow

TRIALS = 150
EFFECTS = {
    "scores": 3.0,
    "length": 2.5,
    "order": 0.02,
    "soft_hard": 3.0,
    "pooling": 0.3,
    "cnn_attention": 0.3,
    "glimpses": 0.3,
    "pointing": 0.3,
    "explanations": 0.4,
    "objects": 0.1,
    "regions": 0.3,
    "memory": 0.01,
    "bottleneck": 0.1,
    "isolation": 0.1,
    "fast_weights": 0.05,
    "experts": 3.5,
    "regression": 0.1,
    "scaling": 0.15,
    "complexity": 0.3,
    "implicit": 0.1,
    "alignment": 0.2,
    "memory_or_attention": 0.3,
}
"""The true effect, in the units of each study's numbers."""


def shares(name, effect):
    """How often each verdict comes out."""
    compare = load(name.replace("_", "-")).compare
    rng = np.random.default_rng(sum(name.encode()))
    results = [compare(getattr(draws, name)(rng, effect)).verdict.result for _ in range(TRIALS)]
    return {result: results.count(result) / TRIALS for result in ("reproduced", "contradicted", "not decided")}


def test_every_study_is_tried():
    assert {name.replace("-", "_") for name in names()} == EFFECTS.keys()
    assert all(inspect.isfunction(getattr(draws, name)) for name in EFFECTS)


@pytest.mark.parametrize("name", rest_slow(EFFECTS, fast=2))
def test_chance_alone_reproduces_no_claim(name):
    error = math.sqrt(LEVEL * (1 - LEVEL) / TRIALS)
    assert shares(name, 0.0)["reproduced"] <= LEVEL + 2 * error


@pytest.mark.parametrize("name", rest_slow(EFFECTS, fast=2))
def test_a_true_effect_is_detected(name):
    found, error = shares(name, EFFECTS[name]), math.sqrt(POWER * (1 - POWER) / TRIALS)
    assert found["reproduced"] >= POWER - 2 * error and found["contradicted"] <= LEVEL
