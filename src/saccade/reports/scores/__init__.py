"""Every way to score an alignment, in one translator from one recipe (Luong, Pham, Manning 2015, section 3)."""
