from xml.etree import ElementTree

from saccade.reports.order.page import write_page


def test_the_page_says_everything_and_is_the_same_again(tmp_path, content):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_page(tmp_path / name, content)
    first, second = (sorted((tmp_path / name).iterdir()) for name in ("a", "b"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert [path.name for path in first] == ["index.html", "index.md", "order.png", "order.svg"]
    page = (tmp_path / "a/index.md").read_text(encoding="utf-8")
    words = ["1706.03762", "**reproduced**", "100 sentences, 90 of which", "as white space separates them.", "`s|1`"]
    assert all(word in page for word in [*words, "| self-attention | equivariant | 3.0e-16 |", "--positions none"])


def test_the_plot_tells_its_points_in_words(tmp_path, content):
    write_page(tmp_path, content)
    root = ElementTree.fromstring((tmp_path / "order.svg").read_text(encoding="utf-8"))
    told = {element.tag.rsplit("}")[-1]: element.text for element in root if element.text}
    assert told["title"] == "BLEU with the words of the source in order and shuffled"
    assert told["desc"].startswith("rnnsearch: in order 30, shuffled 10; transformer: in order 32")
