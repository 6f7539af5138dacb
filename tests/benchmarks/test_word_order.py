"""What is kept of the order in which translators read is what the page tells, and shares are of crossed pairs."""

import importlib
import json
from pathlib import Path

import pytest
import torch

from saccade import runs
from tiers import rest_slow

ROOT = Path(__file__).resolve().parents[2]
PAIRS = [(f"satz {number} hier", f"here sentence {number}") for number in range(60)]
TINY = {"hidden_dim": 8, "embedding_dim": 6, "max_steps": 1, "device": "cpu", "tokenizer": "words"}


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("word_order")


def test_the_page_has_the_table_of_the_kept_runs(script):
    kept = json.loads((ROOT / "results/multi30k-de-en/word-order.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    assert all(len(row["shares"]) == kept["sentences"] for row in kept["rows"])
    assert all(script.summed(row["shares"]).items() <= row.items() for row in kept["rows"])
    assert script.table(kept).partition("\n\n")[2] in page


@pytest.mark.parametrize(
    ("most", "share"), [((0, 1, 2), 0.0), ((2, 1, 0), 1.0), ((1, 0, 2), 1 / 3), ((0, 0, 0), 0.0), ((1,), None)]
)
def test_a_share_is_of_the_pairs_that_are_crossed(script, most, share):
    weights = torch.eye(3)[list(most)]
    found = script.share(weights, ["a", "b", "c"], ["x", "y", "z"][: len(most)], pieces=False)
    assert found is None if share is None else found == pytest.approx(share)


def test_pieces_are_words_before_they_are_counted(script):
    """x y is one word, which reads c; z reads a."""
    weights = torch.tensor([[0.1, 0.2, 0.7], [0.1, 0.2, 0.7], [0.9, 0.1, 0.0]])
    assert script.share(weights, ["a", " b", " c"], ["x", "y", " z"], pieces=True) == 1.0


@pytest.mark.parametrize(
    ("model", "ways"), rest_slow([("rnnsearch", ["attention", "gradient"]), ("encoder-decoder", ["gradient"])])
)
def test_a_run_is_looked_at_by_all_ways_that_it_has(script, model, ways, tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    for split, count in (("train", 50), ("val", 5), ("test", 5)):
        for side, language in enumerate(("de", "en")):
            lines = "".join(f"{pair[side]}\n" for pair in PAIRS[:count])
            (folder / f"{split}.{language}").write_text(lines, encoding="utf-8")
    run = runs.train("translate", data=str(folder), source="de", target="en", model=model, run=tmp_path / "run", **TINY)
    rows = script.measured(run.folder, 4)
    assert [row["by"] for row in rows] == ways and all(len(row["shares"]) == 4 for row in rows)
    assert all(row["model"] == model and row["steps"] == 1 for row in rows)
    assert f"| {model} | 1 |" in script.table({"sentences": 4, "rows": rows})


def test_means_are_of_sentences_with_a_pair(script):
    """Of 0, 10 and 20%: a mean of 10, a standard error of 10/√3, and t = 4.303 of two degrees of freedom."""
    found = script.summed([0.0, None, 0.1, 0.2])
    assert (found["crossed"], found["any"]) == (pytest.approx(0.1), pytest.approx(2 / 3, abs=1e-5))
    assert found["half"] == pytest.approx(4.303 * 0.1 / 3**0.5, rel=1e-3)
