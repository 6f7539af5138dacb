from reports.fast_weights.conftest import RIGHT, made_up
from saccade.reports.fast_weights.findings import EXACT, Findings, summary
from saccade.reports.fast_weights.layers import ATTENTION, DENSE, LAYERS, SEPARABLE
from tiers import every


@every(
    ("changed", "result"),
    [
        ({}, "reproduced"),
        ({"seeds": 1}, "not decided"),
        ({"distance": 2 * EXACT}, "contradicted"),
        ({"still": 2 * EXACT}, "contradicted"),
        ({"right": {**RIGHT, ATTENTION: (0.9, 0.7, 0.6)}}, "contradicted"),
        ({"right": {**RIGHT, SEPARABLE: (0.9, 0.8, 0.7)}}, "contradicted"),
        ({"right": {**RIGHT, DENSE: (0.9, 0.6, 0.505)}}, "not decided"),
        ({"layers": (ATTENTION, DENSE)}, "reproduced"),
    ],
)
def test_the_numbers_decide(changed, result):
    assert Findings(made_up(**changed)).verdict.result == result


def test_tables_have_a_row_a_layer(content):
    found = Findings(content)
    header, first, *_, guess = found.table()
    assert guess == ["a guess of the pairs' values", "53.1", "18.0", "9.2"]
    assert header == ["layer", "2 pairs", "8 pairs", "32 pairs"] and first[1] == "99.0 ± 1.2"
    matrices = {row[0]: row[2:] for row in found.matrices()}
    assert matrices[DENSE] == ["0, to 1e-31", "2e-15"] and matrices[ATTENTION] == ["0.320 ± 0.025", "2e-15"]
    assert found.layers == list(LAYERS) and len(found.shown(DENSE)) == 3
    text = summary(content)
    assert (
        "answered right in percent" in text and "attention answers more than 90% of 32 pairs: reproduced, 98.0" in text
    )
    assert "convolution, separable answers less than 50%: reproduced, 9.0 ± 1.2%" in text
