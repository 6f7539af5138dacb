"""Every row of the published pages about speed is that of its file, and what they say of targets."""

import json
from pathlib import Path

from saccade.bench._page import cells, summary
from saccade.bench.row import Result, Row, Target, Work
from scripts import script
from tiers import every

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    "normalizers-cpu": "normalizers",
    "lazy-cpu": "lazy",
    "memory-cpu": "memory",
    "regression-cpu": "regression",
    "experts-cpu": "experts",
    "masks-cpu": "masks",
    "steps-cpu": "steps",
    "small-cpu": "small",
    "half-cpu": "half",
    "top-cpu": "top",
    "sum-cpu": "plain-sum",
}


def nothing(*_):
    raise AssertionError("a published row is not measured")


def result_of(told):
    """The result that a row of the file was written from."""
    amount = None if told["speed"] is None else told["speed"] * told["ours"]
    work = None if amount is None else Work(amount, told["speed_unit"].removesuffix("/s"), "")
    row = Row(
        **{name: told[name] for name in ("subject", "family", "shape", "peer")},
        inputs=nothing,
        ours=nothing,
        theirs=nothing,
        work=work,
        targets=tuple(Target(text, lambda _: told["met"], beside=False) for text in told["targets"]),
        memory=told["unit"] == "bytes",
    )
    known = {name: told[name] for name in ("ours", "ratio", "limit", "absent")}
    return Result(row, peer=told["theirs"], **known)


@every("name", PAGES)
def test_a_page_has_the_rows_of_its_file_and_no_others(name):
    page = (ROOT / f"results/benchmarks/{PAGES[name]}.md").read_text(encoding="utf-8")
    found = json.loads((ROOT / f"results/benchmarks/{name}.json").read_text(encoding="utf-8"))
    results = [result_of(told) for told in found["rows"]]
    rows = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| row |")]
    assert rows == [f"| {' | '.join(cells(result))} |" for result in results]
    assert f"\n{summary(results)}" in page
    assert f"\n{found['command']}\n" in page


def test_the_page_of_a_cpu_and_a_gpu_has_the_rows_of_both_files():
    tool = script("tools/write_benchmarks.py")
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(), "run python tools/write_benchmarks.py"
    assert tool.OVERVIEW.read_text(encoding="utf-8") == tool.overview(), "run python tools/write_benchmarks.py"


def test_every_row_of_the_files_is_on_their_page():
    page = (ROOT / "results/benchmarks/attention.md").read_text(encoding="utf-8")
    files = {
        name: json.loads((ROOT / f"results/benchmarks/attention-{name}.json").read_text(encoding="utf-8"))["rows"]
        for name in ("cpu", "gpu", "h200")
    }
    newer = {(row["row"], row["peer"]) for row in files["h200"]}
    for name, rows in files.items():
        for row in rows:
            if name == "gpu" and (row["row"], row["peer"]) in newer:
                continue
            [line] = [line for line in page.splitlines() if line.startswith(f"| {row['row']} | {row['peer']} |")]
            ours, ratio = line.split("|")[3:5] if name == "cpu" else line.split("|")[6:8]
            if row.get("replaced"):
                assert (ours, ratio.strip()) == (" not measured since ", "")
            else:
                assert ours.split()[0] == f"{float(ours.split()[0]):.3g}"
                assert ratio.strip() == ("" if row["ratio"] is None else f"{row['ratio']:.2f}")
