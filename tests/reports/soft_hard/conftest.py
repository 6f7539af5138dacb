import pytest

from reports.conftest import content_of, row_of, run_of

VALUES = {"soft": 20.0, "reinforce": 18.0, "reinforce, leave-one-out": 19.0, "reinforce, entropy bonus": 20.0}
VALUES |= {"reinforce, as in the paper": 20.0, "straight-through": 17.0}


NAMES = {"learned_baseline": "learned baseline", "leave_one_out": "leave-one-out", "paper": "as in the paper"}


def noise_of(model, **variances):
    """A row of noise, with variances that are those numbers on every batch but one."""
    estimators = {
        NAMES.get(name, name): {
            "variance": value,
            "signal": 0.5,
            "batches": [value] * 7 + [value * 1.5],
        }
        for name, value in variances.items()
    }
    sizes = {"batches": 8, "sentences": 8, "draws": 8}
    return {"model": model, "seed": 1, "measured": "noise", **sizes, "estimators": estimators, "command": ""}


def made_up(changed=None, translators=("rnnsearch", "luong"), seeds=2):
    """report.json of scores and noise; the changed values are those of the first translator."""
    rows, runs = [], []
    for place, translator in enumerate(translators):
        for way, value in {**VALUES, **({} if place else changed or {})}.items():
            name = f"{translator} {way}"
            learned = {"reinforce, as in the paper": {"paper": 8.0}, "soft": {}, "straight-through": {}}
            own = learned.get(way, {"learned_baseline": 4.0})
            rows += [row_of(name, value, seed=seed, measured="score") for seed in range(1, 1 + seeds)]
            rows.append(noise_of(name, leave_one_out=2.0, **own))
            runs += [run_of(name, seed) for seed in range(1, 1 + seeds)]
    content = content_of("soft-hard", runs, rows)
    content["arguments"] |= {"samples": 2, "entropy_bonus": 0.02}
    return content


@pytest.fixture
def content():
    """A report whose claim holds."""
    return made_up()
