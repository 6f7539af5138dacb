"""What the tests of the task share: data made by hand."""

import pytest


def labelled(path, rows, form="{text}\t{label}\n"):
    path.write_text("".join(form.format(text=text, label=label) for text, label in rows), encoding="utf-8")
    return path


@pytest.fixture
def rows():
    """Sixty different texts of two labels."""
    return [(f"{'good' if n % 2 else 'bad'} film number {n}", "yes" if n % 2 else "no") for n in range(60)]
