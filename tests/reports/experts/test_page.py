from reports.experts.conftest import WITHOUT, made_up
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


def test_what_chance_shares_is_told_where_it_was_measured(tmp_path, content):
    _, page = written_twice(write_page, content, tmp_path)
    assert "By chance: the same of experts" not in page and "| losses | known from the token | known from the" in page
    measured = {"token by chance": 0.25, "group by chance": 0.125}
    write_page(tmp_path, made_up({WITHOUT: measured}))
    page = (tmp_path / "index.md").read_text(encoding="utf-8")
    assert "By chance: the same of experts that are shuffled among the tokens, the mean over 10 shuffles." in page
    assert "| known from the token by chance | known from the group |" in page
    assert "| no loss | 0.50 ± 0.01 | 0.25 ± 0.01 | 0.25 ± 0.01 | 0.12 ± 0.01 |" in page
