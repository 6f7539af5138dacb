"""The error of kernel regression by the number of points (Nadaraya 1964)."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from saccade import runs
from saccade.errors import ArgumentError
from saccade.nn import KernelRegression
from studies.frame.claims import Claim, Estimate, Verdict, Within, conclude, rule
from studies.frame.folder import Folder, select
from studies.frame.growth import Power, draw_powers, exponent
from studies.frame.options import Shared, check_positive, filled
from studies.frame.page import curve
from studies.frame.seeds import Numbers, over_seeds
from studies.frame.study import Step, Study, Work, made_here

MEAN, BEST, KERNEL, LEARNED = "mean", "best bandwidth", "leave-one-out", "learned kernel"
EXPECTED, WIDTH = -4 / 5, -1 / 5  # powers of n by which error and bandwidth fall
_THEORY = {MEAN: "0", BEST: f"{EXPECTED:.2f}", KERNEL: f"{EXPECTED:.2f}", LEARNED: ""}
NEAR = 0.1  # margin of an exponent: -2/3 and -1 differ by more from -4/5
NOISE = 0.3
_BOUNDS = math.log(2e-3), math.log(0.3)  # of the logarithm of the best bandwidth
_GRID = (np.arange(1000) + 0.5) / 1000  # at which an estimate is compared with the curve
_VALIDATED = 64  # rows that validate a learned kernel, which chooses nothing by them
_SIZES = {"counts": (128, 256, 512, 1024, 2048, 4096), "seeds": 40, "learned": 5, "steps": 1000}
_QUICK = {"counts": (64, 128, 256, 512, 1024, 2048), "seeds": 20, "learned": 2, "steps": 500}
_FEWEST, _LARGEST = 8, 20_000  # points
_LEARNABLE = 512  # points of a learned kernel, which trains on all pairs at each step


@dataclass(frozen=True, kw_only=True)
class Options(Shared):
    """Options of the study."""

    counts: tuple[int, ...] | None = None
    """Known points. Default: 128 256 ... 4096; 64 ... 2048 with --quick."""

    seeds: int | None = None
    """Draw points so often; more add to a report. Default: 40, 20 with --quick."""

    learned: int | None = None
    """Of these learn a kernel, of 512 points at most. Default: 5, 2 with --quick."""

    steps: int | None = None
    """Steps of a learned kernel's training. Default: 1000, 500 with --quick."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "seeds", "steps")
        if self.learned is not None and self.learned < 0:
            raise ArgumentError(f"--learned: expected a number from 0 on, got {self.learned}")
        counts = self.sizes()["counts"]
        if len(counts) < 3 or not all(_FEWEST <= n <= _LARGEST for n in counts):
            got = " ".join(map(str, self.counts or ()))
            raise ArgumentError(f"--counts: expected 3 or more, from {_FEWEST} to {_LARGEST}, got {got}")

    def sizes(self) -> dict[str, Any]:
        """Return counts, seeds, learned and steps, with defaults filled in."""
        sizes = filled(self, _SIZES, _QUICK)
        return {**sizes, "counts": sorted({*sizes["counts"]})}


def drawn(count: int, seed: int) -> tuple[Numbers, Numbers]:
    """Return points on a period of a cosine, with noise of deviation 0.3."""
    numbers = np.random.default_rng([seed, count])
    x = numbers.uniform(0, 1, count)
    return x, _curve(x) + NOISE * numbers.standard_normal(count)


def _curve(x: Numbers) -> Numbers:
    """A curve of slope 0 at both ends, where the bias is otherwise h, not h²."""
    return np.cos(2 * np.pi * x)


