"""What permuting the words does to each model: sets against sequences (Vaswani et al. 2017, section 3.5)."""
