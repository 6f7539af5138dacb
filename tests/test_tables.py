"""Tables of pages that no command writes any more: every row is that of its stored file, and there are no others."""

import json
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).resolve().parents[1]


def spread(values, form):
    """Median (least to greatest), of rounds or as a file has it."""
    if not isinstance(values, dict):
        values = {"median": median(values), "least": min(values), "most": max(values)}
    return f"{values['median']:{form}} ({values['least']:{form}} to {values['most']:{form}})"


def by_round(ours, others):
    return [a / b for a, b in zip(ours, others, strict=True)]


def decoder_step(file):
    for row in file["rows"]:
        shape = " × ".join(map(str, row["shape"]))
        yield shape, f"{row['step']:,.0f}", f"{row['sum']:,.0f}", f"{row['share']:.0%}", f"{row['read']:.0%}"


def hard_steps(file):
    soft = median(file["seconds"]["soft"]["with"])
    for name, ways in file["seconds"].items():
        ours, other = median(ways["with"]), median(ways["without"])
        ratio = median(by_round(ways["without"], ways["with"]))
        yield name, *(f"{number:.2f}" for number in (ours, ours / soft, other, ratio))


def training_share(file):
    found = file["measured"]
    yield "a plain multiply", f"{spread(found['gflops'], '.0f')} GFLOP/s"
    yield "a step", f"{spread(found['seconds'], '.2f')} s"
    met = "met" if found["share"]["median"] >= 0.7 else "missed"
    yield "share of the multiply's rate", f"{spread(found['share'], '.0%')}; at least 70%: {met}"
    yield "of all that is multiplied, real tokens", f"{found['real']:.0%}"
    products = found["share"]["median"] / found["real"] / found["parts"]["products"]
    yield "the products themselves, share of the multiply's rate", f"{products:.0%}"


def parts_of_a_step(file):
    return ((name, f"{part:.1%}") for name, part in file["measured"]["parts"].items())


def kernels(file):
    for kind, name in (("train", "training"), ("greedy", "greedy"), ("beam", "beam 5")):
        row = file["tokens_per_second"][kind]
        yield name, spread(row["kernels"], ",.0f"), spread(row["without"], ",.0f"), spread(row["ratio"], ".2f")


def translate(file):
    sides, share = [file["sides"][name] for name in ("Saccade", "JoeyNMT")], "share of the multiply's rate"
    yield "parameters", *(f"{side['parameters'] / 1e6:.2f} M" for side in sides), ""
    for part in ("source", "target"):
        yield f"multiplied, a {part} token", *(f"{side['counts'][part] / 2e6:.2f} M" for side in sides), ""
    rounds = {kind: [both[name] for name in ("Saccade", "JoeyNMT")] for kind, both in file["rounds"].items()}

    def beside(label, kind, key, form, ratio):
        return label, *(spread(side[key], form) for side in rounds[kind]), spread(ratio, ".2f")

    def shares(label, kind):
        return f"{label}, {share}", *(f"{median(side['share']):.0%}" for side in rounds[kind]), ""

    for name, key in (("real", "tokens"), ("padded", "padded")):
        ratio = by_round(*(side[key] for side in rounds["train"]))
        yield beside(f"training, {name} target tokens/s", "train", key, ",.0f", ratio)
    yield shares("training", "train")
    for kind, name in (("greedy", "greedy"), ("beam", "beam 5")):
        sentences = f"{name}, {file['settings']['test_sentences']:,} sentences, s"
        yield beside(sentences, kind, "seconds", ".1f", by_round(*(side["seconds"] for side in rounds[kind][::-1])))
        yield f"{name}, tokens written", *(f"{side['written'][-1]:,.0f}" for side in rounds[kind]), ""
        ratio = by_round(*(side["tokens"] for side in rounds[kind]))
        yield beside(f"{name}, tokens/s", kind, "tokens", ",.0f", ratio)
        yield f"{name}, BLEU then", *(f"{file['bleu'][kind][side]:.1f}" for side in ("Saccade", "JoeyNMT")), ""
        yield shares(name, kind)


def fused(file):
    names = [name.split(", ") for name in file["rows"]]
    ways = [f"{mask}, {way}" for mask in dict.fromkeys(name[1] for name in names) for way in ("forward", "trained")]
    for kind in dict.fromkeys(name[0] for name in names):
        rows = [file["rows"].get(f"{kind}, {way}") for way in ways]
        yield kind, *("" if row is None else f"{row['ratio']:.2f}" for row in rows)


