"""What all tests share: one seed, one thread a process, and hypothesis drawing the same examples every time.

`HYPOTHESIS_PROFILE=draws` draws new ones (`make draws`).
"""

import os

import hypothesis
import pytest
import torch

pytest.register_assert_rewrite("laws.checks", "laws.smooth", "backends.cpu.cases", "near")
QUIET = {"deadline": None, "database": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("saccade", derandomize=True, max_examples=10, **QUIET)
hypothesis.settings.register_profile("draws", derandomize=False, print_blob=True, **QUIET)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "saccade"))
torch.set_num_threads(1)  # the tests' tensors are small, and two processes share the cores


@pytest.fixture(autouse=True)
def idle(monkeypatch):
    """Commands that look for the machine's load find none: the tests' own would decide what they say."""
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def pytest_make_parametrize_id(val, argname):
    """Name a case after its argument where that is bytes: files may hold the time, and workers must agree on names."""
    return argname if isinstance(val, bytes) else None
