import pytest

from reports.conftest import content_of, run_of
from saccade.reports.difference import packed
from saccade.reports.pooling.findings import CONTEXT
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


TEXTS = 1000


def row_of(model, accuracy, seed):
    """A row of texts of which the first so many are right: what one model has right, a better one has too."""
    right = [place < round(TEXTS * accuracy) for place in range(TEXTS)]
    return {
        "model": model,
        "seed": seed,
        "measured": "accuracy",
        "texts": TEXTS,
        "accuracy": sum(right) / TEXTS,
        "macro_f1": accuracy,
        "validation": accuracy + 0.01,
        "right": packed(right),
        "texts_per_second": 9.0,
        "command": "",
    }


def probe_of(model, seed, shift, lowered=0.0):
    """A not moves every sentence by `shift`, or, for shift None, to the other side; it lowers weights by some nats."""
    pairs = []
    for place, pair in enumerate(PAIRS):
        before = 2.0 if pair.positive else -2.0
        after = -before if shift is None else before + shift
        shares = [1 / (1 + 2.718281828**-score) for score in (before, after)]
        found = {"scores": [before, after], "probabilities": shares}
        if model != "sum":
            found |= {"weights": [0.5, 0.25], "relative": [1.0, 1.0 - lowered * (1 + 0.01 * place)]}
        pairs.append({**pair._asdict(), **found})
    words = [["good", 0.5, 1.0], ["not", 2.0, 0.0]] if model == "fixed dot" else []
    about = {"model": model, "seed": seed, "measured": "not", "labels": ["0", "1"], "command": ""}
    return {**about, "pairs": pairs, "directions": words}


def made_up(changed=None, seeds=3, spread=0.001, lowers=None):
    """report.json of the report; a sum moves all by -1, the others turn around."""
    values = {**VALUES, **(changed or {})}
    names, rows, runs = [variant.name for variant in VARIANTS], [], []
    for seed in range(1, seeds + 1):
        for name in names:
            rows.append(row_of(name, values[name] + spread * (seed - 2), seed))
            lowered = (2.0 if lowers is None else lowers) if name in CONTEXT else 0.0
            rows.append(probe_of(name, seed, -1.0 if name == "sum" else None, lowered))
            runs.append(run_of(name, seed))
    return content_of("pooling", runs, rows)


@pytest.fixture
def content():
    """A report whose claim holds."""
    return made_up()
