"""Loops compiled by Numba for the CPU, and the threads that run them: operations that need several passes in PyTorch.

A kernel in `compiled` is a function of a table, whose layout is a NamedTuple beside the kernel's caller. It does block
after block until none is left (see `saccade.kernels.threads`). Kernels do not check their arguments: the caller checks
first that kernels `serves` them, and else computes by PyTorch's operations.
"""