def estimate(way: str, count: int, seed: int, folder: Path, steps: int) -> dict[str, Any]:
    """Return the squared distance from the curve, "mse", and the "bandwidth", if any."""
    x, y = drawn(count, seed)

    def distance(estimated: Numbers) -> float:
        return float(((estimated - _curve(_GRID)) ** 2).mean())

    def kernel(bandwidth: Any) -> dict[str, Any]:
        model = KernelRegression(bandwidth=bandwidth).fit(x[:, None], y)
        return {"mse": distance(model.predict(_GRID[:, None])), "bandwidth": model.bandwidth_}

    def error(log_width: float) -> float:
        return float(kernel(math.exp(log_width))["mse"])

    if way == MEAN:
        return {"mse": distance(y.mean())}
    if way == KERNEL:
        return kernel("leave-one-out")
    if way == BEST:
        best = minimize_scalar(error, bounds=_BOUNDS, method="bounded", options={"xatol": 1e-3})
        return kernel(math.exp(float(best.x)))
    # An ordinary run, tested on the curve itself.
    splits = {"train": (x, y), "validation": drawn(_VALIDATED, seed + 1_000_000), "test": (_GRID, _curve(_GRID))}
    options: dict[str, Any] = {"max_steps": steps, "warmup_steps": min(100, steps), "patience": None, "threads": 1}
    options |= {"checkpoint_steps": steps, "validation_steps": steps, "weight_decay": 0.0, "start": "none"}
    run = runs.train(
        "regress",
        data={name: list(zip(*(numbers.tolist() for numbers in split), strict=True)) for name, split in splits.items()},
        model="learned-kernel",
        run=folder / f"learned-kernel-{count}-{seed}",
        seed=seed,
        device="cpu",
        **options,
    )
    results = run.results
    assert results is not None
    return {"mse": float(results["metrics"]["mse"]), "seconds": results["seconds"], "steps": results["steps"]}


def _measure(options: Options) -> Work:
    """A step a seed, without training, and a step a learned kernel."""
    sizes = options.sizes()
    counts, seeds = sizes["counts"], range(1, sizes["seeds"] + 1)
    jobs = {f"points drawn by seed {seed}": product(counts, (MEAN, BEST, KERNEL), [seed]) for seed in seeds}
    for seed, n in product(seeds[: sizes["learned"]], (n for n in counts if n <= _LEARNABLE)):
        jobs[f"a kernel learned of {n} points, seed {seed}"] = product([n], [LEARNED], [seed])
    steps = []
    for name, job in jobs.items():
        rows = [{"way": way, "n": n, "seed": seed} for n, way, seed in job]
        steps.append(Step(name, rows, partial(_estimated, rows, sizes["steps"])))
    return Work(steps, sizes, about=made_here("cpu"))


def _estimated(rows: Sequence[dict[str, Any]], steps: int, folder: Folder) -> Iterator[dict[str, Any]]:
    for row in rows:
        if not folder.rows(**row):
            yield {**row, **estimate(row["way"], row["n"], row["seed"], folder.path / "runs", steps)}


