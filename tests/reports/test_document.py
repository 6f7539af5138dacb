from html.parser import HTMLParser

from saccade.reports.document import Code, Heading, Picture, Table, Text, html, markdown

PARTS = [
    Heading("A < B", 1),
    Text("**bold** and `code <x>`, see https://example.org/a."),
    Code(["saccade report length --data 'a b'"]),
    Table(["model", "score"], [["a|b", "1.0"]]),
    Picture("a.png", "<?xml version='1.0'?>\n<svg><title>t</title></svg>", "caption"),
]


def test_markdown():
    text = markdown(PARTS)
    assert text.startswith("# A < B\n\n**bold** and `code <x>`")
    assert "```bash\nsaccade report length --data 'a b'\n```" in text
    assert "| a\\|b | 1.0 |" in text and "![caption](a.png)" in text and text.endswith(")\n")


def test_html_is_well_formed_and_fetches_nothing():
    text = html("A < B", PARTS)
    opened, fetched = [], []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            fetched.extend(name for name, _ in attributes if name in ("src", "srcset"))
            if tag not in ("meta", "link"):
                opened.append(tag)
            assert tag != "link"

        def handle_endtag(self, tag):
            assert opened.pop() == tag

    Reader().feed(text)
    assert not opened and not fetched
    assert "<h1>A &lt; B</h1>" in text and "<strong>bold</strong>" in text and "<code>code &lt;x&gt;</code>" in text
    assert '<a href="https://example.org/a">' in text and "<svg>" in text and "<?xml" not in text
