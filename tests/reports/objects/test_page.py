from reports.objects.conftest import holds
from reports.pages import written_twice
from saccade.reports.objects.page import write_page


def test_the_page_says_everything_and_is_the_same_again(tmp_path):
    files, page = written_twice(write_page, holds(), tmp_path)
    plots = [f"objects-{key}.{kind}" for key in ("exact-match", "things-named") for kind in ("png", "svg")]
    assert files == ["index.html", "index.md", *plots]
    words = ["1502.03044", "1409.0473", "**reproduced**", "480 images of 1 to 4 things", "with one thing more"]
    words += ["6 claims together", "Parameters and seconds are not equal, show-attend-and-tell "]
    assert all(word in page for word in words)
