"""Metrics as text for a terminal."""

import re
from collections.abc import Mapping
from typing import Any

from saccade._system.notes import output
from saccade.train.folds import Mean
from saccade.train.task import Baseline, Metric, value

_SHARE, _OVERLAP = "0 to 1", "overlap with the references, 0 to 100"
MEANINGS = {
    "accuracy": f"share of right predictions, {_SHARE}",
    "alignment_coverage": f"share of the recording that attention moves over, {_SHARE}",
    "alignment_monotonicity": f"share of tokens whose attention does not go back, {_SHARE}",
    "alignment_on_sound": f"share of attention on steps louder than the mean, {_SHARE}",
    "alignment_sound": "the same of attention that is spread evenly",
    "bit_error": "share of wrong bits, 0 is best",
    "bits": "cross-entropy of an answer in bits, 0 is best",
    "bleu": f"BLEU: {_OVERLAP}",
    "bleuN": f"BLEU of up to N words: {_OVERLAP}",
    "bleu_lowercase": f"BLEU in lower case: {_OVERLAP}",
    "cer": "character errors over characters of the references, 0 is best",
    "chrf": f"chrF: {_OVERLAP}, by characters",
    "cider": "CIDEr: overlap of rare word sequences with the references, 0 to 10",
    "coverage": f"share of targets inside their prediction intervals, {_SHARE}",
    "deviation": "standard deviation of a sampled glimpse, with the image from -1 to 1",
    "different": f"number of different answers over all answers, {_SHARE}",
    "entropy": "mean entropy of the policy in nats",
    "error": "share of wrong labels by one sampled path, 0 is best",
    "error_likeliest": "the same by the most probable path",
    "error_of_N": "the same by the mean of N sampled paths",
    "exact_match": f"share of answers that equal the target, {_SHARE}",
    "macro_f1": f"mean over labels of F1, the harmonic mean of precision and recall, {_SHARE}",
    "mae": "mean absolute error, in units of the target",
    "mse": "mean squared error, in squared units of the target",
    "perplexity": "exponential of the cross-entropy of a token, 1 is best",
    "pointing": f"share of texts whose last read has its largest weight on the right thing, {_SHARE}",
    "pointing_mean": f"the same of all reads, {_SHARE}",
    "r2": "R², the explained share of the variance: 1 is best, 0 is that of the mean",
    "rouge_l": f"ROUGE-L: longest common sequence of words with the references, {_SHARE}",
    "span_f1": f"F1 of spans of words with their label, {_SHARE}",
    "valid": f"share of questions about things of the scene with exactly one answer, {_SHARE}",
    "weight_inside": f"share of the last read's weight on the right thing, {_SHARE}",
    "wer": "word errors over words of the references, 0 is best",
    "word_accuracy": "1 - wer, 1 is best",
}
"""Explanation of each metric by its name, with N for a number."""


def meaning(name: str) -> str:
    """Return the explanation of a metric, "" if there is none.

    >>> meaning("bleu4")
    'BLEU of up to 4 words: overlap with the references, 0 to 100'
    """
    numbers = re.findall(r"\d+", name)
    text = MEANINGS.get(name) or MEANINGS.get(re.sub(r"\d+", "N", name), "")
    return re.sub(r"\bN\b", numbers[0], text) if numbers else text


def print_metrics(
    split: str, metrics: Mapping[str, Metric], groups: Mapping[str, Mapping[str, float]], *, explain: bool = True
) -> None:
    """Print each metric and its groups, by number if they have one, or worst first.

    A fraction has four digits. A score of 0 to 100 has two. Its explanation follows, and the signature of its
    computation if there is one.
    """
    for name, metric in metrics.items():
        digits, signature = _digits(metric), str(metric["signature"]) if isinstance(metric, dict) else ""
        parts = groups.get(name, {})
        remarks = [meaning(name) * explain, signature, "by group:" if parts else ""]
        behind = f"  ({'; '.join(filter(None, remarks))})" if any(remarks) else ""
        output(f"{name.replace('_', ' ')} on {split}: {value(metric):.{digits}f}{behind}")
        for group, part in sorted(parts.items(), key=_order):
            output(f"  {part:.{digits}f}  {group}")


def print_baselines(split: str, baselines: Mapping[str, Baseline]) -> None:
    """Print what plain ways come to by the metric that counts, a line each.

    >>> print_baselines("test", {"majority": Baseline({"accuracy": 0.5, "macro_f1": 0.3}, "always good", 0.01)})
    baseline on test: accuracy 0.5000, majority (always good; took 0.0 s)
    """
    for name, baseline in baselines.items():
        metric, result = next(iter(baseline.metrics.items()))
        number = f"{metric.replace('_', ' ')} {value(result):.{_digits(result)}f}"
        output(f"baseline on {split}: {number}, {name} ({baseline.about}; took {baseline.seconds:.1f} s)")


def print_folds(split: str, results: Mapping[str, Any]) -> None:
    """Print means and standard errors of metrics and baselines over folds.

    >>> mean = {"r2": {"mean": 0.48, "error": 0.04, "folds": [0.52, 0.44]}}
    >>> print_folds("test", {"test": mean, "baselines": {"test": {"linear": {"metrics": mean, "about": "ridge"}}}})
    r2 on test: 0.4800 ± 0.0400 (2 folds)
    baseline on test: r2 0.4800 ± 0.0400 (2 folds), linear (ridge)
    """
    for name, mean in results[split].items():
        output(f"{name.replace('_', ' ')} on {split}: {Mean(**mean)}")
    for name, baseline in results["baselines"][split].items():
        metric, mean = next(iter(baseline["metrics"].items()))
        output(f"baseline on {split}: {metric.replace('_', ' ')} {Mean(**mean)}, {name} ({baseline['about']})")


def _digits(metric: Metric) -> int:
    return 2 if isinstance(metric, dict) else 4


def _order(item: tuple[str, float]) -> tuple[float, str]:
    group, part = item
    first = group.partition("-")[0]
    return (int(first) if first.isdecimal() else part), group
