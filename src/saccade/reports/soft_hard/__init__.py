"""Soft attention beside hard attention, and how noisy the gradients of the latter are (Xu et al. 2015, section 4)."""
