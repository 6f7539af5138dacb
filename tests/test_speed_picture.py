"""docs/pictures/speed.png has the ratios of the files of results, and stands where readers look for speed."""

import json
import re

import pytest

from commands import PAGES, ROOT
from scripts import script

matplotlib = pytest.importorskip("matplotlib")
SCRIPT = script("tools/draw_speed.py")


def test_its_numbers_are_those_of_the_files():
    files = {name: (ROOT / f"results/benchmarks/attention-{name}.json").read_text() for name in ("cpu", "h200", "gpu")}
    rows = {(name, row["row"], row["peer"]): row["ratio"] for name in files for row in json.loads(files[name])["rows"]}
    cases = SCRIPT.cases()
    assert len(cases) == len(SCRIPT.ROWS) == 10
    for case, (label, row, peer) in zip(cases, SCRIPT.ROWS, strict=True):
        file = "h200" if case.card == "H200" else "gpu"
        assert case == (label, rows["cpu", row, peer], rows[file, row, peer], case.card)
    assert [case.card for case in cases] == ["H200"] * 8 + ["H100"] * 2  # as the legend has it


def test_rows_of_replaced_kernels_are_rejected():
    with pytest.raises(ValueError, match="replaced"):
        SCRIPT._ratio({("a", "b"): {"ratio": 2.0, "replaced": True}}, ("a", "b"))


@pytest.mark.parametrize("page", ["README.md", "docs/benchmarks.md"])
def test_it_is_shown_and_described(page):
    [told] = re.findall(r"!\[([^\]]+)\]\([\w/]*pictures/speed\.png\)", PAGES[page])
    gpu = [case.gpu for case in SCRIPT.cases()]
    assert f"{max(case.cpu for case in SCRIPT.cases()):.0f}" in told and f"{min(gpu):.2f}" in told


@pytest.mark.slow
def test_the_script_draws_the_committed_picture(tmp_path):
    numpy, image = pytest.importorskip("numpy"), pytest.importorskip("PIL.Image")
    SCRIPT.draw(tmp_path / "speed.png")
    if f"Matplotlib version{matplotlib.__version__},".encode() in SCRIPT.PICTURE.read_bytes():
        drawn, committed = (numpy.asarray(image.open(path)) for path in (tmp_path / "speed.png", SCRIPT.PICTURE))
        assert numpy.array_equal(drawn, committed), "run python tools/draw_speed.py"
