"""What all tests share: one seed, one thread a process, and hypothesis drawing the same examples every time."""

import hypothesis
import pytest
import torch

pytest.register_assert_rewrite("laws.checks", "laws.smooth", "backends.cpu.cases")
hypothesis.settings.register_profile(
    "saccade", deadline=None, derandomize=True, database=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("saccade")
torch.set_num_threads(1)  # the tests' tensors are small, and two processes share the cores


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)
