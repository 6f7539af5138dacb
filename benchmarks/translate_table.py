"""What `translate.py` measured, as numbers to keep and a table to read; and the speed of a plain multiply."""

import platform
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

OURS, PEER = "Saccade", "JoeyNMT"
_BEGIN, _END = "<!-- measured -->", "<!-- end of what was measured -->"


def machine_rate() -> float:
    """GFLOP/s of a float32 matrix product here and now, the best of three sizes: the limit of all that multiplies."""
    best = 0.0
    for size in (512, 1024, 2048):
        a, b = torch.randn(size, size), torch.randn(size, size)
        times = []
        for _ in range(4):
            began = time.perf_counter()
            a @ b
            times.append(time.perf_counter() - began)
        best = max(best, 2 * size**3 / min(times) / 1e9)
    return best


def operations(counts: dict[str, float], source: int, target: int, beam_size: int = 1) -> float:
    """Floating-point operations of one sentence, forward: the decoder's are done for every beam."""
    per_beam = counts["target"] * target + counts["pair"] * source * target
    return counts["fixed"] + counts["source"] * source + beam_size * per_beam


def training_rates(rounds: Sequence[dict[str, Any]], counts: dict[str, float]) -> dict[str, list[float]]:
    """Of each round: real and padded target tokens a second, and useful GFLOP/s (forward, and twice that backward)."""
    found: dict[str, list[float]] = {"tokens": [], "padded": [], "gflops": [], "share": []}
    for result in rounds:
        batches, seconds = result["batches"], result["seconds"]
        pairs = [pair for sources, targets, _ in batches for pair in zip(sources, targets, strict=True)]
        found["tokens"].append(sum(target for _, target in pairs) / seconds)
        found["padded"].append(sum(padded for _, _, padded in batches) / seconds)
        found["gflops"].append(3 * sum(operations(counts, *pair) for pair in pairs) / seconds / 1e9)
        found["share"].append(found["gflops"][-1] / result["rate"])
    return found


def decoding_rates(
    rounds: Sequence[dict[str, Any]], counts: dict[str, float], sources: Sequence[int], beam_size: int
) -> dict[str, list[float]]:
    """Of each round: seconds, sentences and written tokens a second, tokens written, and useful GFLOP/s."""
    found: dict[str, list[float]] = {
        name: [] for name in ("seconds", "sentences", "tokens", "written", "gflops", "share")
    }
    for result in rounds:
        lengths, seconds = result["lengths"], result["seconds"]
        total = sum(operations(counts, *pair, beam_size) for pair in zip(sources, lengths, strict=True))
        rate = total / seconds / 1e9
        values = (seconds, len(lengths) / seconds, sum(lengths) / seconds, sum(lengths), rate, rate / result["rate"])
        for name, value in zip(found, values, strict=True):
            found[name].append(value)
    return found


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median, least and most."""
    return {"median": statistics.median(values), "least": min(values), "most": max(values)}


def ratios(ours: Sequence[float], peer: Sequence[float]) -> dict[str, float]:
    """Ours over the peer's in the same round."""
    return spread([a / b for a, b in zip(ours, peer, strict=True)])


def summary(
    found: dict[str, Any],
    facts: dict[str, Any],
    settings: dict[str, Any],
    sources: Sequence[int],
    bleu: dict[str, Any],
    peer: dict[str, str],
) -> dict[str, Any]:
    """What is kept of a run.

    Args:
        found: each kind's rounds by side, and the machine's rate before each measurement.
        facts: of each side, its parameters and the counts of its operations.
        settings: of the run.
        sources: tokens of each test source, its end included.
        bleu: of each side, of its last outputs of each kind.
        peer: versions of "joeynmt" and of its "torch".
    """
    rates: dict[str, dict[str, dict[str, list[float]]]] = {"train": {}, "greedy": {}, "beam": {}}
    for name, fact in facts.items():
        rates["train"][name] = training_rates(found["train"][name], fact["counts"])
        for kind, beam_size in (("greedy", 1), ("beam", settings["beam_size"])):
            rates[kind][name] = decoding_rates(found[kind][name], fact["counts"], sources, beam_size)
    return {
        "machine": {"processor": platform.processor() or platform.machine(), "gflops": spread(found["gflops"])},
        "versions": {"torch": torch.__version__, "python": platform.python_version(), "peer": peer},
        "settings": settings,
        "sides": facts,
        "bleu": bleu,
        "rounds": rates,
        "ratio": {kind: ratios(both[OURS]["tokens"], both[PEER]["tokens"]) for kind, both in rates.items()}
        | {
            f"{kind} seconds": ratios(rates[kind][PEER]["seconds"], rates[kind][OURS]["seconds"])
            for kind in ("greedy", "beam")
        },
        "share": {
            kind: {name: statistics.median(rate["share"]) for name, rate in both.items()}
            for kind, both in rates.items()
        },
    }


