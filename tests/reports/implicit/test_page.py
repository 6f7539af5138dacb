from reports.pages import told, written_twice
from saccade.reports.implicit.page import write_page


def test_the_page_says_everything_and_is_the_same_again(tmp_path, content):
    files, page = written_twice(write_page, content, tmp_path)
    names = ["bytenet-jacobian", "encoder-decoder-jacobian", "implicit", "rnnsearch-attention", "rnnsearch-jacobian"]
    assert files == sorted(["index.html", "index.md", *(f"{name}.{kind}" for name in names for kind in ("png", "svg"))])
    words = ["1610.10099", "**reproduced**", "the first 12 sentences", "7 of 11-20, 5 of 21-30", "Seeds: 1, 2, 3."]
    assert all(word in page for word in [*words, "| an even share |", "Shares beyond 20 steps:"])


def test_the_plot_tells_its_points_in_words(tmp_path, content):
    write_page(tmp_path, content)
    said = told(tmp_path / "implicit.svg")
    assert said["title"] == "Share beyond 10 steps, by the source's length"
    assert "rnnsearch, attention" in said["desc"]


def test_pictures_name_gradients_or_attention(tmp_path, content):
    write_page(tmp_path, content)
    for way, verb in (("jacobian", " is moved most by "), ("attention", " attends to ")):
        assert verb in told(tmp_path / f"rnnsearch-{way}.svg")["desc"]
