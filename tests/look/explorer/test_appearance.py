"""The page's appearance by its geometry, colours and fonts, and by axe."""

from pathlib import Path

import pytest
import torch

from look.explorer.books import HOSTILE, TOKENS, book, calls, encoded, hashed, planes, weighted
from look.explorer.test_parts import channels, contrast
from look.explorer.test_views import bands, bars, curve, maps, path, sound, words
from saccade import AuxRequest
from saccade.look._explorer.sheets import Book

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
CHECKS = (Path(__file__).parent / "checks.js").read_text(encoding="utf-8")
WIDTHS = (1400, 900, 400)
STATES = {
    "start": {},
    "cursor": {"cursor": [3, 7], "locked": True},
    "difference": {"cursor": [3, 7], "minus": [0, 2, 1]},
    "beside": {"cursor": [3, 7], "minus": [0, 2, 1], "compare": "beside"},
    "ordered": {"order": "largest", "view": [2, 1, 60]},
}


def read(name):
    """A function of checks.js, as an expression."""
    return f"() => {{ {CHECKS}\nreturn {name}(); }}"


def failing():
    made = book(encoded(layers=1), TOKENS)
    message = made.message
    made.message = lambda request: message({**request, "layer": 99})
    return made


def foreign():
    made = book(encoded(layers=1), TOKENS)
    made.manifest = lambda: {"format": 7}
    return made


BOOKS = {
    "model": lambda: book(encoded(), TOKENS, title="A model with <some> layers"),
    "many heads": lambda: book(encoded(layers=6, heads=32), TOKENS),
    "long": lambda: book(encoded(tokens=len(HOSTILE), layers=2), HOSTILE, title="A very long title " * 9),
    "lines alone": lambda: book(encoded(aux=AuxRequest(entropy=True)), TOKENS),
    "largest alone": lambda: book(encoded(aux=AuxRequest(top=3)), TOKENS),
    "one head": lambda: book(calls(weighted(5, 7), kind="cross")),
    "one cell": lambda: book(calls(weighted(1, 1))),
    "wide": lambda: planes(torch.rand(3, 900)),
    "tall": lambda: planes(torch.rand(900, 3)),
    "sheets": lambda: Book("Sheets", [*book(encoded(), TOKENS).sheets, *book(encoded(tokens=7)).sheets]),
    **{f"view of {view.__name__}": view for view in (words, maps, path, bands, sound, curve, bars)},
    "failing": failing,
    "foreign": foreign,
}


def opened_with(show, name, **options):
    host = "widget" if name in ("failing", "foreign") else "file"
    opened = show(BOOKS[name](), host, **options)
    if name in ("failing", "foreign"):
        opened.frame.get_by_role("alert").first.wait_for()
    else:
        opened.ready()
    return opened


CASES = [(name, {}) for name in BOOKS] + [("model", state) for state in STATES.values() if state]
IDS = [*BOOKS, *(f"model, {name}" for name in STATES if name != "start")]
FAST = [
    pytest.param(*case, id=name, marks=[pytest.mark.slow] * (name not in ("long", "failing", "model, beside")))
    for case, name in zip(CASES, IDS, strict=True)
]


@pytest.mark.slow  # axe looks at every element
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("name", "state"), CASES, ids=IDS)
def test_axe_finds_no_violation(show, name, state, theme):
    opened = opened_with(show, name, theme=theme, hash_=hashed(**state))
    opened.frame.evaluate(AXE.read_text(encoding="utf-8"))
    whole = opened.address.startswith("file:")  # a notebook has landmarks and headings of its own
    rules = {name: {"enabled": whole} for name in ("region", "landmark-one-main", "page-has-heading-one")}
    answer = opened.frame.evaluate("(rules) => axe.run(document, { rules })", rules)
    assert answer["passes"]
    violations = [
        f"{each['impact']} {each['id']}: {node['html'][:120]} {node['failureSummary'][:300]}"
        for each in answer["violations"]
        if each["impact"] in ("serious", "critical", "moderate")
        for node in each["nodes"]
    ]
    assert not violations, "\n".join(violations)


