import pytest

from reports.conftest import content_of, run_of
from saccade.reports.pooling.probe import PAIRS
from saccade.reports.pooling.report import VARIANTS

VALUES = {
    "sum": 0.78,
    "fixed dot": 0.79,
    "fixed MLP": 0.8,
    "fixed MLP, 4 queries": 0.81,
    "self-attention": 0.82,
    "rnn-attention": 0.83,
}


def row_of(model, accuracy, seed):
    return {
        "model": model,
        "seed": seed,
        "measured": "accuracy",
        "texts": 1821,
        "accuracy": accuracy,
        "macro_f1": accuracy,
        "validation": accuracy + 0.01,
        "texts_per_second": 9.0,
        "command": "",
    }


def probe_of(model, seed, shift):
    """A not moves every sentence by `shift`, or, for shift None, to the other side."""
    pairs = []
    for pair in PAIRS:
        before = 2.0 if pair.positive else -2.0
        after = -before if shift is None else before + shift
        shares = [1 / (1 + 2.718281828**-score) for score in (before, after)]
        pairs.append({**pair._asdict(), "scores": [before, after], "probabilities": shares})
    return {"model": model, "seed": seed, "measured": "not", "pairs": pairs, "labels": ["0", "1"], "command": ""}


def made_up(changed=None, seeds=3, spread=0.001):
    """report.json of the report; a sum moves all by -1, the others turn around."""
    values = {**VALUES, **(changed or {})}
    names, rows, runs = [variant.name for variant in VARIANTS], [], []
    for seed in range(1, seeds + 1):
        for name in names:
            rows.append(row_of(name, values[name] + spread * (seed - 2), seed))
            rows.append(probe_of(name, seed, -1.0 if name == "sum" else None))
            runs.append(run_of(name, seed))
    return content_of("pooling", runs, rows)


@pytest.fixture
def content():
    """A report whose claim holds."""
    return made_up()