class Findings:
    """Errors by the number of points, their powers, and the verdict."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        counts = {way: {row["n"] for row in select(content["rows"], way=way)} for way in _THEORY}
        self.counts = {way: sorted(counts[way]) for way in _THEORY if counts[way]}
        self.powers = {way: self.power(way) for way in self.counts}
        mean, best, kernel = (self.powers[way] for way in (MEAN, BEST, KERNEL))
        assert mean is not None
        assert best is not None
        falls = f"by the best bandwidth the squared error falls as n^({EXPECTED:.1f}), within {NEAR:g}"
        stays = f"that of the mean stays, within n^({NEAR:g})"
        verdict = conclude(
            [
                Claim(falls, Within(best.exponent.less(EXPECTED), NEAR), f"n^({_text(best)})"),
                Claim(stays, Within(mean.exponent, NEAR), f"n^({_text(mean)})"),
            ]
        )
        last = self.counts[KERNEL][-1]
        excess = self.mean(KERNEL, last).value / self.mean(BEST, last).value
        other = f"by that of leave-one-out it falls as n^({_text(kernel)}), to {excess:.2f} times the best"
        self.verdict = Verdict(verdict.result, f"{verdict.reason}; {other}")

    def mean(self, way: str, count: int, column: str = "mse") -> Estimate:
        return over_seeds([float(row[column]) for row in select(self.content["rows"], way=way, n=count)])

    def power(self, way: str, column: str = "mse") -> Power | None:
        """Return the power of n that a measurement follows; None of one number of points."""
        means = [self.mean(way, count, column) for count in self.counts[way]]
        values, errors = [mean.value for mean in means], [mean.error for mean in means]
        freedoms = [mean.sources[0].freedom for mean in means]
        return exponent(self.counts[way], values, errors, of="numbers of points", freedoms=freedoms)

    def fields(self) -> dict[str, Any]:
        table = [["points", *map(str, self.counts[MEAN]), "power of n", "by the theory"]]  # by columns
        for way, column in [*((way, "mse") for way in self.counts), (BEST, "bandwidth"), (KERNEL, "bandwidth")]:
            cells = [self.mean(way, n, column).text(5) if n in self.counts[way] else "" for n in self.counts[MEAN]]
            header, theory = (way, _THEORY[way]) if column == "mse" else (f"h, {way}", f"{WIDTH:.2f}")
            table.append([header, *cells, _text(self.power(way, column)), theory])
        seeds = {way: len({row["seed"] for row in select(self.content["rows"], way=way)}) for way in self.counts}
        return {
            "errors": [list(row) for row in zip(*table, strict=True)],
            "rule": rule(2),
            "seeds": ", ".join(f"{way} {count}" for way, count in seeds.items()),
        }


def _text(power: Power | None) -> str:
    return "-" if power is None else power.text(3)


def _plot(result: Findings, folder: Path) -> dict[str, str]:
    curves = []
    for way, counts in result.counts.items():
        power, means = result.powers[way], [result.mean(way, count) for count in counts]
        ends = None if power is None else (power.at(counts[0]), power.at(counts[-1]))
        curves.append(curve(way if power is None else f"{way}: n^({power.text()})", counts, means, trend=ends))
    drawn = draw_powers(
        curves,
        folder / "errors",
        result.counts[MEAN],
        labels=("known points n", "squared error"),
        title="How far estimates are off, by the number of known points",
        note="The claim: n^(-4/5) for Nadaraya-Watson; the mean stays",
    )
    return {"picture": drawn}


STUDY = Study(
    sentence="the squared error of kernel regression falls as n^(-4/5) (Nadaraya 1964; Watson 1964; Stone 1982)",
    title="Kernel regression by the number of known points",
    claim="The squared error of a Nadaraya-Watson estimate of a curve over one number falls as n^(-4/5) with n known "
    "points and the best bandwidth, and no estimate is faster for all curves that are twice differentiable. The error "
    "of the mean of all answers stays.",
    source="Nadaraya 1964; Watson 1964; Stone 1982, 'Optimal global rates of convergence'; Härdle, Marron 1985",
    options=Options,
    measure=_measure,
    compare=Findings,
    plot=_plot,
    body="""
{picture}

{errors}

## How it was measured

Points lie uniformly in 0 to 1 on a period of a cosine, with normal noise of deviation 0.3. The error is the squared
distance from the curve, without noise. The best bandwidth h errs least, which takes the curve to know. It falls as
n^(-1/5): a squared bias of h⁴ and a variance of 1 / (n h) are then in balance, at n^(-4/5) each. Leave-one-out takes
the h by which each known answer is best predicted from all others (`nn.KernelRegression`). In the end it is as good as
the best (Härdle, Marron 1985), but its cost shows at few points. The learned kernel is `saccade train regress --model
learned-kernel`, and decides nothing.

± is half of the 95% interval of a mean over seeds, each of which draws other points (Student's t). Exponents are slopes
of straight lines through logarithms. Their interval is the wider of two: by the errors of the means, and by their
distances from the line, with two degrees of freedom less than numbers of points. An exponent is as claimed if its whole
interval lies within 0.1 of the claim's.

{rule}

Seeds: {seeds}.

{where}
""",
)
