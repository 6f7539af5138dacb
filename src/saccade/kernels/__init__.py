"""Loops for the CPU, compiled by Numba, and the threads that run them.

A kernel in `compiled` is a function of a table, whose layout is a NamedTuple beside the kernel's caller. It does block
after block until none is left (see `saccade.kernels.threads`). Kernels do not check their arguments: the caller checks
first that kernels `serves` them, and else computes by PyTorch's operations.
"""