def products(file):
    for name, rate in file["rates"].items():
        yield "torch, 1,024 in a cube" if name == "torch" else name, f"{rate:.0f}"


def window_parts(file):
    for name, row in file["rows"].items():
        parts = (f"{row[key]:.2f} µs" for key in ("allowed", "products", "weights"))
        yield name, *parts, f"{row['share']:.0%}", f"{row['call']:.2f} µs"


def additive_parts(file):
    for row in file["rows"]:
        call = f"{'forward+backward' if row['trained'] else 'forward'} {'x'.join(map(str, row['sizes']))}"
        parts = (f"{part:,.0f}" for part in row["parts"].values())
        yield call, f"{row['whole']:,.0f}", *parts, f"{row['share']:.0%}", f"{row['at_most']:.0%}"


def training_memory(file):
    for row in file:
        memory = (
            f"{row['memory_mb'][step]:,}" if step in row["memory_mb"] else "" for step in ("10", "40", "60", "400")
        )
        yield f"`{row['model']}`", f"{row['pairs']:,}", f"{row['shapes']:,}", *memory, f"{row['seconds_a_step']:.2f}"


def training_steps(file):
    for row in file["rows"]:
        top = ", ".join(f"{name} {share:.0%}" for name, share in row["most"].items())
        yield (
            f"`{row['model']}`",
            f"{row['per_second']:,.0f}",
            *(f"{1e3 * s:.2f}" for s in row["seconds"].values()),
            top,
        )


TABLES = [
    ("results/benchmarks/decoder-step", "benchmarks/decoder-step", "batch × keys × features", decoder_step),
    ("results/benchmarks/hard", "benchmarks/hard-steps", "attention", hard_steps),
    ("results/benchmarks/training-share", "benchmarks/training-share", "", training_share),
    ("results/benchmarks/training-share", "benchmarks/training-share", "part of a step", parts_of_a_step),
    ("results/benchmarks/rnnsearch", "benchmarks/rnnsearch-kernels", "tokens a second", kernels),
    ("results/benchmarks/translate", "benchmarks/translate", "| Saccade", translate),
    ("results/benchmarks/translate-transformer", "benchmarks/translate-transformer", "| Saccade", translate),
    ("results/benchmarks/intervals", "benchmarks/fused-cpu", "| window 128, forward", fused),
    ("results/benchmarks/intervals", "benchmarks/fused-cpu", "product on one thread", products),
    ("results/benchmarks/intervals", "benchmarks/window-parts", "row | a query may take", window_parts),
    ("results/benchmarks/small-parts", "benchmarks/additive-parts", "call | µs", additive_parts),
    ("results/benchmarks/small-parts", "benchmarks/additive-parts-two-threads", "call | µs", additive_parts),
    ("results/benchmarks/training-memory", "benchmarks/training-memory", "model | pairs | shapes", training_memory),
    (
        "results/benchmarks/classify-text",
        "benchmarks/training-steps-classify-text",
        "model | sentences/s",
        training_steps,
    ),
    ("results/benchmarks/transcribe", "benchmarks/training-steps-transcribe", "model | s of audio/s", training_steps),
]
"""A page, a file of results, how the header of the table begins, and the rows of the file."""


def tables_of(page, header):
    """The rows of each table of a page whose header begins so."""
    lines = (ROOT / f"{page}.md").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        if line.startswith(f"| {header}") and lines[number + 1 :][:1] and lines[number + 1].startswith("|---"):
            end = next((n for n in range(number, len(lines)) if not lines[n].startswith("|")), len(lines))
            yield lines[number + 2 : end]


@pytest.mark.parametrize(("page", "name", "header", "rows"), TABLES, ids=[table[1] for table in TABLES])
def test_a_table_is_that_of_its_file(page, name, header, rows):
    file = json.loads((ROOT / f"results/{name}.json").read_text(encoding="utf-8"))
    expected = [f"| {' | '.join(cells)} |" for cells in rows(file)]
    assert expected and expected in list(tables_of(page, header))


def test_memory_with_few_shapes_stays_within_its_bounds():
    rows = json.loads((ROOT / "results/benchmarks/training-memory.json").read_text(encoding="utf-8"))
    long = [row for row in rows if "400" in row["memory_mb"]]
    assert {row["model"] for row in long} == {"transformer", "rnnsearch"}
    memories = [row["memory_mb"] for row in long]
    assert all(memory["400"] <= 1.2 * memory["40"] and memory["400"] <= 1500 for memory in memories)
