"""What has to be settled before anything is imported: how Triton runs its kernels, and what is collected without it."""

import importlib.util
import os

import torch

if not torch.cuda.is_available():
    # Triton decides when it is imported, once a process: without a GPU its interpreter runs the kernels on the CPU.
    os.environ.setdefault("TRITON_INTERPRET", "1")

if importlib.util.find_spec("triton") is None:
    collect_ignore_glob = ["src/saccade/kernels/triton/*"]
