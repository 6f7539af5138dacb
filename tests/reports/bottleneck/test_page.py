import pytest

from reports.pages import told, written_twice
from saccade.reports.bottleneck.copying import VECTOR
from saccade.reports.bottleneck.page import write_page
from tiers import rest_slow


def test_page_tells_claim_verdict_and_how_it_was_measured(content, tmp_path):
    names, page = written_twice(write_page, content, tmp_path)
    pictures = [f"bottleneck{which}.{kind}" for which in ("-bits", "-digits", "") for kind in ("png", "svg")]
    assert names == [*pictures, "index.html", "index.md"]
    words = ["1409.1259", "**reproduced**", "The vector has 64 numbers", "some digits", "| code | squared error |"]
    words += ["| with attention it falls by less than half of that | 5.0 ± 0.0 points | reproduced |"]
    words += [
        "5 claims together",
        "learned in 9 steps",
        "of 10 tokens 26 ± 0 bits come through one vector, of 1000 299 ± 0.",
    ]
    assert all(word in page for word in words)
    assert "attention: 99 at 10" in told(tmp_path / "a/bottleneck.svg")["desc"]
    assert "all there are: 33.22 (hollow) at 10" in told(tmp_path / "a/bottleneck-bits.svg")["desc"]
    assert told(tmp_path / "a/bottleneck-digits.svg")["desc"].startswith("7 rows of 10: the digits, 2 numbers")


@pytest.mark.parametrize("kept", rest_slow([2.0, -4.0]))
def test_bits_that_fall_with_the_length_are_no_vector_that_is_full(content, tmp_path, kept):
    for row in content["rows"]:
        if row["model"] == VECTOR:
            row["lengths"]["1000"]["bits"] = kept
    write_page(tmp_path, content)
    said = f"of 1000 {kept:.0f} ± 0, where one that is merely full would keep its 26."
    assert said in (tmp_path / "index.md").read_text(encoding="utf-8")
