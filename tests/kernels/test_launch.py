"""The start of kernels."""

import torch

from saccade.kernels import launch


def test_no_programs_start_no_kernel():
    launch.launch(None, 0, torch.zeros(1))
