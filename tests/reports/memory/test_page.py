from reports.memory.conftest import holds
from reports.pages import told, written_twice
from saccade.reports.memory.page import write_page


def test_the_page_says_everything_and_is_the_same_again(tmp_path):
    files, page = written_twice(write_page, holds(), tmp_path)
    plots = [f"memory{which}.{kind}" for which in ("-addressing", "") for kind in ("png", "svg")]
    assert files == ["index.html", "index.md", *plots]
    words = [
        "1410.5401",
        "**reproduced**",
        "100 of 120",
        "of 3 claims the intervals",
        "at most 1 in 100 bits more wrong",
    ]
    words += ["over seeds and sequences together", "Seeds: 1, 2, 3", "Bits a sequence, by vectors"]
    assert all(word in page for word in words)


def test_no_bits_wrong_are_drawn_where_a_logarithm_has_place_for_them(tmp_path):
    write_page(tmp_path, holds())
    kinds, addressing = (told(tmp_path / f"memory{which}.svg")["desc"] for which in ("", "-addressing"))
    assert "ntm: 0.0001 at 20, 0.0001 at 40" in kinds and "transformer" in kinds and "content" not in kinds
    assert "ntm, content alone: 0.019" in addressing and "lstm" not in addressing
