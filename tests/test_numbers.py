"""Every number that a page tells as a result is of a file that the program wrote, or another's, with its reference."""

import re
import tomllib
from dataclasses import replace
from itertools import groupby, permutations
from pathlib import Path
from statistics import fmean

import pytest

from jobs import JOBS
from printed import results_of
from stored import cells, is_stored
from tiers import every

ROOT = Path(__file__).resolve().parents[1]
COUNTED = ROOT / "docs/gpu-kernels.md"
"""A page without results: its numbers are counted by tools/count_kernels.py, which has a test."""
WRITTEN = re.compile(r"<!-- tools/write_results.py writes this table: \S+ -->\n.*?<!-- end of the table -->\n", re.S)
"""Tables that tests/test_results.py compares with their files."""
NOTEBOOKS = ROOT / "docs/learn", ROOT / "docs/notes"
"""Pages of notebooks, whose numbers their cells compute."""
DOCS = sorted(
    str(path.relative_to(ROOT))
    for path in (ROOT / "docs").rglob("*.md")
    if path != COUNTED and path.parent not in NOTEBOOKS
)
MEASURED = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "results/benchmarks").glob("*.md"))
PAGES = ["README.md", "DESIGN.md", *DOCS, *MEASURED]
OTHERS = tomllib.loads((ROOT / "tests/literature.toml").read_text(encoding="utf-8"))["figures"]

SOURCES = {
    "README.md": [
        "results/multi30k-de-en",
        "results/multi30k-en-fr",
        *(f"results/{file}.json" for file, _ in JOBS.values()),
        *(f"results/benchmarks/attention-{device}.json" for device in ("cpu", "gpu", "h200")),
    ],
    "docs/baselines.md": ["results/baselines"],
    "docs/benchmarks.md": ["results/benchmarks"],
    "results/benchmarks/attention.md": [
        f"results/benchmarks/attention-{device}.json" for device in ("cpu", "gpu", "h200")
    ],
    "results/benchmarks/decoder-step.md": ["results/benchmarks/decoder-step.json"],
    "results/benchmarks/hard.md": ["results/benchmarks/hard-steps.json"],
    "results/benchmarks/training-share.md": ["results/benchmarks/training-share.json"],
    "results/benchmarks/masks.md": ["results/benchmarks/fused-cpu.json"],
    "results/benchmarks/intervals.md": ["results/benchmarks/fused-cpu.json", "results/benchmarks/window-parts.json"],
    "results/benchmarks/plain-sum.md": ["results/benchmarks/plain-sum-cpu.json", "results/benchmarks/sum-cpu.json"],
    "results/benchmarks/small-parts.md": [
        "results/benchmarks/additive-parts.json",
        "results/benchmarks/additive-parts-two-threads.json",
    ],
    "results/benchmarks/rnnsearch.md": ["results/benchmarks/rnnsearch-kernels.json"],
    "results/benchmarks/translate.md": ["results/benchmarks/translate.json"],
    "results/benchmarks/translate-transformer.md": ["results/benchmarks/translate-transformer.json"],
    "docs/classify-image.md": ["results/classify-image", "results/cnn-attention-cifar10"],
    "docs/classify-text.md": ["results/classify-text", "results/pooling-sst2"],
    "docs/index.md": ["results/benchmarks/attention-cpu.json"],
    "docs/explorer.md": ["results/benchmarks/explorer.json"],
    "docs/experts.md": ["results/benchmarks/experts-cpu.json"],
    "docs/masks-as-work.md": ["results/benchmarks/masks-cpu.json"],
    "docs/models.md": [
        "results/dates",
        "results/several-dates",
        "results/multi30k-de-en",
        "results/experts-dates",
    ],
    "docs/nn.md": ["results/benchmarks/regression-cpu.json"],
    "docs/reports.md": ["results/pointing-scenes"],
    "docs/serving.md": ["results/benchmarks/serving.json"],
    "results/benchmarks/training-memory.md": ["results/benchmarks/training-memory.json"],
}
"""Files and folders that back a page which does not name them."""


def files(name):
    path = ROOT / name
    found = [path] if path.is_file() else sorted(path.rglob("*"))
    return [one for one in found if one.suffix in (".json", ".jsonl", ".md")]


