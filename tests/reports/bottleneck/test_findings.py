import pytest

from reports.bottleneck.conftest import COPIED, made_up
from saccade.reports.bottleneck.codes import AUTOENCODER
from saccade.reports.bottleneck.copying import ATTENTION, VECTOR
from saccade.reports.bottleneck.findings import Findings, summary
from tiers import every


def test_numbers_are_those_of_the_rows(content):
    found = Findings(content)
    assert found.lengths == [10, 100, 1000] and found.codes == [2, 4, 8, 16, 32, 64]
    assert found.right(VECTOR, 1000).value == pytest.approx(0.09)
    assert found.bits(ATTENTION, 100).value == pytest.approx(3 * 99 - 1)
    assert found.kept(AUTOENCODER, 64, "error").value == pytest.approx(0.0102)
    assert len(found.shown(AUTOENCODER, 2)) == 10


@every(
    ("changed", "result"),
    [
        ({}, "reproduced"),
        ({"seeds": 1}, "not decided"),
        ({"copied": {**COPIED, ATTENTION: (1.0, 0.8, 0.5)}}, "contradicted"),  # it falls by more than half as much
        ({"copied": {**COPIED, VECTOR: (0.9, 0.9, 0.97)}}, "contradicted"),  # the vector is better, and rises
        ({"errors": (0.01, 0.01, 0.01, 0.01, 0.01, 0.02)}, "contradicted"),
        ({"named": (0.9, 0.8, 0.8, 0.8, 0.8, 0.8)}, "contradicted"),
        ({"copied": {**COPIED, VECTOR: (0.2, 0.1, 0.1)}}, "not decided"),  # it has not learned
    ],
)
def test_the_numbers_decide(changed, result):
    assert Findings(made_up(**changed)).verdict.result == result


def test_what_has_not_learned_is_named():
    reason = Findings(made_up(copied={ATTENTION: (0.2, 0.1, 0.1), VECTOR: (0.9, 0.3, 0.1)})).verdict.reason
    assert reason == ("nothing can be concluded: attention: fewer than 30% of 10 tokens are copied; train it longer")


def test_tables_have_a_column_a_length_and_a_row_a_code(content):
    found = Findings(content)
    header, first, *_, last = found.copies()
    assert (
        header == ["through", "10", "100", "1000"]
        and first[0] == "attention, % right"
        and last[0] == "one vector, bits"
    )
    assert last[3] == "299 ± 0"
    header, first, *_, whole = found.code_table()
    assert header[1:] == ["squared error", "the same, linear", "% named right", "the same, linear"]
    assert first[0] == "2" and first[2] == "0.0600" and whole == ["all pixels", "0", "0", "92.0", "92.0"]
    text = summary(content)
    assert "copied by length" in text and "\nreproduced: of 1000 tokens attention copies a larger share" in text
    assert "with attention it falls by less than half of that: reproduced, 5.0 ± 0.0 points" in text
