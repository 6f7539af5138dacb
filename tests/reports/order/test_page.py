from reports.pages import told, written_twice
from saccade.reports.order.page import write_page


def test_the_page_says_everything_and_is_the_same_again(tmp_path, content):
    files, page = written_twice(write_page, content, tmp_path)
    assert files == ["index.html", "index.md", "order.png", "order.svg"]
    words = ["1706.03762", "**reproduced**", "100 sentences, 90 of which", "as white space separates them.", "`s|1`"]
    assert all(word in page for word in [*words, "| self-attention | equivariant | 3.0e-16 |", "--positions none"])


def test_the_plot_tells_its_points_in_words(tmp_path, content):
    write_page(tmp_path, content)
    said = told(tmp_path / "order.svg")
    assert said["title"] == "BLEU with the words of the source in order and shuffled"
    assert said["desc"].startswith("rnnsearch: in order 30, shuffled 10; transformer: in order 32")
