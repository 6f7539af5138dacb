import math

import pytest

POWERS = {
    "mean": (0.0, 0.5),
    "best bandwidth": (-0.8, 1.0),
    "leave-one-out": (-0.85, 1.4),
    "learned kernel": (-0.7, 1.0),
}


def made_up(powers=POWERS, counts=(64, 128, 256, 512), error=0.01, seeds=4):
    """report.json of estimates whose errors are powers of the number of points: by name an exponent and a factor."""
    rows = [
        {
            "way": way,
            "n": n,
            "seed": seed,
            "mse": factor * n**power * math.exp(error * (-1) ** seed),
            "bandwidth": n**-0.2,
        }
        for way, (power, factor) in powers.items()
        for n in counts
        for seed in range(1, seeds + 1)
    ]
    about = {"hardware": {"device": "cpu"}, "versions": {"torch": "2"}}
    return {"report": "regression", "command": "c", "arguments": {}, "runs": {}, "rows": rows, **about}


@pytest.fixture
def content():
    """Errors that fall as the theory says."""
    return made_up()
