"""The numbers that stand in the table: from counts and times to rates, and into a page."""

import json
from pathlib import Path

import pytest

from scripts import script

made = script("benchmarks/translate_table.py")

COUNTS = {"fixed": 7.0, "source": 5.0, "target": 3.0, "pair": 2.0}


def test_operations_of_a_sentence():
    assert made.operations(COUNTS, 2, 3) == 7 + 5 * 2 + 3 * 3 + 2 * 6
    assert made.operations(COUNTS, 2, 3, beam_size=4) == 7 + 5 * 2 + 4 * (3 * 3 + 2 * 6)


def test_training_counts_real_tokens_and_three_times_the_forward():
    rounds = [{"seconds": 2.0, "rate": 50.0, "batches": [([2, 1], [3, 2], 6), ([4], [4], 4)]}]
    found = made.training_rates(rounds, COUNTS)
    rate = 3 * sum(made.operations(COUNTS, *pair) for pair in ((2, 3), (1, 2), (4, 4))) / 2 / 1e9
    assert found == {
        "tokens": [9 / 2],
        "padded": [10 / 2],
        "gflops": [rate],
        "share": [rate / 50],
    }


def test_decoding_counts_every_beam():
    found = made.decoding_rates([{"seconds": 0.5, "rate": 100.0, "lengths": [3, 1]}], COUNTS, [2, 4], 5)
    useful = made.operations(COUNTS, 2, 3, 5) + made.operations(COUNTS, 4, 1, 5)
    assert found["sentences"] == [4.0]
    assert found["tokens"] == [8.0]
    assert found["written"] == [4]
    assert found["gflops"] == [useful / 0.5 / 1e9]
    assert found["share"] == pytest.approx([useful / 0.5 / 1e11])


def results():
    """A run of two rounds in which ours trains twice as fast and decodes four times as fast."""
    train = {
        name: [{"seconds": s, "rate": 90.0, "batches": [([2], [3], 4)]}] * 2
        for name, s in (("Saccade", 1), ("JoeyNMT", 2))
    }
    decode = {name: [{"seconds": s, "rate": 90.0, "lengths": [3]}] * 2 for name, s in (("Saccade", 1), ("JoeyNMT", 4))}
    facts = {name: {"parameters": 1e6, "counts": COUNTS} for name in ("Saccade", "JoeyNMT")}
    settings = {"beam_size": 5, "threads": 2, "seed": 1, "test_sentences": 1}
    bleu = {kind: {"Saccade": 2.0, "JoeyNMT": 1.0} for kind in ("greedy", "beam")}
    found = {"train": train, "greedy": decode, "beam": decode, "gflops": [100.0, 90.0, 110.0]}
    return made.summary(found, facts, settings, [2], bleu, {"joeynmt": "2.3.0", "torch": "2.13.0"})


def test_ratios_are_above_one_where_ours_is_faster():
    found = results()
    assert found["ratio"]["train"] == {"median": 2.0, "least": 2.0, "most": 2.0}
    assert found["ratio"]["beam seconds"]["median"] == 4.0
    assert found["share"]["train"]["Saccade"] == 2 * found["share"]["train"]["JoeyNMT"]


def test_every_row_of_the_table_has_as_many_cells():
    rows = [line for line in made.table(results()).splitlines() if line.startswith("|")]
    assert len(rows) == 18
    assert {row.count("|") for row in rows} == {5}


def test_the_table_replaces_only_text_between_the_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- measured -->\nold\n<!-- end of what was measured -->\nafter\n", encoding="utf-8")
    for text in ("first\n", "second\n"):
        made.write_into(page, text)
    lines = page.read_text(encoding="utf-8").split()
    assert lines[0] == "before"
    assert lines[-1] == "after"
    assert "second" in lines
    assert not {"old", "first"} & set(lines)


def test_a_page_without_marks_is_left_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("text\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="expected the lines"):
        made.write_into(page, "table")
    assert page.read_text(encoding="utf-8") == "text\n"


ROOT = Path(__file__).resolve().parents[2]
KEPT = sorted((ROOT / "benchmarks" / "results").glob("translate*.json"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_the_page_has_the_table_of_the_kept_run(path):
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert made.table(kept) in (ROOT / "docs" / f"benchmarks-{path.stem}.md").read_text(encoding="utf-8")
