from reports.pages import told, written_twice
from saccade.reports.length.page import write_page


def test_the_page_says_everything_and_needs_nothing(tmp_path, content):
    files, page = written_twice(write_page, content, tmp_path)
    assert files == ["index.html", "index.md", "length.png", "length.svg"]
    words = [
        "1409.0473",
        "**reproduced**",
        "de to en",
        "Seeds: 1, 2",
        "`s|1`",
        "Machine: device cpu",
        "torch 2",
        "length.png",
    ]
    assert all(word in page for word in [*words, "saccade train translate --model encoder-decoder", "| 1-5 | 100 |"])


def test_the_plot_tells_its_points_in_words(tmp_path, content):
    write_page(tmp_path, content)
    said = told(tmp_path / "length.svg")
    assert said["title"] == "BLEU by length of the source"
    assert "encoder-decoder: 25 at 1-5, 18 at 6-10, 10 at 11-15" in said["desc"]


def test_what_built_in_data_can_show_is_said_of_them_alone(tmp_path, content):
    for data, said in (("dates", True), ("trees", False)):
        write_page(tmp_path, {**content, "data": data})
        assert ("A date's length" in (tmp_path / "index.md").read_text(encoding="utf-8")) is said
