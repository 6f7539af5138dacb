from reports.glimpses.test_findings import content
from reports.pages import written_twice
from saccade.reports.glimpses.page import write_page


def test_the_page_says_everything_and_is_the_same_again(tmp_path):
    files, page = written_twice(write_page, content(), tmp_path)
    assert {name.partition(".")[0] for name in files} == {"glimpses", "index"}
    words = ["1406.6247", "**reproduced**", "The eye errs on", "8.09 − 4.08", "could not be checked"]
    assert all(word in page for word in words)
