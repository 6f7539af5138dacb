"""How the error of kernel regression falls with the number of known points (Nadaraya 1964; Stone 1982)."""
