"""Special ids of all tokenizers."""

__all__ = ["BEGIN", "END", "PADDING", "SPECIAL", "UNKNOWN"]

PADDING, BEGIN, END, UNKNOWN = range(4)
SPECIAL = 4  # ids below it are special
