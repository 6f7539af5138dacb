"""Rows and machines that cost nothing, and a clock that only calls move."""

import torch

from saccade.bench.measure import Machine, Probe
from saccade.bench.row import Row, Setup, Work, times

SETUP = Setup(torch.device("cpu"))
MACHINE = Machine(
    {"device": "cpu", "processor": "x86", "cores": 2, "threads": 1},
    {"python": "3", "torch": "2"},
    {"multiply": 1e11, "copy": 1e10},
)
PROBES = {"multiply": Probe(lambda: None, 1.0), "copy": Probe(lambda: None, 1.0)}


class Clock:
    """Seconds that pass only while one of its calls runs."""

    def __init__(self):
        self.now, self.calls = 0.0, []

    def __call__(self):
        return self.now

    def taking(self, seconds, name=""):
        def run():
            self.calls.append(name)
            self.now += seconds

        return run


def row(**changes):
    """Two sides that both give their input, or what is said otherwise."""
    given = {
        "subject": "dot",
        "family": "same",
        "shape": "3",
        "size": 3,
        "peer": "other",
        "inputs": lambda setup: (torch.ones(3),),
        "ours": lambda x: lambda: x,
        "theirs": lambda x: lambda: x,
        "work": Work(6e6, "FLOP", "multiply"),
        "targets": (times(2),),
        **changes,
    }
    return Row(**given)
