from reports.pages import told, written_twice
from saccade.reports.regression.page import write_page


def test_page_tells_claim_verdict_and_how_it_was_measured(content, tmp_path):
    names, page = written_twice(write_page, content, tmp_path)
    assert names == ["errors.png", "errors.svg", "index.html", "index.md"]
    assert "**reproduced**: by the best bandwidth" in page and "| power of n |" in page
    assert "Seeds: mean 4, best bandwidth 4, leave-one-out 4, learned kernel 4." in page
    assert "best bandwidth: n^(-0.80 ± 0.01)" in told(tmp_path / "a/errors.svg")["desc"]
