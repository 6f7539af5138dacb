from html.parser import HTMLParser

from studies.frame import page
from studies.frame.claims import Verdict
from studies.frame.options import Direct
from studies.frame.page import clock
from studies.frame.study import Study, Work
from study_rows import content_of, run_of


class Found:
    verdict = Verdict("reproduced", "a < b")

    def __init__(self, content):
        self.content = content

    def fields(self):
        return {"scores": [["model", "score"], ["a|b", "1.0"]]}


def plot(result, folder):
    (folder / "a.svg").write_text("<?xml version='1.0'?>\n<svg><title>t</title></svg>")
    return {"picture": page.picture([folder / "a.png"], "caption")}


STUDY = Study(
    sentence="",
    title="A < B",
    claim="**bold** and `code <x>`, see https://example.org/a.",
    source="s",
    options=Direct,
    measure=lambda options: Work([]),
    compare=Found,
    plot=plot,
    body="""
{picture}

## Scores

{scores}

± is a
half.

## How it was measured

{runs}
""",
)


def ended(**budgets):
    return content_of("order", [run_of(name, budget=budget) for name, budget in budgets.items()], [])


def test_markdown_and_summary_have_the_same_numbers(tmp_path):
    page.publish(STUDY, ended(one={"max_steps": 5, "max_minutes": None}), tmp_path)
    text = (tmp_path / "index.md").read_text(encoding="utf-8")
    assert text.startswith(
        "# A < B\n\nThe claim: **bold** and `code <x>`, see https://example.org/a. (s)\n\n**reproduced**"
    )
    assert "| a\\|b | 1.0 |\n\n± is a half.\n\n## How" in text and "![caption](a.png)" in text
    assert page.summary(tmp_path) == "Scores\nmodel  score\na|b      1.0\n\n± is a half.\nreproduced: a < b."


def test_html_is_well_formed_and_fetches_nothing(tmp_path):
    page.publish(STUDY, ended(one={"max_steps": 5, "max_minutes": None}), tmp_path)
    text, opened, fetched = (tmp_path / "index.html").read_text(encoding="utf-8"), [], []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            fetched.extend(name for name, _ in attributes if name in ("src", "srcset"))
            if tag != "meta":
                opened.append(tag)
            assert tag != "link"

        def handle_endtag(self, tag):
            assert opened.pop() == tag

    Reader().feed(text)
    assert not opened and not fetched
    assert "<h1>A &lt; B</h1>" in text and "<strong>bold</strong>" in text and "<code>code &lt;x&gt;</code>" in text
    assert '<a href="https://example.org/a">' in text and "<svg>" in text and "<?xml" not in text
    assert "a|b</td>" in text


def test_runs_with_all_their_steps_need_no_caution():
    both = {"max_steps": 5, "max_minutes": 1.0}, {"max_steps": 5, "max_minutes": None}
    assert clock(ended(one=both[0], other=both[1])) == ""
    older = ended(one=both[0])
    del older["runs"]["one-1"]["budget"]
    assert clock(older) == ""


def test_page_and_summary_say_if_the_clock_ended_a_run(tmp_path):
    for budget in ({"max_steps": 6, "max_minutes": 1.0}, {"max_steps": None, "max_minutes": 1.0}):
        content = ended(one=budget, other={"max_steps": 9, "max_minutes": 1.0})
        content["runs"]["other-1"]["steps"] = 9
        page.publish(STUDY, content, tmp_path)
        caution = "The clock ended training, after 5 (one) to 9 (other) steps"
        assert f"\n\n**{caution}" in (tmp_path / "index.md").read_text(encoding="utf-8")
        assert page.summary(tmp_path).splitlines()[-1].startswith(caution)


def test_the_clock_did_not_end_a_run_without_patience():
    run = {"model": "a", "steps": 9, "budget": {"max_steps": 20, "max_minutes": 1.0}}
    assert "the clock ended training" in clock({"runs": {"a-1": {**run, "patient": False}}})
    assert clock({"runs": {"a-1": {**run, "patient": True}}}) == ""
