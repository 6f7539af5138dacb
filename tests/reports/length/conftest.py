import pytest

from reports.conftest import content_of, row_of, run_of


def made_up(attention, none):
    """report.json of scores by length."""
    rows = [
        row_of(
            model, score, few=False, lengths=f"{5 * place + 1}-{5 * place + 5}", length=5.0 * place + 3, unit="words"
        )
        for model, scores in (("rnnsearch", attention), ("encoder-decoder", none))
        for place, score in enumerate(scores)
    ]
    return content_of("length", [run_of("rnnsearch"), run_of("encoder-decoder")], rows)


@pytest.fixture
def content():
    """A report whose claim holds."""
    return made_up([30.0, 30.2, 30.1], [25.0, 18.0, 10.0])