def table(results: dict[str, Any]) -> str:
    """The results as Markdown."""
    settings, sides, rounds = results["settings"], results["sides"], results["rounds"]
    versions, rate = results["versions"], _of(results["machine"]["gflops"], ".0f")
    where = f"{results['machine']['processor']}, {settings['threads']} threads, torch {versions['torch']}"
    peer = f"JoeyNMT on torch {versions['peer']['torch']}"
    lines = [
        f"{where}, Python {versions['python']}, float32, seed {settings['seed']}; {peer}.",
        f"A plain multiply ran at {rate} GFLOP/s in the same minutes. Medians of the rounds (least to most).",
        "",
        "| | Saccade | JoeyNMT 2.3.0 | ratio |",
        "|---|---|---|---|",
        _row("parameters", [f"{sides[name]['parameters'] / 1e6:.2f} M" for name in (OURS, PEER)]),
        _row("multiplied, a source token", [_millions(sides[name], "source") for name in (OURS, PEER)]),
        _row("multiplied, a target token", [_millions(sides[name], "target") for name in (OURS, PEER)]),
    ]
    for name, key, form in (("real", "tokens", ",.0f"), ("padded", "padded", ",.0f")):
        values = [spread(rounds["train"][side][key]) for side in (OURS, PEER)]
        ratio = _of(ratios(*(rounds["train"][side][key] for side in (OURS, PEER))), ".2f")
        lines.append(_row(f"training, {name} target tokens/s", [_of(value, form) for value in values], ratio))
    lines.append(_shares("training", results, "train"))
    for kind, label in (("greedy", "greedy"), ("beam", f"beam {settings['beam_size']}")):
        both = rounds[kind]
        seconds = [_of(spread(both[side]["seconds"]), ".1f") for side in (OURS, PEER)]
        tokens = [_of(spread(both[side]["tokens"]), ",.0f") for side in (OURS, PEER)]
        written = [f"{both[side]['written'][-1]:,.0f}" for side in (OURS, PEER)]
        lines.append(
            _row(
                f"{label}, {settings['test_sentences']:,} sentences, s",
                seconds,
                _of(results["ratio"][f"{kind} seconds"], ".2f"),
            )
        )
        lines.append(_row(f"{label}, tokens written", written))
        lines.append(_row(f"{label}, tokens/s", tokens, _of(results["ratio"][kind], ".2f")))
        lines.append(_row(f"{label}, BLEU then", [f"{results['bleu'][kind][side]:.1f}" for side in (OURS, PEER)]))
        lines.append(_shares(label, results, kind))
    return "\n".join(lines) + "\n"


def write_into(page: Path, text: str) -> None:
    """Replace what stands between the marks of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(_BEGIN)
    _, mark, after = rest.partition(_END)
    if not mark:
        raise SystemExit(f"--page: expected the lines {_BEGIN} and {_END} in {page}")
    page.write_text(f"{before}{_BEGIN}\n\n{text}\n{_END}{after}", encoding="utf-8")


def _of(value: dict[str, float], form: str) -> str:
    """Median (least to most)."""
    return f"{value['median']:{form}} ({value['least']:{form}} to {value['most']:{form}})"


def _row(label: str, cells: Sequence[str], ratio: str = "") -> str:
    return f"| {label} | {' | '.join(cells)} | {ratio} |"


def _millions(side: dict[str, Any], part: str) -> str:
    return f"{side['counts'][part] / 2e6:.2f} M"


def _shares(label: str, results: dict[str, Any], kind: str) -> str:
    shares = [f"{results['share'][kind][name]:.0%}" for name in (OURS, PEER)]
    return _row(f"{label}, share of the multiply's rate", shares)
