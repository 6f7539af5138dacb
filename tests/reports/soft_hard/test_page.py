from reports.pages import told, written_twice
from saccade.reports.soft_hard.page import write_page


def test_the_page_says_everything_and_is_the_same_again(tmp_path, content):
    files, page = written_twice(write_page, content, tmp_path)
    assert files == ["index.html", "index.md", "soft-hard.png", "soft-hard.svg"]
    words = ["1502.03044", "**reproduced**", "reads a sentence 2 times", "is 0.02 of a nat", "`s|1`"]
    words += [
        "has 0.5 times the variance",
        "8 batches of 8 sentences",
        "100 sentences",
        "the entropy 0.02, with 2 draws",
    ]
    assert all(word in page for word in words)


def test_the_plot_tells_its_points_in_words(tmp_path, content):
    write_page(tmp_path, content)
    said = told(tmp_path / "soft-hard.svg")
    assert said["title"] == "BLEU with soft attention and hard"
    assert said["desc"].startswith("rnnsearch soft: BLEU 20; rnnsearch reinforce: BLEU 18")
