from bench.fake import MACHINE, PLACE, row
from saccade.bench.page import page
from saccade.bench.row import Result
from saccade.bench.rows import rows


def test_a_page_has_a_table_for_each_subject():
    results = [
        Result(row(subject="additive"), 1e-3, 3e-3, 3.0),
        Result(row(), 1e-3, absent="other: a|b"),
        Result(row(subject="additive", peer="third"), 1e-3, 1e-3, 1.0),
    ]
    text = page(results, MACHINE, "saccade bench --page page.md", "plots/p.png")
    assert text.startswith("# What was measured\n\n```bash\nsaccade bench --page page.md\n```\n")
    assert "x86, 1 thread, torch 2; a plain multiply reaches 100 GFLOP/s, a copy 10 GB/s." in text
    assert "![Ratios over sizes](plots/p.png)" in text
    assert text.index("## Additive attention") < text.index("third") < text.index("## Dot scores")
    assert r"absent: other: a\|b" in text
    rules = [line for line in text.splitlines() if line.startswith("|---")]
    assert rules == ["|---|---|---:|---:|---:|---:|---:|---|"] * 2
    assert "targets: 1 met, 1 missed, 1 not measured." in text
    assert "![" not in page(results, MACHINE, "saccade bench")


def test_every_subject_that_is_measured_has_a_title():
    subjects = dict.fromkeys(row.subject for row in rows(PLACE))
    text = page([Result(row(subject=subject), 1e-3, 1e-3, 1.0) for subject in subjects], MACHINE, "saccade bench")
    assert text.count("\n## ") == len(subjects)
