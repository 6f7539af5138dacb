import pytest

from reports.pages import told, written_twice
from saccade import look
from saccade.reports.complexity.findings import Findings
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


def test_bars_of_the_plot_are_the_intervals_of_the_table(tmp_path, content, monkeypatch):
    drawn, draw = [], look.curves

    def kept(curves, *arguments, **options):
        drawn.append(curves)
        return draw(curves, *arguments, **options)

    monkeypatch.setattr(look, "curves", kept)
    write_page(tmp_path, content)
    _, *rows = Findings(content).table("forward")
    for place, curve in enumerate(drawn[0], start=1):
        halves = [float(row[place].partition(" ± ")[2]) for row in rows[: len(curve.x)]]
        assert curve.errors == pytest.approx(halves, abs=0.1) and max(halves) > 0
