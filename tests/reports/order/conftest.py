import pytest

from reports.conftest import content_of, row_of, run_of
from saccade.reports.order.exact import LAYERS
from saccade.reports.order.findings import SET

MODELS = {"rnnsearch": (30.0, 10.0), "transformer": (32.0, 12.0), SET: (8.0, 8.0)}


def made_up(models=MODELS, deviations=None, seeds=2):
    """report.json of scores in order and shuffled."""
    exact = [
        {
            "layer": name,
            "kind": layer.kind,
            "holds": layer.holds,
            "deviation": (deviations or {}).get(name, 3e-16 if layer.holds else 0.5),
        }
        for name, layer in LAYERS.items()
    ]
    about = {"rule": "words", "changed": 90}
    rows = [
        row_of(model, score, seed=seed, words=way, **about)
        for model, both in models.items()
        for way, score in zip(("in order", "shuffled"), both, strict=True)
        for seed in range(1, 1 + seeds)
    ]
    return content_of(
        "order", [run_of(model, seed) for model in models for seed in range(1, 1 + seeds)], [*exact, *rows]
    )


@pytest.fixture
def content():
    """A report whose claim holds."""
    return made_up()
