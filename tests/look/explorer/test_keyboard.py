"""Keyboard and mouse reach every control."""

import pytest

from look.explorer.books import hashed, near, plane


def test_tab_reaches_every_control(show, model):
    opened = show(model, hash_=hashed(minus=[0, 1, 0])).ready()
    script = """() => {
      const active = document.activeElement;
      return active === document.body ? -1 : [...document.querySelectorAll("*")].indexOf(active);
    }"""
    reached, before = [], None
    for _ in range(100):
        opened.page.keyboard.press("Tab")
        if (at := opened.frame.evaluate(script)) in (-1, before) or at in reached:
            break
        reached.append(before := at)
    controls = opened.frame.evaluate("""() => {
      const all = [...document.querySelectorAll("*")];
      const focusable = (each) => each.matches("select, button, input, [tabindex]") && each.tabIndex >= 0;
      return all.filter(focusable).map((each) => all.indexOf(each));
    }""")
    assert set(controls) == set(reached) and reached == sorted(reached)
    rings = opened.frame.evaluate("""() => [...document.querySelectorAll("select, button, canvas")].map((each) => {
      each.focus({ focusVisible: true });
      return getComputedStyle(each).outlineStyle;
    })""")
    assert set(rings) == {"solid"}, "a control without a visible focus"


def test_arrows_enter_and_escape_move_and_lock_the_cursor(show, model):
    opened = show(model).ready()
    opened.frame.locator(".matrix canvas").focus()
    press = opened.page.keyboard.press
    for key, cursor in [
        ("ArrowRight", [0, 0]), ("ArrowRight", [0, 1]), ("ArrowDown", [1, 1]), ("ArrowLeft", [1, 0]),
        ("ArrowLeft", [1, 0]), ("ArrowUp", [0, 0]), ("Shift+ArrowDown", [10, 0]), ("Shift+ArrowDown", [11, 0]),
    ]:  # fmt: skip
        press(key)
        opened.waits_for(cursor=cursor, locked=False)
    assert near(opened.readout(".", "the"), plane(model)[11, 0])
    press("Enter")
    opened.waits_for(locked=True)
    opened.point(3, 3)
    opened.page.mouse.move(1, 1)
    press("ArrowRight")
    opened.waits_for(cursor=[11, 1], locked=True)
    press("Escape")
    opened.waits_for(locked=False)


def test_plus_minus_and_0_zoom_and_keep_the_cursor_in_sight(show, model):
    opened = show(model).ready()
    whole = opened.geometry()["cell"]
    opened.frame.locator(".matrix canvas").focus()
    for key in ("ArrowDown", "+", "+"):
        opened.page.keyboard.press(key)
    opened.until(lambda: opened.geometry()["cell"] > 1.9 * whole)
    for _ in range(11):
        opened.page.keyboard.press("ArrowRight")
    opened.waits_for(cursor=[0, 11])
    opened.ready()
    at, box = opened.geometry(), opened.frame.locator(".matrix canvas").bounding_box()
    assert at["left"] + (12 - at["column"]) * at["cell"] <= box["width"] + 1
    opened.page.keyboard.press("-")
    opened.until(lambda: opened.geometry()["cell"] < at["cell"])
    opened.page.keyboard.press("0")
    opened.waits_for(view=None)
    opened.until(lambda: opened.geometry()["cell"] == whole)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("layer", {"layer": 1}),
        ("head", {"head": 1}),
        ("example", {"example": 1}),
        ("measure", {"measure": "distance"}),
        ("order", {"order": "largest"}),
        ("theme", {"theme": "light"}),
        ("minus", {"minus": [0, 0, 0]}),
    ],
)
def test_menus_by_keyboard(show, model, name, part):
    opened = show(model).ready()
    opened.frame.locator(f"select[name={name}]").focus()
    opened.page.keyboard.press("ArrowDown")
    opened.waits_for(**part)
    opened.ready()


def test_the_grid_the_list_tokens_and_lines_by_keyboard(show, model):
    opened = show(model).ready()
    press, focus = opened.page.keyboard.press, lambda selector: opened.frame.locator(selector).focus()
    focus("table [tabindex='0']")
    for key, place in [("ArrowDown", (1, 0)), ("ArrowRight", (1, 1)), ("ArrowUp", (0, 1)), ("ArrowUp", (0, 1))]:
        press(key)
        opened.waits_for(layer=place[0], head=place[1])
        opened.until("document.activeElement.classList.contains('on')")
    focus("[aria-label=Keys] [tabindex='0']")
    for column in (1, 2):
        press("ArrowRight")
        opened.waits_for(cursor=[0, column])
        opened.until(
            "document.activeElement.closest('[aria-label=Keys]') && document.activeElement.ariaPressed === 'true'"
        )
    focus("[aria-label=Queries] [tabindex='0']")
    press("ArrowRight")
    opened.waits_for(cursor=[1, 2])
    focus("[data-name=received] svg")
    press("ArrowLeft")
    opened.waits_for(cursor=[1, 1])
    opened.frame.locator("select[name=order]").select_option("largest")
    order = model.sheets[0].measures["entropy"][0].flatten().argsort(descending=True).tolist()
    focus("ol [tabindex='0']")
    press("Home")
    at = order.index(1)
    press("ArrowDown" if at + 1 < len(order) else "ArrowUp")
    layer, head = divmod(order[at + 1 if at + 1 < len(order) else at - 1], 4)
    opened.waits_for(layer=layer, head=head)


def test_buttons_by_keyboard(show, model):
    opened = show(model).ready()
    whole = opened.geometry()["cell"]
    opened.frame.get_by_role("button", name="Zoom in").focus()
    opened.page.keyboard.press("Enter")
    opened.until(lambda: opened.geometry()["cell"] > whole)
    opened.frame.get_by_role("button", name="All", exact=True).focus()
    opened.page.keyboard.press("Space")
    opened.until(lambda: opened.geometry()["cell"] == whole)
    opened.frame.get_by_role("button", name="CSV").focus()
    with opened.page.expect_download() as download:
        opened.page.keyboard.press("Enter")
    assert download.value.suggested_filename.endswith(".csv")


def test_the_mouse_drags_zooms_and_locks(show, model):
    opened = show(model, hash_=hashed(view=[2, 0, 90])).ready()
    at = opened.geometry()
    x, y = at["x"] + at["left"] + 200, at["y"] + at["above"] + 200
    opened.page.mouse.move(x, y)
    opened.page.mouse.down()
    opened.page.mouse.move(x - 45, y - 90, steps=3)
    opened.page.mouse.up()
    opened.until(lambda: abs(opened.geometry()["row"] - at["row"] - 1) < 0.05)
    assert opened.geometry()["column"] == pytest.approx(at["column"] + 0.5, abs=0.05)
    opened.waits_for(locked=False)  # a drag is no click
    opened.page.keyboard.down("Control")
    opened.page.mouse.wheel(0, 200)
    opened.page.keyboard.up("Control")
    opened.until(lambda: opened.geometry()["cell"] < 90)
    opened.page.mouse.click(x, y)
    opened.waits_for(locked=True)
