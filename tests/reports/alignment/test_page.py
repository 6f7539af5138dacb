from reports.alignment.conftest import made_up
from reports.pages import told, written_twice
from saccade.reports.alignment.page import write_page


def test_the_page_says_everything_and_is_the_same_again(tmp_path, content):
    files, page = written_twice(write_page, content, tmp_path)
    assert files == ["alignment.png", "alignment.svg", "index.html", "index.md"]
    words = ["1409.0473", "**reproduced**", "| zone économique européenne | European Economic Area |", "4,400 steps"]
    assert all(word in page for word in words)
    assert told(tmp_path / "a/alignment.svg")["title"].endswith("Area: what was attended to")


def test_a_sentence_in_order_says_that_nothing_is_reordered(tmp_path):
    write_page(tmp_path, made_up(most=range(8), pieces=False))
    page = (tmp_path / "index.md").read_text(encoding="utf-8")
    assert "Nothing is." in page and "Pieces of words" not in page
