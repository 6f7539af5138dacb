"""Settings before any import: how Triton runs its kernels, and which tests need it."""

import builtins
import importlib.util
import os

import torch

if not torch.cuda.is_available():
    # Triton decides when it is imported, once a process: without a GPU its interpreter runs the kernels on the CPU.
    os.environ.setdefault("TRITON_INTERPRET", "1")

if importlib.util.find_spec("triton") is None:
    collect_ignore_glob = ["src/saccade/kernels/triton/*"]


def pytest_runtest_teardown() -> None:
    """Remove the last value of a doctest: tyro's import hashes all values of `builtins`."""
    vars(builtins).pop("_", None)
