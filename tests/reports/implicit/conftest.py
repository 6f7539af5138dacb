import pytest

from reports.conftest import content_of, run_of
from saccade.reports.difference import packed_shares

SHARES = {"rnnsearch": 0.8, "encoder-decoder": 0.4, "bytenet": 0.5}
SENTENCES = 12


def way_of(share, seed):
    """What a row says of one way of weighing: shares that differ a little from seed to seed and between sentences."""
    each = [share + 0.01 * seed + 0.002 * (place % 5 - 2) for place in range(SENTENCES)]
    beyond = {group: {"5": 0.3, "10": 0.2 if group == "11-20" else 0.4, "20": 0.0} for group in ("11-20", "21-30")}
    packed = {name: packed_shares(each) for name in ("share", "found", "digit")}
    return {**packed, "beyond": beyond, "near": {"0-5": [3, 4], "6-10": [1, 4]}}


def row_of(model, share, seed, attention=None):
    ways = {"jacobian": way_of(share, seed), "word": way_of(1.0 - 0.01 * seed - 0.005, seed)}
    if attention is not None:
        ways["attention"] = way_of(attention, seed)
    weights = [[0.25, 0.75], [0.5, 0.5]]
    example = {"source": "ab", "target": "xy", "jacobian": weights, **({"attention": weights} if attention else {})}
    return {
        "model": model,
        "seed": seed,
        "measured": "jacobian",
        "sentences": SENTENCES,
        "even": 0.25,
        "lengths": {"11-20": 7, "21-30": 5},
        "ways": ways,
        "example": example,
        "command": "",
    }


def made_up(shares=SHARES, attention=0.9, seeds=3, right=0.9):
    """report.json of three models, with as many seeds."""
    numbers = range(1, seeds + 1)
    runs = [run_of(model, seed, metrics={"exact_match": right}) for seed in numbers for model in shares]
    rows = [
        row_of(model, share, seed, attention if model == "rnnsearch" else None)
        for seed in numbers
        for model, share in shares.items()
    ]
    return {**content_of("implicit", runs, rows), "data": "dates", "arguments": {"source": None, "target": None}}


@pytest.fixture
def content():
    """A report whose claim holds."""
    return made_up()
