"""Pictures are what the code of their pages draws; numbers of masks-as-work are those of library and benchmark."""

import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

from saccade._call import block_map
from saccade.backends import cpu, sdpa
from saccade.backends.blockwise import plan
from saccade.backends.sdpa import documents
from scripts import script
from tiers import every

matplotlib = pytest.importorskip("matplotlib")
Image = pytest.importorskip("PIL.Image")
ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "pictures"
PAGE = (ROOT / "docs" / "masks-as-work.md").read_text(encoding="utf-8")


def pixels(png):
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


@pytest.mark.slow
def test_pages_draw_their_pictures_again(tmp_path):
    paths = script("tools/draw_page_examples.py").draw(tmp_path)
    others = [FOLDER / "pairs-of-masks.png", FOLDER / "kernels.png"]
    assert sorted(path.name for path in paths) == sorted(path.name for path in (*FOLDER.glob("masks-*.png"), *others))
    for path in paths:
        drawn, committed = path.read_bytes(), (FOLDER / path.name).read_bytes()
        assert len(committed) < 100_000
        if f"Matplotlib version{matplotlib.__version__},".encode() in committed:
            assert np.array_equal(pixels(drawn), pixels(committed)), "run python tools/draw_page_examples.py"


def test_every_picture_is_on_the_page_and_described():
    shown = dict(re.findall(r"!\[([^\]]+)\]\(pictures/([\w-]+)\.png\)", PAGE))
    assert sorted(shown.values()) == sorted(path.stem for path in FOLDER.glob("masks-*.png"))
    assert all(len(told) > 50 for told in shown)


@every(
    ("told", "value"),
    [
        ("a block of 64 queries and 64 keys", plan.SIZE == 64),
        (f"fewer than {plan.LEAST:,} pairs a head", True),
        ("more than four fifths of the pairs", plan.SPARSE == 0.8),
        ("at most a tenth more pairs", plan.SLACK == 1.1),
        (f"more than {plan.APART} times the blocks", True),
        (f"an entry has {plan.ENTRY:,} pairs or more", True),
        (f"more than {sdpa.MANY:,} pairs in all and at most half", sdpa.HALF_EMPTY == 0.5),
        (f"from {documents.LEAST:,} pairs a head on, if documents have {documents.SHORT} queries or keys", True),
        (f"calls of up to {cpu.AT_ONCE:,} pairs", True),
        ("those of 16 times the size", block_map.COARSE == 16),
    ],
)
def test_limits_are_those_of_the_library(told, value):
    assert told in " ".join(PAGE.split()) and value


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("dot, window 128 forward", "under `Window(128, 0)` is {} times as fast as torch's kernel"),
        ("additive, window 128 forward", "additive scores are {} times as fast under that window as without a mask"),
        ("additive, causal forward", "and {} times under a causal mask"),
    ],
)
def test_measured_ratios_are_those_of_the_benchmark(row, told):
    found = json.loads((ROOT / "results/benchmarks/masks-cpu.json").read_text(encoding="utf-8"))
    (ratio,) = (result["ratio"] for result in found["rows"] if result["family"] == row)
    assert told.format(f"{ratio:.2f}") in " ".join(PAGE.split())
    assert (found["machine"]["threads"], found["rows"][0]["shape"]) == (2, "1x8x8192x64")
