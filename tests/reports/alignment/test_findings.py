import pytest

from reports.alignment.conftest import made_up
from saccade.reports.alignment.findings import Findings, summary


def test_the_words_of_the_papers_figure_are_found(content):
    found = Findings(content)
    assert found.target[-3:] == ["zone", "économique", "européenne"] and found.source[-1] == "Area"
    assert found.reordered()[1:] == [["zone économique européenne", "European Economic Area", "80.0"]]
    assert found.pairs == (3, 21) and found.verdict.result == "reproduced"
    assert "“zone économique européenne” is read at “European Economic Area”" in found.verdict.reason


@pytest.mark.parametrize(
    ("changed", "result"),
    [
        ({}, "reproduced"),
        ({"sure": 0.4}, "not decided"),
        ({"most": range(8)}, "contradicted"),
        ({"most": (7, 6, 5, 4, 3, 2, 1, 0), "pieces": False}, "contradicted"),
    ],
)
def test_verdict_follows_from_the_weights_alike_by_either(changed, result):
    for by in ("attention", "jacobian"):
        assert Findings(made_up(**changed, by=by)).verdict.result == result
    assert Findings(made_up(**changed)).verdict == Findings(made_up(**changed, by="attention")).verdict


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, "“zone économique européenne” is moved most by “European Economic Area”; 3 of 21 pairs of words are "),
        ({"sure": 0.4}, "“European Economic Area”, with 50.0% of the row or less on some of it; "),
        ({"most": range(8)}, "no neighbours are moved most by words in another order than they are written; "),
    ],
)
def test_of_the_jacobian_it_is_said_what_moves_the_words(changed, words):
    content = made_up(**changed, by="jacobian")
    reason, text = Findings(content).verdict.reason, summary(content)
    assert words in reason and reason.endswith("% of a row is away in the mean") and "share of the row, %" in text
    assert not any(word in text for word in ("attend", "attention", "weight", "read at"))


def test_what_is_away_from_diagonal_is_told_word_by_word(content):
    found = Findings(content)
    header, *rows = found.words()
    assert len(rows) == 7 and rows[4][:2] == ["zone", "Area"] and header[0] == "written"
    assert found.away == pytest.approx(sum(float(row[3]) for row in rows) / 700, abs=1e-3)
    assert summary(content).splitlines()[-1].startswith("reproduced: ")
