"""Options of text classification, and recipes of data and of models."""

from dataclasses import dataclass, field
from typing import Any

from saccade._definitions.checks import in_ranges
from saccade.errors import ArgumentError
from saccade.models.checks import below_one
from saccade.tasks.text.options import TextOptions
from saccade.train.options import PATH

__all__ = ["RECIPES", "Options", "advice", "suited"]

#: Chosen by training, see docs/results.md. Models have recipes of their own beside these.
RECIPES: dict[str, dict[str, Any]] = {
    "reviews": {
        "batch_tokens": 600,
        "warmup_steps": 20,
        "max_steps": 400,
        "threads": 1,
        "checkpoint_steps": 200,
        "validation_steps": 100,
        "dropout": 0.1,
        "word_dropout": 0.0,
    },
    # Chosen on the validation split of SST-2, whose 6,920 sentences take 140 steps an epoch. A rate of 1e-3 takes more
    # steps and ends lower. To drop a third of the words instead of a tenth made no difference beyond chance, nor did
    # weight decay.
    "files": {
        "batch_tokens": 1000,
        "warmup_steps": 50,
        "learning_rate": 6e-3,
        "schedule": "constant",
        "max_steps": 1400,
        "checkpoint_steps": 140,
        "validation_steps": 140,
        "validation_examples": 5000,
        "patience": 4,
        "threads": 1,
    },
}
_READ, _BATCH = (400, 2_000), (1_000, 8_000)  # least and most words of a text that are read, and of a batch
_MEDIANS, _TEXTS = 10, 40  # medians that are read of a text, and texts of a batch
_EPOCHS, _PATIENCE = 10, 4

#: Chosen on validation, see docs/results.md: the sum over the root of the length, with pairs of words.
_MODELS: dict[str, dict[str, Any]] = {"sum": {"ngrams": 2, "embedding_dim": 16, "reduction": "root"}}


@dataclass(frozen=True, kw_only=True)
class Options(TextOptions):
    """Options of all runs that classify texts.

    >>> Options(min_count=2).vocabulary_size
    30000
    """

    min_count: int = 1
    """Fewest occurrences of a word of the vocabulary in the training split."""

    vectors: str | None = field(default=None, metadata=PATH)
    """File of initial word vectors: text of GloVe or word2vec, perhaps gzipped."""

    freeze_vectors: bool = False
    """Do not train the word vectors of the file."""

    strip_markup: bool = field(default=False, metadata={"budget": True})  # a run compares the texts themselves
    """Remove HTML: tags become spaces, and entities such as &amp; their characters."""

    label_smoothing: float = 0.0
    """Probability spread evenly over all labels."""

    def __post_init__(self) -> None:
        super().__post_init__()
        in_ranges(self, (("min_count", 1, 1_000_000),))
        below_one(self, "label_smoothing")
        if self.vectors == "":
            raise ArgumentError("--vectors: expected a file, got an empty name")
        if self.freeze_vectors and self.vectors is None:
            raise ArgumentError("--freeze-vectors: expected only with --vectors, got none to leave as they are")


def suited(count: int, median_length: float, model: str) -> tuple[dict[str, Any], str]:
    """Return options beside the recipe for files, and the reason in one line.

    All texts start from logistic regression on TF-IDF. The longer they are, the more of each is read, in larger
    batches. Validations and the budget are counted in epochs.

    Args:
        count: number of training texts.
        median_length: of their words.
        model: its name.

    Example:
        >>> options, reason = suited(832, 650, "fixed")
        >>> reason.partition(":")[0]
        '832 texts, of 650 words in the median'
        >>> options["prior"], options["max_length"], options["batch_tokens"]
        ('tfidf', 2000, 8000)
    """
    read, batch = (
        min(largest, max(least, round(share * median_length)))
        for share, (least, largest) in ((_MEDIANS, _READ), (_TEXTS, _BATCH))
    )
    epoch = max(1, round(count * min(median_length, read) / batch))
    steps = max(50, min(epoch, max(140, epoch // 2)))
    options: dict[str, Any] = {
        "prior": "tfidf",
        "max_length": read,
        "batch_tokens": batch,
        "max_steps": max(12 * steps, _EPOCHS * epoch),
        "validation_steps": steps,
        "checkpoint_steps": steps,
        "patience": _PATIENCE,
        **_MODELS.get(model, {}),
    }
    defaults = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in options.items())
    return options, f"{count:,} texts, of {median_length:.0f} words in the median: defaults are {defaults}"


def advice(options: Any) -> str:
    """Return the way from a run with these options to a model as good as TF-IDF."""
    if getattr(options, "prior", "tfidf") != "tfidf":
        return "try --prior tfidf"
    return "scikit-learn is enough: make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)).fit(texts, labels)"
