"""Text as every task that reads or writes it takes it: the lines of files, and tokens."""
