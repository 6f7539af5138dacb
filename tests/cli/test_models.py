"""Every model of a task through the shared verbs: trained, measured, asked and drawn."""

import json

import pytest

from saccade.cli import main
from saccade.tasks.translate import TRANSLATE
from tiers import rest_slow

TRANSFORMER = ["--hidden-dim", "32", "--layers", "1", "--feedforward-dim", "48", "--heads", "2"]
SMALL = {
    "rnnsearch": ["--hidden-dim", "32", "--embedding-dim", "16"],
    "encoder-decoder": ["--hidden-dim", "32", "--embedding-dim", "16"],
    "luong": ["--hidden-dim", "32", "--embedding-dim", "16"],
    "transformer": TRANSFORMER,
    "bytenet": ["--hidden-dim", "16", "--sets", "1", "--max-dilation", "4"],
}


def train(run, model, *more):
    shared = ["--data", "dates", "--model", model, "--run", str(run), "--batch-tokens", "600", "--dropout", "0.2"]
    return main(["train", "translate", *shared, *SMALL[model], *map(str, more)])


def test_all_models_are_here():
    assert set(SMALL) == set(TRANSLATE.models)


@pytest.mark.parametrize("model", rest_slow(SMALL))
def test_the_verbs_do_with_it_what_they_do(model, tmp_path, capsys):
    run = tmp_path / "run"
    assert train(run, model, "--max-steps", 4) == 0
    capsys.readouterr()
    assert main(["eval", str(run), "--split", "validation"]) == 0
    assert "exact match on validation: " in capsys.readouterr().out
    assert main(["predict", str(run), "18 juin 2025", "--beam-size", "3", "--nbest", "2"]) == 0
    assert len(capsys.readouterr().out.splitlines()) >= 2
    attends = model not in ("encoder-decoder", "bytenet")
    assert main(["predict", str(run), "18 juin 2025", "--json"]) == 0
    [best, *_] = json.loads(capsys.readouterr().out)["translations"]
    assert (best["weights"] is not None) == attends
    if attends:
        assert len(best["weights"]) == len(best["tokens"])
        assert all(sum(row) == pytest.approx(1, abs=1e-4) for row in best["weights"])
    assert main(["look", str(run), "18 juin 2025", "--output", str(tmp_path / "pictures")]) == 0
    assert len(list(tmp_path.glob("pictures/*.png"))) == 1
    [drawn] = tmp_path.glob("pictures/*.svg")
    assert ("gradient" in drawn.read_text()) == (not attends)
