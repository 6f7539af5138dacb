import pytest

from study_rows import corpus, few_digits, rejects, rendered, small, unrendered

__all__ = ["corpus", "few_digits", "rejects", "rendered", "small", "unrendered"]


@pytest.fixture(autouse=True)
def uncollected(monkeypatch):
    """statsmodels collects garbage in every call of `multipletests`, for a tenth of a second each."""
    monkeypatch.setattr("gc.collect", lambda *generations: 0)
