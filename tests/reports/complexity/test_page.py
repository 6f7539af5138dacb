from xml.etree import ElementTree

from saccade.reports.complexity.page import write_page


def test_the_page_says_everything_and_is_the_same_again(tmp_path, content):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_page(tmp_path / name, content)
    first, second = (sorted((tmp_path / name).iterdir()) for name in ("a", "b"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert {path.stem for path in first} == {"forward", "forward-backward", "index"}
    page = (tmp_path / "a/index.md").read_text(encoding="utf-8")
    words = ["1706.03762", "**reproduced**", "Width d = 64", "4 n d² + 2 n² d", "| 128 | 1.02", "Machine: device cpu"]
    assert all(word in page for word in words)


def test_the_plot_tells_its_points_in_words(tmp_path, content):
    write_page(tmp_path, content)
    root = ElementTree.fromstring((tmp_path / "forward.svg").read_text(encoding="utf-8"))
    told = {element.tag.rsplit("}")[-1]: element.text for element in root if element.text}
    assert told["desc"].startswith("GRU: n^1.00 ± 0.00: 1.024 at 128, 2.048 at 256")
