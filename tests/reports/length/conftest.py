import pytest

from reports.conftest import content_of, row_of, run_of


def made_up(attention, none, seeds=2):
    """report.json of scores by length, the same with every seed."""
    about = {"few": False, "unit": "words"}
    rows = [
        row_of(model, score, seed=seed, lengths=f"{5 * place + 1}-{5 * place + 5}", length=5.0 * place + 3, **about)
        for model, scores in (("rnnsearch", attention), ("encoder-decoder", none))
        for place, score in enumerate(scores)
        for seed in range(1, 1 + seeds)
    ]
    runs = [run_of(model, seed) for seed in range(1, 1 + seeds) for model in ("rnnsearch", "encoder-decoder")]
    return content_of("length", runs, rows)


@pytest.fixture
def content():
    """A report whose claim holds."""
    return made_up([30.0, 30.2, 30.1], [25.0, 18.0, 10.0])
