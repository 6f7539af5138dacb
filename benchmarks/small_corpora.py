"""Recipes for small corpora beside settings that were tuned by hand, on the first pairs of a larger corpus.

    python benchmarks/small_corpora.py --corpus FOLDER --runs runs/small --output results/small-corpora/trials.json

FOLDER has train, val and test of --source and --target, a sentence a line. For each size and model every setting is
trained for the same steps, seed 1, one thread, and judged by the first 300 sentences of the validation split; the
first 200 of the test split are measured beside it, and nothing is chosen by them. A run that is there is not trained
again, so the command goes on where it was stopped; `--table` prints what the file says.
"""

import argparse
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trials import keep, parser_of, rows_of, table_of, trained

HELD_OUT = {"val": 300, "test": 200}
STEPS = {500: 600, 2000: 500, 8000: 500}


def transformer(dim: int, layers: int, dropout: float, pieces: int, rate: float, **more: Any) -> dict[str, Any]:
    """A setting of the Transformer, four times as wide within a layer as between them."""
    sizes = {"hidden_dim": dim, "layers": layers, "feedforward_dim": 4 * dim, "dropout": dropout}
    return {**sizes, "vocabulary_size": pieces, "learning_rate": rate, **more}


def recurrent(dim: int, embedding: int, dropout: float, pieces: int, rate: float) -> dict[str, Any]:
    """A setting of RNNsearch."""
    sizes = {"hidden_dim": dim, "embedding_dim": embedding, "dropout": dropout}
    return {**sizes, "vocabulary_size": pieces, "learning_rate": rate}


#: "large" is the recipe for tens of thousands of pairs, with fewer steps.
SETTINGS: dict[int, dict[str, dict[str, dict[str, Any]]]] = {
    500: {
        "transformer": {
            "small": transformer(128, 2, 0.3, 1000, 2e-3),
            "dropped": transformer(128, 2, 0.4, 500, 2e-3, label_smoothing=0.2),
            "light": transformer(128, 2, 0.1, 500, 3e-3),
        },
        "rnnsearch": {
            "small": recurrent(128, 128, 0.4, 1000, 4e-3),
            "steep": recurrent(128, 128, 0.2, 500, 8e-3),
            "light": recurrent(192, 128, 0.1, 500, 6e-3),
        },
    },
    2000: {
        "transformer": {
            "small": transformer(128, 2, 0.3, 2000, 2e-3),
            "light": transformer(128, 2, 0.1, 1000, 3e-3),
            "wide": transformer(192, 2, 0.2, 1000, 2e-3),
        },
        "rnnsearch": {
            "small": recurrent(128, 128, 0.2, 1000, 6e-3),
            "steep": recurrent(128, 128, 0.1, 500, 8e-3),
            "wide": recurrent(256, 256, 0.2, 1000, 4e-3),
        },
    },
    8000: {
        "transformer": {
            "small": transformer(128, 2, 0.1, 2000, 3e-3),
            "wide": transformer(192, 2, 0.1, 2000, 2e-3),
            "large": transformer(256, 3, 0.3, 4000, 1e-3),
        },
        "rnnsearch": {
            "small": recurrent(128, 128, 0.2, 2000, 6e-3),
            "wide": recurrent(256, 256, 0.2, 2000, 4e-3),
            "large": recurrent(256, 256, 0.3, 4000, 2e-3),
        },
    },
}
BATCHES = {500: 1000, 2000: 1000, 8000: 1500}


def lines(folder: Path, name: str) -> Iterator[str]:
    """The lines of a file, packed or not."""
    path = next(path for path in (folder / name, folder / f"{name}.gz") if path.exists())
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        yield from file


def subset(corpus: Path, place: Path, size: int, sides: tuple[str, str]) -> Path:
    """Write the first pairs of a corpus, and of its held-out splits, into a folder."""
    place.mkdir(parents=True, exist_ok=True)
    for split, count in {"train": size, **HELD_OUT}.items():
        for side in sides:
            found = [line for _, line in zip(range(count), lines(corpus, f"{split}.{side}"), strict=False)]
            (place / f"{split}.{side}").write_text("".join(found), encoding="utf-8")
    return place


def options_of(given: argparse.Namespace, size: int, model: str, name: str) -> dict[str, Any]:
    """All options of a setting."""
    steps = STEPS[size]
    horizon = {"max_steps": steps, "schedule_steps": steps, "warmup_steps": steps // 10}
    often = {"checkpoint_steps": steps // 2, "validation_steps": steps, "validation_examples": 20}
    sides = {"source": given.source, "target": given.target, "batch_tokens": BATCHES[size]}
    usual = {"schedule": "cosine", "final_rate": 0.02, "matmul_precision": "highest", "threads": 1, "seed": 1}
    return {**usual, **horizon, **often, **sides, **SETTINGS[size][model][name]}


def table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The rows as Markdown."""
    return table_of(rows, {"pairs": "{:,}", "model": "`{}`", "setting": "{}"}, "bleu", "BLEU", 2)


def main() -> None:
    """Train what is not trained yet, and print the table."""
    parser = parser_of(__doc__ or "", "runs/small")
    parser.add_argument("--corpus")
    parser.add_argument("--source", default="de")
    parser.add_argument("--target", default="en")
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SETTINGS), choices=list(SETTINGS))
    given = parser.parse_args()
    sentences = {"validation": HELD_OUT["val"], "test": HELD_OUT["test"]}
    for size in () if given.table else given.sizes:
        data = subset(Path(given.corpus), given.runs / "data" / str(size), size, (given.source, given.target))
        for model, settings in SETTINGS[size].items():
            for name in settings:
                place, options = given.runs / str(size) / f"{model}-{name}", options_of(given, size, model, name)
                found = trained("translate", "bleu", place, data, model, options)
                row = {"pairs": size, "model": model, "setting": name, **found, "sentences": sentences}
                keep(given.output, row, ("pairs", "model", "setting"))
    print("\n".join(table(rows_of(given.output))))


if __name__ == "__main__":
    main()
