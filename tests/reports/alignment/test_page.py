from reports.alignment.conftest import made_up
from reports.pages import told, written_twice
from saccade.reports.alignment.page import write_page


def test_the_page_says_everything_and_is_the_same_again(tmp_path, content):
    files, page = written_twice(write_page, content, tmp_path)
    assert files == ["alignment.png", "alignment.svg", "index.html", "index.md"]
    words = ["1409.0473", "**reproduced**", "| zone économique européenne | European Economic Area |", "4,400 steps"]
    assert all(word in page for word in words)
    assert told(tmp_path / "a/alignment.svg")["title"].startswith("What was attended to: This agreement")


def test_page_by_the_jacobian_does_not_speak_of_attention(tmp_path):
    files, page = written_twice(write_page, made_up(by="jacobian"), tmp_path)
    assert files == ["alignment.png", "alignment.svg", "index.html", "index.md"]
    words = [
        "# What moves the words of a sentence's translation",
        "what moves the words of the translation runs along the diagonal",
        "1610.10099",
        "| written | moved most by | share of the row, % |",
        "shares of a source word are summed, so that more pieces have more;",
        "more spread than weights",
        "no explanation",
    ]
    assert all(word in page for word in words)
    drawn = told(tmp_path / "a/alignment.svg")
    assert drawn["title"].startswith("What moves each word: This agreement")
    assert "zone is moved most by Area" in drawn["desc"]
    assert not any(word in text for text in (page, *drawn.values()) for word in ("attend", "attention"))


def test_a_page_of_attention_says_nothing_of_gradients(tmp_path, content):
    write_page(tmp_path, content)
    page = (tmp_path / "index.md").read_text(encoding="utf-8")
    assert not any(word in page for word in ("Jacobian", "gradient", "share", "moves", "1610.10099", "{"))
    assert "Cet attends to This" in told(tmp_path / "alignment.svg")["desc"]


def test_a_sentence_in_order_says_that_nothing_is_reordered(tmp_path):
    write_page(tmp_path, made_up(most=range(8), pieces=False))
    page = (tmp_path / "index.md").read_text(encoding="utf-8")
    assert "Nothing is." in page and "Pieces of words" not in page
