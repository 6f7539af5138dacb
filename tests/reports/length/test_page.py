from xml.etree import ElementTree

from saccade.reports.length.page import write_page


def test_the_page_says_everything_and_needs_nothing(tmp_path, content):
    write_page(tmp_path, content)
    assert {path.name for path in tmp_path.iterdir()} == {"index.md", "index.html", "length.png", "length.svg"}
    page = (tmp_path / "index.md").read_text(encoding="utf-8")
    words = [
        "1409.0473",
        "**reproduced**",
        "de to en",
        "Seeds: 1",
        "`s|1`",
        "Machine: device cpu",
        "torch 2",
        "length.png",
    ]
    assert all(word in page for word in [*words, "saccade train translate --model encoder-decoder", "| 1-5 | 100 |"])
    html = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "<svg" in html and "<script" not in html and " src=" not in html


def test_the_plot_tells_its_points_in_words(tmp_path, content):
    write_page(tmp_path, content)
    root = ElementTree.fromstring((tmp_path / "length.svg").read_text(encoding="utf-8"))
    told = {element.tag.rsplit("}")[-1]: element.text for element in root if element.text}
    assert told["title"] == "BLEU by length of the source"
    assert "encoder-decoder: 25 at 1-5, 18 at 6-10, 10 at 11-15" in told["desc"]
