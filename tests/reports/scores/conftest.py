import pytest

from reports.conftest import content_of, row_of, run_of
from saccade.reports.scores.report import VARIANTS

VALUES = {"none": 10.0, "location": 12.0, "general": 15.0, "local-m": 18.0, "local-p": 20.0}


def made_up(changed=None, variants=VARIANTS):
    """report.json of scores; those outside the order are 14."""
    values = {**VALUES, **(changed or {})}
    names = [variant.name for variant in variants]
    rows = [row_of(name, values.get(name, 14.0)) for name in names]
    return content_of("scores", [run_of(name) for name in names], rows)


@pytest.fixture
def content():
    """A report whose claim holds."""
    return made_up()
