from reports.isolation.conftest import made_up
from reports.pages import told, written_twice
from saccade.reports.isolation.page import write_page


def test_page_tells_claim_verdict_and_how_it_was_measured(content, tmp_path):
    names, page = written_twice(write_page, content, tmp_path)
    pictures = [f"isolation{which}.{kind}" for which in ("-graph", "") for kind in ("png", "svg")]
    assert names == ["index.html", "index.md", *pictures]
    words = [
        "Jacobs, Jordan, Nowlan, Hinton 1991",
        "**reproduced**",
        "some digits",
        "Trained by adam",
        "within 2.0e-16",
    ]
    words += ["| sparsemax | 2.0e-16 | 9 of 1,320 |", "Adam divides a gradient by its size", "top 1, learned"]
    assert all(word in page for word in words)
    assert "sgd: 91 at 0.1" in told(tmp_path / "a/isolation.svg")["desc"]
    assert "0 at exactly 0" in told(tmp_path / "a/isolation.svg")["desc"]
    graph = told(tmp_path / "a/isolation-graph.svg")["desc"]
    assert "sparsemax, output's gradient 2.00: weight 0.70 and gradient 1.40, weight 0.00 and gradient 0.00" in graph


def test_a_page_of_one_seed_is_written(tmp_path):
    write_page(tmp_path, made_up(seeds=1))
    assert "**not decided**" in (tmp_path / "index.md").read_text(encoding="utf-8")
