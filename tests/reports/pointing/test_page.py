from reports.pages import written_twice
from reports.pointing.conftest import made_up
from saccade.reports.pointing.page import write_page


def test_the_page_says_everything_and_is_the_same_again(tmp_path):
    files, page = written_twice(write_page, made_up(), tmp_path)
    assert files == ["index.html", "index.md", "pointing.png", "pointing.svg"]
    words = ["1902.10186", "1908.04626", "1906.03731", "**reproduced**", "of 4 × 5", "5 orders"]
    words += ["same image's ground", "by any things", "4 claims together"]
    assert all(word in page for word in words)
