from reports.pages import told, written_twice
from saccade.reports.complexity.page import write_page


def test_the_page_says_everything_and_is_the_same_again(tmp_path, content):
    files, page = written_twice(write_page, content, tmp_path)
    assert {name.partition(".")[0] for name in files} == {"forward", "forward-backward", "index"}
    words = ["1706.03762", "**reproduced**", "Width d = 64", "4 n d² + 2 n² d", "| 128 | 1.02", "Machine: device cpu"]
    assert all(word in page for word in words)


def test_the_plot_tells_its_points_in_words(tmp_path, content):
    write_page(tmp_path, content)
    said = told(tmp_path / "forward.svg")
    assert said["desc"].startswith("GRU: n^(1.00 ± 0.00): 1.024 at 128, 2.048 at 256")
