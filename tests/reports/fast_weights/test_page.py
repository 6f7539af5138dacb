from reports.pages import told, written_twice
from saccade.reports.fast_weights.page import write_page


def test_page_tells_claim_verdict_and_how_it_was_measured(content, tmp_path):
    names, page = written_twice(write_page, content, tmp_path)
    pictures = [f"fast-weights{which}.{kind}" for which in ("-matrices", "") for kind in ("png", "svg")]
    assert names == [*pictures, "index.html", "index.md"]
    words = ["1610.06258", "**reproduced**", "| convolution | learned, of each distance | 0, to 1e-31 | 2e-15 |"]
    words += ["| attention's varies | by 0.320 ± 0.025 | reproduced |", "| a guess of the pairs' values | 53.1 |"]
    assert all(word in page for word in words)
    assert "attention: 99 at 2, 99 at 8" in told(tmp_path / "a/fast-weights.svg")["desc"]
    matrices = told(tmp_path / "a/fast-weights-matrices.svg")["desc"]
    assert matrices.startswith("5 rows of 3: attention, fast weights") and matrices.endswith(
        "input 1, input 2, input 3"
    )
