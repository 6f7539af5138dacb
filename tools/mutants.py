"""Break the source in one place at a time and see whether the tests notice.

    python tools/mutants.py            # every mutant against `make test`'s tier
    python tools/mutants.py --all      # those that survive also against `make test-all`'s
    python tools/mutants.py --only masks

A mutant is a line of `MUTANTS`: a file of src/saccade or of studies, a piece of its text, and a replacement. Each
runs in a copy of the checkout. The tests that mirror the broken file run first, then the whole tier, until one fails.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
WORKERS = ["-n", "2", "--dist", "worksteal"]


class Mutant(NamedTuple):
    """A fault: `old` stands once in `file` and becomes `new`."""

    file: str
    old: str
    new: str


MUTANTS = [
    Mutant("masks/positions.py", "queries + (start + self.right + 1)", "queries + (start + self.right)"),
    Mutant(
        "scores.py",
        "        return softcap * torch.tanh(scores / softcap)",
        "        return torch.tanh(scores / softcap)",
    ),
    Mutant(
        "scores.py",
        "        return (query @ self.weight.to(query.dtype)) @ key.mT",
        "        return (query @ self.weight.mT.to(query.dtype)) @ key.mT",
    ),
    Mutant(
        "normalizers.py",
        "        return filled(torch.sigmoid(scores + like(self.bias, scores)), mask, 0.0)",
        "        return torch.sigmoid(scores + like(self.bias, scores))",
    ),
    Mutant("kernels/compiled/unit.py", "grad[j] - along * unit[j]", "grad[j] + along * unit[j]"),
    Mutant(
        "reads.py",
        "        inside = (self.uniform >= 0) & (self.uniform < 1)",
        "        inside = (self.uniform >= 0) & (self.uniform <= 1)",
    ),
    Mutant(
        "backends/blockwise/parts.py",
        "        start = sent(self.queries * self.rows + self.start, call.device)[:, None, None]",
        "        start = sent(self.queries * self.rows, call.device)[:, None, None]",
    ),
    Mutant("kernels/triton/tiles.py", "(j >= i + low) & (j < i + high)", "(j >= i + low) & (j <= i + high)"),
    Mutant("kernels/triton/backward.py", "        of_query = scale * of_query", "        of_query = of_query"),
    Mutant(
        "nn/gating.py",
        "    return Choice(index[..., :k], values[..., :k].softmax(-1), probability, logits)",
        "    return Choice(index[..., :k], values.softmax(-1)[..., :k], probability, logits)",
    ),
    Mutant("kernels/gates.py", "hidden_proj[..., 2 * size :]))", "hidden_proj[..., size : 2 * size]))"),
    Mutant("memory/_prepared.py", "    if theirs.dtype != ours.dtype:\n", "    if ours.dtype != ours.dtype:\n"),
    Mutant(
        "look/_jacobian.py",
        "    return divide(norms, norms.sum(-1, keepdim=True))",
        "    return divide(norms, norms.sum(-2, keepdim=True))",
    ),
    Mutant(
        "look/_figure.py",
        "    top = full_scale(float(matrix.abs().max()), 0.0 if signed else even)",
        "    top = full_scale(float(matrix.abs().min()), 0.0 if signed else even)",
    ),
    Mutant("models/bag.py", "self.words(source.values), 0.0).sum(1)", "self.words(source.values), 0.0).mean(1)"),
    Mutant(
        "models/luong.py",
        "last = torch.arange(len(sequence), device=sequence.device), lengths - 1",
        "last = torch.arange(len(sequence), device=sequence.device), lengths - 2",
    ),
    Mutant("train/optimization.py", "rise = (step + 1) / warmup", "rise = step / warmup"),
    Mutant(
        "train/schedules.py",
        '"cosine": lambda r, t: (1 + math.cos(math.pi * t)) / 2,',
        '"cosine": lambda r, t: (1 - math.cos(math.pi * t)) / 2,',
    ),
    Mutant(
        "train/callback.py",
        "self.loss = self.ranks.sums(float(loss))[0] / self.ranks.world",
        "self.loss = self.ranks.sums(float(loss))[0]",
    ),
    Mutant(
        "train/averaging.py",
        "due = sorted(step for step in steps if step < end and is_due(step))",
        "due = sorted(step for step in steps if step < end)",
    ),
    Mutant(
        "train/randomness.py",
        'text = "/".join(map(str, (seed, *labels)))',
        'text = "/".join(map(str, (seed, *labels[:1])))',
    ),
    Mutant(
        "tasks/batches.py", "return [results[index] for index in range(len(sizes))]", "return list(results.values())"
    ),
    Mutant("tasks/ensembles.py", "return log_probs.logsumexp(0) - math.log(len(logits))", "return log_probs.mean(0)"),
    Mutant(
        "tasks/labels/metrics.py",
        "return 2 * right / count if count else 0.0",
        "return right / count if count else 0.0",
    ),
    Mutant(
        "tasks/generate/predictor.py",
        "return Loss(total, int((targets != PADDING).sum()))",
        "return Loss(total, targets.numel())",
    ),
    Mutant(
        "tasks/generate/beam.py",
        "scores, ranks = ended.movedim(1, 0).flatten(1).sort(descending=True, stable=True)",
        "scores, ranks = ended.movedim(1, 0).flatten(1).sort(descending=False, stable=True)",
    ),
    Mutant(
        "tasks/audio/features.py", "centered = exact - exact.mean(0)", "centered = exact - exact.mean(1, keepdim=True)"
    ),
    Mutant("cli/inputs.py", "if not listed:", "if listed < 0:"),
    Mutant(
        "cli/predict.py",
        "if options.names and options.json:",
        "if options.names and options.json and False:",
    ),
    Mutant(
        "studies/frame/seeds.py",
        "return groups * score - (groups - 1) * np.asarray(partial, dtype=np.float64)",
        "return groups * score - groups * np.asarray(partial, dtype=np.float64)",
    ),
    Mutant(
        "studies/frame/claims.py",
        "return self.margin - abs(self.number.value)",
        "return self.margin + abs(self.number.value)",
    ),
    Mutant(
        "bench/measure.py",
        "return [theirs / max(ours, 1e-12) for ours, theirs, *_ in rounds]",
        "return [ours / max(theirs, 1e-12) for ours, theirs, *_ in rounds]",
    ),
    Mutant(
        "runs.py",
        'choose("split", split, ("test", "validation"))',
        'choose("split", split, ("test", "validation", "train", split))',
    ),
]


def copy_checkout(folder: Path) -> Path:
    """Copy every tracked file as it is now, and link the data beside the checkout."""
    copy = folder / "checkout"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_file():
            shutil.copy2(ROOT / name, copy / name)
    if (ROOT.parent / "shared").is_dir():
        (folder / "shared").symlink_to(ROOT.parent / "shared")
    return copy


def source(checkout: Path, mutant: Mutant) -> Path:
    """The file that a mutant breaks."""
    return checkout / ("" if mutant.file.startswith("studies/") else "src/saccade") / mutant.file


def mirrored_tests(copy: Path, file: str) -> list[str]:
    """Existing tests of the mutant's file, then of its folder, and of a backend that has kernels."""
    path = Path(file)
    name = path.parent.name
    folders = [f"tests/{path.parent}", f"tests/backends/{name}"] if name else ["tests/laws"]
    candidates = [f"tests/{parent}/test_{path.stem}.py" for parent in (path.parent, path.parent.parent)]
    return [tests for tests in dict.fromkeys([*candidates, *folders]) if (copy / tests).exists()]


