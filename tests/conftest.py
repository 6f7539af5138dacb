"""What all tests share: one seed, and hypothesis drawing the same examples every time."""

import hypothesis
import pytest
import torch

pytest.register_assert_rewrite("laws.checks")
hypothesis.settings.register_profile(
    "saccade", deadline=None, derandomize=True, database=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("saccade")


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)
