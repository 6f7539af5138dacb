"""Diagrams of models have the names and sizes of the modules, and the committed ones are up to date."""

import re
from pathlib import Path

import pytest

from saccade.models import ntm, ram, rnnsearch
from saccade.models.memorizer import Sizes
from scripts import script

matplotlib = pytest.importorskip("matplotlib")
ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "pictures"
SCRIPT = script("tools/draw_diagrams.py")


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPT.DIAGRAMS)
def test_the_script_draws_a_diagram_again(name, tmp_path):
    (path,) = SCRIPT.draw(tmp_path, [name])
    drawn, committed = path.read_bytes(), (FOLDER / path.name).read_bytes()
    assert len(committed) < 120_000
    if f"Matplotlib v{matplotlib.__version__},".encode() in committed:
        assert drawn == committed, "run python tools/draw_diagrams.py"


def test_every_diagram_is_on_a_page_and_described():
    texts = (page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md"))
    shown = [found for text in texts for found in re.findall(r"!\[([^\]]+)\]\(pictures/diagram-([\w-]+)\.svg\)", text)]
    assert sorted(name for _, name in shown) == sorted(SCRIPT.DIAGRAMS)
    assert all(len(described) > 100 for described, _ in shown)


def test_sizes_are_those_of_the_module():
    agent = ram.Ram(
        3, 7, ram.Options(patch=6, scales=2, glimpse_dim=20, hidden_dim=48, core="lstm", combine="multiply")
    )
    story = "; ".join(SCRIPT.glimpses(agent).story())
    assert "2 of 6 × 6 pixels" in story and "216 → 20 → 48" in story and "48 → 7" in story
    assert "relu(what · where)" in story and "baseline" not in story
    translator = rnnsearch.RNNSearch(9, 7, rnnsearch.Options(hidden_dim=10, embedding_dim=6))
    story = "; ".join(SCRIPT.additive(translator).story())
    assert "Uₐ, attention.key_projection 10 → 10 → tanh(Wₐ s′ᵢ + Uₐ hⱼ)" in story and "source_embedding 9 × 6" in story
    computer = ntm.NTM(Sizes(5, 3), ntm.Options(hidden_dim=8, cells=11, cell_dim=4, read_heads=2))
    story = "; ".join(SCRIPT.memory(computer).story())
    assert "2 read, 1 write" in story and "11 × 4" in story and "memory.heads 8 → 38" in story


@pytest.mark.parametrize("name", SCRIPT.DIAGRAMS)
def test_a_parameter_without_a_box_is_noticed(name):
    diagram = SCRIPT.DIAGRAMS[name]()
    assert not diagram.missing()
    left_out = next(key for key, box in reversed(diagram.boxes.items()) if box.parts)
    parts = diagram.boxes.pop(left_out).parts
    assert diagram.missing() and all(name.startswith(parts) for name in diagram.missing())
