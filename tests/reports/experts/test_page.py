from reports.pages import told, written_twice
from saccade.reports.experts.page import write_page


def test_the_page_says_everything_and_is_the_same_again(tmp_path, content):
    files, page = written_twice(write_page, content, tmp_path)
    assert files == ["experts.png", "experts.svg", "index.html", "index.md"]
    words = [
        "**reproduced**",
        "| no loss | 39.8 | 3.04 | 3.01 | 17.80 |",
        "Of 16 experts a token takes 2",
        "Seeds: 1, 2",
    ]
    assert all(word in page for word in words)
    assert "Perplexity is lower with load 0.2 than with no loss: reproduced, by " in page


def test_the_plot_tells_its_points_in_words(tmp_path, content):
    write_page(tmp_path, content)
    said = told(tmp_path / "experts.svg")
    assert said["title"] == "How unevenly experts are loaded"
    assert "no loss: importance 3.04, load 3.01" in said["desc"]