def tests_fail(copy: Path, arguments: list[str]) -> bool:
    """Run pytest in the copy, and return whether a test failed. Other ends are errors."""
    environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments]
    code = subprocess.run(command, cwd=copy, env=environment, stdout=subprocess.DEVNULL, check=False).returncode
    if code not in {0, 1, 2, 5}:  # 2: collection failed, which is a test that noticed; 5: no test in this tier
        raise SystemExit(f"pytest ended with {code}: {' '.join(command)}")
    return code in {1, 2}


def caught_by(copy: Path, mutant: Mutant, tiers: list[list[str]]) -> str:
    """Name the first tests that notice the mutant, "" if none does."""
    path = source(copy, mutant)
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise SystemExit(f"{mutant.file}: {mutant.old!r} stands {text.count(mutant.old)} times, expected once")
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        for tier in tiers:
            for tests in mirrored_tests(copy, mutant.file):
                if tests_fail(copy, [*tier, tests]):
                    return " ".join([tests, *tier[-1:]])
            if tests_fail(copy, [*tier, *WORKERS]):
                return " ".join(["the whole suite", *tier[-1:]])
        return ""
    finally:
        path.write_text(text, encoding="utf-8")


def main() -> None:
    """Try the mutants and print a line each; exit with 1 if one survives."""
    parser = argparse.ArgumentParser(description="Break the source in one place at a time: do tests notice?")
    parser.add_argument("--all", action="store_true", help="Try survivors against every test.")
    parser.add_argument("--only", default="", help="Part of a file's name.")
    options = parser.parse_args()
    tiers = [["-m", "not slow"], []] if options.all else [["-m", "not slow"]]
    mutants = [mutant for mutant in MUTANTS if options.only in mutant.file]
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = copy_checkout(Path(folder))
        for number, mutant in enumerate(mutants, 1):
            tests = caught_by(copy, mutant, tiers)
            survivors += not tests
            print(f"{number:3} {mutant.file}: {mutant.new.strip()[:50]!r}: {tests or 'SURVIVES'}", flush=True)
    print(f"{len(mutants) - survivors} of {len(mutants)} mutants are caught")
    sys.exit(bool(survivors))


if __name__ == "__main__":
    main()
