"""`python -m saccade` is the program `saccade`."""

import sys

from saccade.cli import main

if __name__ == "__main__":
    sys.exit(main())
