"""What suits texts of one's own, by how many and how long they are."""

from typing import Any

__all__ = ["LONG", "suited"]

LONG = 200  # words in the median from which texts are documents; of sentences the recipe for files is
_READ = 2_000  # words of a document that are read
_BATCH = 8_000  # words a batch
_EPOCHS, _PATIENCE = 10, 4

#: Measured on validation, see docs/results.md: on documents a sum over the root of its length with pairs of words.
_MODELS: dict[str, dict[str, Any]] = {
    "sum": {"ngrams": 2, "embedding_dim": 16, "reduction": "root"},
}


def suited(count: int, median_length: float, model: str) -> tuple[dict[str, Any], str]:
    """Return the options that suit some texts beside those of the recipe for files, and why in one line.

    Sentences have that recipe as it is. Of documents more is read, in larger batches, and a sum takes pairs of words
    too; an epoch of few documents is few steps, so validations and the budget are counted in epochs.

    Args:
        count: how many texts there are to train on.
        median_length: of their words.
        model: the model's name.

    Example:
        >>> suited(6920, 19, "sum")
        ({}, '')
        >>> options, reason = suited(832, 650, "fixed")
        >>> reason.partition(":")[0]
        '832 long texts, of 650 words in the median'
    """
    if median_length < LONG:
        return {}, ""
    epoch = max(1, round(count * min(median_length, _READ) / _BATCH))
    steps = max(50, epoch // 2)
    plan: dict[str, Any] = {
        "max_length": _READ,
        "batch_tokens": _BATCH,
        "max_steps": max(12 * steps, _EPOCHS * epoch),
        "validation_steps": steps,
        "checkpoint_steps": steps,
        "patience": _PATIENCE,
    }
    plan |= _MODELS.get(model, {})
    chosen = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in plan.items())
    reason = f"{count:,} long texts, of {median_length:.0f} words in the median: where nothing else is said, {chosen}"
    return plan, reason
