"""Which data sets of numbers there are, and what they are called on the command line."""

from typing import Any

from saccade.tasks.dataset import no_such_data
from saccade.tasks.regress.data.builtin import Maximum, Sine
from saccade.tasks.regress.data.dataset import Numbers

__all__ = ["BUILTIN", "open_numbers"]

BUILTIN = {
    "sine": "points on a sine with noise: one number in, one out",
    "heteroscedastic": "points on a sine with noise that grows",
    "maximum": "sets of 1 to 10 numbers, and their largest; endless (Lee et al. 2019)",
}


def open_numbers(data: str) -> Numbers:
    if data == "maximum":
        return Maximum()
    if data in BUILTIN:
        return Sine(growing=data == "heteroscedastic")
    raise no_such_data(data, BUILTIN)
