from xml.etree import ElementTree

from saccade.reports.soft_hard.page import write_page


def test_the_page_says_everything_and_is_the_same_again(tmp_path, content):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_page(tmp_path / name, content)
    first, second = (sorted((tmp_path / name).iterdir()) for name in ("a", "b"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert [path.name for path in first] == ["index.html", "index.md", "soft-hard.png", "soft-hard.svg"]
    page = (tmp_path / "a/index.md").read_text(encoding="utf-8")
    words = ["1502.03044", "**reproduced**", "reads a sentence 2 times", "is 0.02 of a nat", "`s|1`"]
    words += ["has 0.50 times the variance", "8 batches of 8 sentences", "100 sentences"]
    assert all(word in page for word in words)


def test_the_plot_tells_its_points_in_words(tmp_path, content):
    write_page(tmp_path, content)
    root = ElementTree.fromstring((tmp_path / "soft-hard.svg").read_text(encoding="utf-8"))
    told = {element.tag.rsplit("}")[-1]: element.text for element in root if element.text}
    assert told["title"] == "BLEU with soft attention and hard"
    assert told["desc"].startswith("rnnsearch soft: BLEU 20; rnnsearch reinforce: BLEU 18")