def sections(page, text):
    """Lines where a section begins and ends, and the files that back it; other pages than results.md are one."""
    parts = re.split(r"^(?=##+ )", text, flags=re.M) if page == "docs/results.md" else [text]
    line = 1
    for part in parts:
        yield line, line + len(part.splitlines()), backing(page, part)
        line += len(part.splitlines())


def backing(page, part):
    """Files that a part of a page names, that sections of results.md name to which it leads, and that back the page."""
    anchors = re.findall(r"\(results\.md#([\w-]+)\)", part) if page != "docs/results.md" else []
    named = [name for text in (part, *map(section_of_results, anchors)) for name in named_in(text)]
    links = r"\((?:(?:\.\./)+results/benchmarks/)?([\w-]+\.md)"
    pages = [page, *(f"results/benchmarks/{name}" for name in re.findall(links, part))]
    named += [file for one in pages for file in SOURCES.get(one, [])]
    named += [f"{one.removesuffix('.md')}-cpu.json" for one in pages if one in MEASURED]
    return tuple(sorted({file for name in named if (ROOT / name).exists() for file in files(name)}))


def named_in(part):
    part = re.sub(r"`([\w./-]+)-\d`((?:, `-\d`)+)", in_full, part)
    full = re.findall(r"\b(results/[\w./-]*\w)", part)
    return full + [
        f"results/{name}{end}"
        for name in re.findall(r"[\w.-]+/[\w./-]*\w", part)
        for end in ("", ".json")
        if (ROOT / "results" / f"{name}{end}").exists()
    ]


def in_full(match):
    """Files of further seeds, which a table shortens."""
    return " ".join([match[0], *(f"{match[1]}-{seed}" for seed in re.findall(r"\d", match[2]))])


def section_of_results(anchor):
    text = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    for part in re.split(r"^(?=##+ )", text, flags=re.M):
        title = part.partition("\n")[0].lstrip("# ").lower()
        if re.sub(r"[^\w -]", "", title).replace(" ", "-") == anchor:
            return part
    raise AssertionError(f"results.md has no section {anchor!r}")


def is_derived(result, others):
    """Whether it is the difference, the ratio or the mean of stored numbers that stand in the same paragraph or row."""
    values = [other.value for other in others if other != result]
    told = [a - b for a, b in permutations(values, 2)] if "point" in result.unit else []
    told += [a / b for a, b in permutations(values, 2) if b] if re.match("times|×|ratio", result.unit) else []
    told += [fmean(values)] if result.unit == "mean" else []
    return any(abs(one - result.value) <= result.half * (1 + 1e-9) for one in told)


def is_anothers(result):
    block = " ".join(result.block.split())
    return any(result.text in one["numbers"] and any(words in block for words in one["beside"]) for one in OTHERS)


def unbacked(page, text):
    """Results of a page that stand in none of its files, each with its place."""
    for block in told_in(page, text):
        backed = [result for result, paths, labels in block if is_stored(result, paths, labels)]
        for result, _, _ in block:
            if result not in backed and not is_derived(result, backed) and not is_anothers(result):
                yield result


def told_in(page, text):
    """Results by the paragraph or row that they stand in, with the files and the names that back them."""
    by_hand = WRITTEN.sub(lambda match: "\n" * match[0].count("\n"), text)
    lines, results = text.splitlines(), list(results_of(page, by_hand))
    for first, last, paths in sections(page, text):
        in_section = [result for result in results if first <= result.line < last]
        for _, group in groupby(in_section, lambda result: result.line if result.in_row else result.block):
            yield [(result, *backing_of(result, lines[result.line - 1], paths)) for result in group]


def backing_of(result, line, paths):
    """A row's own file, if it names one, and the names that it begins with."""
    if not result.in_row:
        return paths, ()
    labels = tuple(cell for cell in cells(line) if not re.fullmatch(r"[-+−\d.,±% ]*", cell))
    own = tuple(path for path in paths if any(str(path).endswith(f"/{label}") for label in labels))
    return own or paths, () if own else labels


