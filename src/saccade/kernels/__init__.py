"""Loops compiled by Numba for the CPU, and the threads that run them: what PyTorch has no single pass for.

A kernel is two functions: one that does a block of the work, and one that C can call, which takes block after block
until none is left (see `saccade.kernels.threads`). Kernels take float32 alone and trust their arguments; whoever calls
one checks first that it `serves` them, and has another way where it does not.
"""
