"""The ids that are no text, the same for every tokenizer."""

__all__ = ["BEGIN", "END", "PADDING", "SPECIAL", "UNKNOWN"]

PADDING, BEGIN, END, UNKNOWN = range(4)
SPECIAL = 4  # ids below are no text