def read(page):
    return (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_results_of_a_page_stand_in_its_files(page):
    missing = [str(result) for result in unbacked(page, read(page))]
    assert not missing, "no file of results that the page names, and no reference, has:\n" + "\n".join(missing)


SAMPLE = """
On [dates](results.md#dates) `luong` is right on 99.85% of the test, by local attention on 87.4%, in `results/dates`.

Its 102 seconds made 7,657 tokens a second.

| model | file | exact match | seconds |
|---|---|---|---|
| `rnnsearch` | `dates/rnnsearch-1.json` | 1.0000 | 28 |
| `encoder-decoder` | `dates/encoder-decoder-1.json` | 0.6030 | 22 |

Attention gains 39.70 points: from 60.30% to 100.0%. Luong et al. have 18.1 BLEU (their table 4).
"""
SETTINGS = """
With a dropout of 0.3, a learning rate of 0.002, a share of at most 5%, in batches of 80 seconds (section 3.5, PyTorch
2.10 or newer, `--share 0.7`, "12.5% of it", 2026-11-25, 3 × 3, α = 1.5, 40 minutes at most, (0.2, 0.1), seed 1, 2.5
million parameters).

```bash
saccade train translate --dropout 0.3  # 98.7% right
```

| option | what it does |
|---|---|
| `--top-p` | the fewest tokens that have 0.9 of the probability (section 3.1) |
"""


def test_a_sample_is_backed():
    assert not [str(result) for result in unbacked("sample.md", SAMPLE)]


@every(
    ("right", "wrong", "line"),
    [
        ("99.85%", "99.86%", 2),
        ("87.4%", "86.4%", 2),
        ("102 seconds", "108 seconds", 4),
        ("7,657", "7,654", 4),
        ("1.0000 |", "0.9999 |", 8),
        ("| 28 |", "| 29 |", 8),
        ("0.6030", "0.6031", 9),
        ("| 22 |", "| 23 |", 9),
        ("39.70", "39.71", 11),
        ("60.30%", "60.31%", 11),
        ("18.1", "18.2", 11),
    ],
)
def test_a_changed_digit_is_named_with_its_line(right, wrong, line):
    assert right in SAMPLE
    named = [str(result) for result in unbacked("sample.md", SAMPLE.replace(right, wrong))]
    number = re.search(r"[\d.,]+\d", wrong)[0]
    assert any(one.startswith(f"sample.md:{line}: {number}") for one in named)


def test_settings_are_no_results():
    assert not [str(result) for result in results_of("sample.md", SETTINGS)]


@every(
    "sentence",
    [
        "It is right on 12.3% of the test.",
        "A BLEU of 31 is reached.",
        "It takes 3.25 s.",
        "It takes 71 ms.",
        "It is 4.4 times as fast.",
        "It is 17 times as fast.",
        "It gains 3 ± 1 points.",
        "It reads 812 words a second.",
        "It went from 13 to 19 ms.",
        "| model | accuracy |\n|---|---|\n| `x` | 71 |",
        "| way | what |\n|---|---|\n| `x` | right on 71% |",
    ],
)
def test_a_result_is_seen_in_a_sentence(sentence):
    told = [result.text for result in results_of("sample.md", sentence)]
    assert told == re.findall(r"[\d.]*\d", sentence)
    assert list(unbacked("sample.md", sentence))


@pytest.mark.slow
def test_most_changed_digits_of_all_pages_are_noticed():
    """Of three digits and more the last is changed; whole shares of two digits hide more easily."""
    seen = {"table": [], "sentence": []}
    for page in PAGES:
        for block in told_in(page, read(page)):
            for result, paths, labels in block:
                if is_stored(result, paths, labels) and len(re.sub(r"[.,]|^0\.0*", "", result.text)) > 2:
                    changed = replace(result, text=f"{result.text[:-1]}{(int(result.text[-1]) + 4) % 10}")
                    kind = "table" if result.in_row else "sentence"
                    seen[kind].append(not is_stored(changed, paths, labels))
    assert fmean(seen["table"]) > 0.88 and fmean(seen["sentence"]) > 0.6


def test_every_figure_of_others_has_its_reference_and_is_told():
    told = "".join(map(read, PAGES))
    for one in OTHERS:
        assert one["source"] and any(words in " ".join(told.split()) for words in one["beside"])
        assert all(re.search(rf"(?<![\d.]){re.escape(number)}(?![\d])", told) for number in one["numbers"]), one
