from saccade.tasks.text.markup import without_markup
from tiers import every


@every(
    ("text", "plain"),
    [
        ("a<br />b<br/>c<BR>d", "a b c d"),
        ("<p class='x'>good</p>", " good "),
        ("a <!-- hidden <b> --> b", "a   b"),
        ("1 < 2 and 3 > 2, i <3 it", "1 < 2 and 3 > 2, i <3 it"),
        ("rock &amp; roll &#233; &unknown;", "rock & roll é &unknown;"),
        ("&lt;br&gt;", "<br>"),
        ("<" * 50_000, "<" * 50_000),
        ("<!-- a <!-- b --> c <!-- d", "  c <!-- d"),
        ("<!--" * 50_000, "<!--" * 50_000),
    ],
)
def test_tags_are_spaces_and_what_only_looks_like_one_stays(text, plain):
    assert without_markup(text) == plain
