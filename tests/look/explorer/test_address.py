"""The URL holds the state."""

import pytest

from look.explorer.books import TOKENS, hashed, near, plane

FULL = {
    "layer": 2,
    "head": 3,
    "example": 1,
    "measure": "distance",
    "order": "largest",
    "cursor": [4, 5],
    "locked": True,
    "view": [1, 1, 60],
    "minus": [0, 1, 1],
    "compare": "beside",
    "theme": "dark",
}


@pytest.mark.parametrize("host", ["file", "server"])
def test_the_url_restores_the_state(show, model, host):
    opened = show(model, host, hashed(**FULL)).ready()

    def holds():
        controls = opened.frame.locator("select").evaluate_all(
            "all => Object.fromEntries(all.map((each) => [each.name, each.value]))"
        )
        assert controls == {"layer": "2", "head": "3", "example": "1", "measure": "distance", "order": "largest",
                            "minus": "0,1,1", "compare": "beside", "theme": "dark"}  # fmt: skip
        assert opened.frame.locator(".saccade").get_attribute("data-theme") == "dark"
        assert "(locked)" in opened.frame.locator(".readout").inner_text()
        assert near(opened.readout("the", "mat"), plane(model, layer=2, head=3, example=1)[4, 5])
        at = opened.geometry()
        assert (at["row"], at["column"], at["cell"]) == (1, 1, 60)

    holds()
    opened.frame.locator("select[name=head]").select_option("2")
    opened.waits_for(head=2)
    opened.frame.locator("select[name=head]").select_option("3")
    opened.waits_for(**FULL)
    opened.page.reload()
    opened.ready()
    holds()
    opened.page.evaluate("location.hash = encodeURIComponent(JSON.stringify({ layer: 1 }))")
    opened.until("document.querySelector('select[name=layer]').value === '1'")


WRONG = [
    "#%", "#{", "#null", "#7", "#%22text%22", "#[1]", "#%7B%22sheet%22%3A9%7D",
    *(hashed(**state) for state in [
        {"sheet": -1, "layer": 99, "head": 0.5, "example": "1"},
        {"layer": None, "head": [1], "cursor": [99, 0], "locked": True},
        {"cursor": "ab", "view": [0, 0, 0], "minus": [0, 0]},
        {"cursor": [0.5, 1], "view": [1e308, -1e308, 1e308], "minus": [0, 99, 0]},
        {"view": [None, 0, 5], "minus": [0, 0, 99], "theme": "red", "measure": "constructor", "order": "toString"},
        {"view": [5, 5, 1e-300], "minus": [9, 0, 0], "compare": 7},
        {"__proto__": {"layer": 1}, "constructor": 1},
    ]),
]  # fmt: skip


@pytest.mark.slow  # some seconds
def test_a_wrong_url_shows_the_nearest_state(show, model):
    opened = show(model).ready()
    for hash_ in WRONG:
        opened.page.goto("about:blank")
        opened.page.goto(f"{opened.address}{hash_}")
        opened.ready()
        assert opened.frame.locator(".error").count() == 0, hash_
        at = opened.geometry()
        row, column = int(at["row"] + 1), int(at["column"] + 1)
        opened.page.mouse.move(1, 1)
        opened.point(row, column)
        assert near(opened.readout(TOKENS[row], TOKENS[column]), plane(model)[row, column]), hash_
