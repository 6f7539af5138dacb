from xml.etree import ElementTree

from saccade.reports.scores.page import write_page


def test_the_page_says_everything_and_is_the_same_again(tmp_path, content):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_page(tmp_path / name, content)
    first, second = (sorted((tmp_path / name).iterdir()) for name in ("a", "b"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert [path.name for path in first] == ["index.html", "index.md", "scores.png", "scores.svg"]
    page = (tmp_path / "a/index.md").read_text(encoding="utf-8")
    words = ["1508.04025", "**reproduced**", "| local-m → local-p | +2.00 ± 0.00 | holds |", "100 sentences", "`s|1`"]
    assert all(word in page for word in words)


def test_the_plot_tells_its_points_in_words(tmp_path, content):
    write_page(tmp_path, content)
    root = ElementTree.fromstring((tmp_path / "scores.svg").read_text(encoding="utf-8"))
    told = {element.tag.rsplit("}")[-1]: element.text for element in root if element.text}
    assert told["title"] == "BLEU by what attention compares"
    assert told["desc"].startswith("none: BLEU 10; location: BLEU 12; dot: BLEU 14")