@pytest.mark.parametrize(("name", "state"), FAST)
def test_nothing_is_clipped_or_overlaps(show, name, state):
    opened = opened_with(show, name, hash_=hashed(**state))
    for width in WIDTHS:
        opened.page.set_viewport_size({"width": width, "height": 1000})
        opened.until(f"innerWidth === {width}")
        if name not in ("failing", "foreign"):
            opened.ready()
        assert opened.frame.evaluate(read("geometry")) == [], width


@pytest.mark.parametrize(("name", "state"), FAST)
def test_there_is_one_scale_of_type(show, name, state):
    opened = opened_with(show, name, hash_=hashed(**state), script=f"{CHECKS} watchText();")
    types = opened.frame.evaluate(read("types"))
    assert set(types["sizes"]) <= {"12px", "14px", "18px"} and types["sizes"]
    assert len(types["families"]) == 1
    assert {each["font"] for each in types["drawn"]} <= {"12px system-ui, sans-serif"}
    assert not [each for each in types["drawn"] if each["squeezed"]]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("name", "state"), FAST)
def test_text_is_readable_and_one_colour_accents(show, name, state, theme):
    opened = opened_with(show, name, theme=theme, hash_=hashed(**state), script=f"{CHECKS} watchText();")
    page = opened.frame.evaluate(read("colours"))
    assert page["pairs"]
    for text, ground, shown in page["pairs"]:
        assert contrast(text, ground) >= 4.5, shown
    for border, ground, tag in page["borders"]:
        assert contrast(border, ground) >= 3, f"{tag} without a visible border"  # WCAG 2.2, 1.4.11
    named = {key: channels(value) for key, value in page["named"].items()}
    for colour in set(page["canvas"]):
        assert contrast(channels(colour), named["raised"]) >= 4.5
    vivid = [colour[:3] for colour in page["colours"] if max(colour[:3]) - min(colour[:3]) > 64]
    assert [colour for colour in vivid if colour not in (named["accent"], named["wrong"])] == []


FAULTS = {
    "clipped": ".saccade h2 { width: 20px; overflow: hidden; overflow-wrap: normal; white-space: nowrap; }",
    "wide": ".saccade .panel { width: 2000px; }",
    "overlap": ".saccade .readout { margin-top: -30px; }",
    "apart": ".saccade label { gap: 60px; }",
    "outside": ".saccade h1 { margin-left: -40px; }",
}


@pytest.mark.parametrize(
    "fault", [next(iter(FAULTS)), *(pytest.param(f, marks=pytest.mark.slow) for f in [*FAULTS][1:])]
)
def test_the_check_of_geometry_notices_faults(show, fault):
    opened = opened_with(show, "model", hash_=hashed(cursor=[1, 1]))
    assert opened.frame.evaluate(read("geometry")) == []
    opened.page.add_style_tag(content=FAULTS[fault])
    assert opened.frame.evaluate(read("geometry"))


def test_the_theme_follows_the_system_and_the_menu(show):
    opened = opened_with(show, "model", theme="dark")
    saccade = opened.frame.locator(".saccade")
    assert saccade.get_attribute("data-theme") == "dark"
    opened.page.emulate_media(color_scheme="light")
    opened.until(lambda: saccade.get_attribute("data-theme") == "light")
    opened.frame.locator("select[name=theme]").select_option("dark")
    opened.until(lambda: saccade.get_attribute("data-theme") == "dark")
    edge = opened.page.screenshot(clip={"x": 1396, "y": 996, "width": 4, "height": 4})
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    import io

    assert max(image.open(io.BytesIO(edge)).convert("RGB").getpixel((1, 1))) < 64, "the page is dark to its edges"


def test_the_page_fits_a_narrow_notebook_cell(show):
    opened = show(BOOKS["model"](), "widget", width=1400).ready()
    opened.page.evaluate("document.getElementById('cell').style.width = '420px'")
    opened.until("document.querySelector('.split').getBoundingClientRect().width < 420")
    opened.until("document.querySelectorAll('.split > *')[1].getBoundingClientRect().left < 60")
    opened.ready()
    widths = "[...document.querySelectorAll('.saccade *')].map((each) => each.getBoundingClientRect().right)"
    assert max(opened.frame.evaluate(widths)) <= 420
