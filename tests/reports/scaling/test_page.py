from reports.pages import written_twice
from reports.scaling.test_findings import content
from saccade.reports.scaling.page import write_page


def test_the_page_says_everything_and_is_the_same_again(tmp_path):
    files, page = written_twice(write_page, content(), tmp_path)
    assert {name.partition(".")[0] for name in files} == {"index", "scaling"}
    words = ["1406.6247", "**reproduced**", "6 × 2,304 pixels", "| ram | 200 | 80.00 |", "power of the pixels"]
    assert all(word in page for word in words)
