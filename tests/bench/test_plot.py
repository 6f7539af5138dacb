import pytest

from bench.fake import row
from saccade.bench._plot import draw
from saccade.bench.row import Result
from saccade.errors import ArgumentError
from tiers import rest_slow

SIZES = [
    Result(row(size=size, shape=str(size), peer=peer), 1.0, 2.0, 2.0 + size / 9)
    for size in (32, 64)
    for peer in ("eager", "other")
]
SINGLE = Result(row(family="alone"), 1.0, 0.5, 0.5)


@pytest.mark.parametrize("results", rest_slow([[*SIZES, SINGLE, Result(row(), absent="ours: no")], SIZES, [SINGLE]]))
def test_the_plot_is_written_twice_and_told_in_words(results, tmp_path):
    png, svg = draw(results, tmp_path / "ratios", title="Ratios", note="a machine")
    assert png.read_bytes().startswith(b"\x89PNG")
    told = svg.read_text(encoding="utf-8")
    assert "<title>Ratios</title>" in told
    assert f"{results[0].row.family} {results[0].row.shape} beside {results[0].row.peer}: " in told


def test_nothing_to_draw_is_an_error(tmp_path):
    with pytest.raises(ArgumentError, match="expected one or more with a ratio, got none"):
        draw([Result(row(), absent="ours: no")], tmp_path / "ratios", title="Ratios")
    assert not list(tmp_path.iterdir())
