import pytest

from reports.conftest import content_of, row_of, run_of
from saccade.reports.scores.report import VARIANTS

VALUES = {"none": 10.0, "general": 12.0, "location": 15.0, "dot": 16.0, "local-m": 18.0, "local-p": 20.0}


def made_up(changed=None, variants=VARIANTS, seeds=2):
    """report.json of scores; those outside the order are 14."""
    values = {**VALUES, **(changed or {})}
    names = [variant.name for variant in variants]
    places = [(name, seed) for name in names for seed in range(1, 1 + seeds)]
    rows = [{**row_of(name, values.get(name, 14.0)), "seed": seed} for name, seed in places]
    return content_of("scores", [run_of(name, seed) for name, seed in places], rows)


@pytest.fixture
def content():
    """A report whose claim holds."""
    return made_up()
