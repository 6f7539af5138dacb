from reports.pages import told, written_twice
from reports.scores.conftest import made_up
from saccade.reports.scores.page import write_page
from saccade.reports.scores.report import Options, rows


def test_the_page_says_everything_and_is_the_same_again(tmp_path, content):
    files, page = written_twice(write_page, content, tmp_path)
    assert files == ["index.html", "index.md", "scores.png", "scores.svg"]
    words = ["1508.04025", "**reproduced**", "| local-m → local-p | +2.00 ± 0.00 | holds |", "100 sentences", "`s|1`"]
    words += [
        "| general | 17.3 | 19.1 | 12.00 ± 1.13 |",
        "| local-p, dot | 18.0 | 19.6 | - |",
        "| local-m, dot | - | - | - |",
    ]
    words.append("does not order all six")
    assert all(word in page for word in words)


def test_the_plot_tells_its_points_in_words(tmp_path, content):
    write_page(tmp_path, content)
    said = told(tmp_path / "scores.svg")
    assert said["title"] == "BLEU by what attention compares"
    assert said["desc"].startswith("none: BLEU 10; general: BLEU 12; location: BLEU 15; dot: BLEU 16")


def test_the_claim_alone_is_six_rows(tmp_path):
    write_page(tmp_path, made_up(variants=rows(Options(claimed=True))))
    page = (tmp_path / "index.md").read_text()
    assert "| local-m → local-p | +2.00 ± 0.00 | holds |" in page and "| cosine |" not in page
