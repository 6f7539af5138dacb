"""The pictures of docs/additive-kernels.md are what their script draws, and show what the page says."""

import re
from pathlib import Path

import pytest

from scripts import script

matplotlib = pytest.importorskip("matplotlib")
ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "pictures"
PAGE = (ROOT / "docs" / "additive-kernels.md").read_text(encoding="utf-8")


SCRIPT = script("tools/draw_additive_kernels.py")
COMMITTED = sorted(path.stem for path in FOLDER.glob("additive-*.svg"))


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPT.PICTURES)
def test_the_script_draws_a_picture_again(name, tmp_path):
    if name in SCRIPT.MEASURED:
        pytest.importorskip("numba")
    (path,) = SCRIPT.draw(tmp_path, [name])
    drawn, committed = path.read_bytes(), (FOLDER / path.name).read_bytes()
    assert len(committed) < 100_000
    assert b"fill: #ffffff" in committed  # a light background whatever the page's
    made_by = f"Matplotlib v{matplotlib.__version__},".encode()
    if made_by in committed and name not in SCRIPT.MEASURED:
        assert drawn == committed, "run python tools/draw_additive_kernels.py"


def test_every_picture_is_on_the_page_and_described():
    shown = dict(re.findall(r"!\[([^\]]+)\]\(pictures/([\w-]+)\.svg\)", PAGE))
    assert sorted(shown.values()) == COMMITTED == sorted(SCRIPT.PICTURES)
    assert all(len(told) > 100 for told in shown)


def test_errors_are_as_the_page_says():
    pytest.importorskip("numba")
    found = SCRIPT.errors((1e-4, 1e-2, 0.3, 3.0, 100.0))
    kernel, plain = found["the kernel"], found["the plain formula"]
    assert max(kernel) < 1e-6
    assert all(ours < 5 * theirs for ours, theirs in zip(kernel, plain, strict=True))
    alone, four = found["the identity alone"], found["four terms a division, nothing else"]
    assert min(alone[0], four[0]) > 1e-4
    assert all(way[-1] != way[-1] for way in (alone, four))  # NaN


@pytest.mark.parametrize("a", [1.0, 0.5])
def test_newton_comes_from_one_side(a):
    steps = SCRIPT.newton(a)
    assert steps == sorted(steps)
    assert abs(sum(SCRIPT.weights_at(steps[-1], a)) - 1) < 1e-9
