"""Recipes for little speech beside settings that were tuned by hand, on single digits and strings of them.

    python benchmarks/small_speech.py --digits FOLDER --runs runs/speech --output results/small-speech/trials.json

FOLDER is the Free Spoken Digit Dataset. Every setting of a corpus is trained for the same steps, one thread, and judged
by the word accuracy of the validation split; that of the test split stands beside it, nothing chosen by it. A run that
is there is not trained again: the command goes on where it was stopped. `--table` prints what the file says.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from saccade import runs
from saccade.tasks.audio.recordings import wav
from saccade.tasks.dataset import SPLITS
from saccade.tasks.splits import SplitNames
from saccade.tasks.transcribe.data import open_corpus
from saccade.tasks.transcribe.data.fsdd import RATE, Digits
from saccade.train.task import value

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
HELD_OUT = 300  # recordings of validation, and of test
CORPORA = {"words-120": 120, "words-1200": 1200, "strings-120": 120, "strings-480": 480}
STEPS = {"words-120": 300, "words-1200": 400, "strings-120": 500, "strings-480": 700}

SETTINGS: dict[str, dict[str, Any]] = {
    "files": {
        "hidden_dim": 256,
        "layers": 3,
        "pyramid": 2,
        "dropout": 0.3,
        "ctc_weight": 0.5,
        "learning_rate": 2e-3,
        "batch_tokens": 3000,
    },
    "small": {
        "hidden_dim": 128,
        "layers": 2,
        "pyramid": 2,
        "dropout": 0.2,
        "ctc_weight": 0.5,
        "learning_rate": 4e-3,
        "batch_tokens": 2000,
    },
    "coarse": {
        "hidden_dim": 192,
        "layers": 3,
        "pyramid": 3,
        "dropout": 0.25,
        "ctc_weight": 0.3,
        "learning_rate": 3e-3,
        "batch_tokens": 4000,
    },
    "steep": {
        "hidden_dim": 128,
        "layers": 3,
        "pyramid": 3,
        "dropout": 0.2,
        "ctc_weight": 0.5,
        "learning_rate": 8e-3,
        "batch_tokens": 2000,
    },
}


def words(takes: Digits, place: Path, count: int) -> Path:
    """Write single digits as a folder for each word: the first takes of every digit and speaker, so many in all."""
    for split in SPLITS:
        found = [take for own in takes.recordings[split].values() for take in own]
        found.sort(key=lambda take: (int(take.name.split("_")[2][:-4]), take.name))
        for take in found[: count if split == "train" else HELD_OUT]:
            folder = place / split / WORDS[int(take.digit)]
            folder.mkdir(parents=True, exist_ok=True)
            (folder / take.name).write_bytes(wav(take.samples, RATE))
    return place


def strings(takes: Digits, place: Path, count: int) -> Path:
    """Write strings of digits as a list of recordings."""
    place.mkdir(parents=True, exist_ok=True)
    rows = []
    for split in SPLITS:
        for index in range(count if split == "train" else HELD_OUT):
            one = takes.example(split, index)
            (place / f"{split}-{index}.wav").write_bytes(wav(one.signal, RATE))
            rows.append(json.dumps({"path": f"{split}-{index}.wav", "text": one.text, "split": split}))
    (place / "list.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return place / "list.jsonl"


def written(takes: Digits, runs_folder: Path, corpus: str) -> Path:
    """Write a corpus unless it is there."""
    place, make = runs_folder / "data" / corpus, words if corpus.startswith("words") else strings
    found = place if make is words else place / "list.jsonl"
    return found if found.exists() else make(takes, place, CORPORA[corpus])


def trained(data: Path, place: Path, steps: int, seed: int, own: dict[str, Any]) -> dict[str, Any]:
    """Train a setting, or find it trained; returns what it came to."""
    horizon = {"max_steps": steps, "schedule_steps": steps, "warmup_steps": steps // 10}
    often = {"checkpoint_steps": steps // 10, "validation_steps": steps // 2, "validation_examples": 50}
    options = {"rate": RATE, "threads": 1, "seed": seed, **horizon, **often, **own}
    results = runs.train("transcribe", data=str(data), model="las", run=place, device="cpu", **options).results or {}
    measured = {"validation": results["validation"], "test": results["metrics"]}
    accuracy = {split: value(metrics["word_accuracy"]) for split, metrics in measured.items()}
    about = {key: results[key] for key in ("parameters", "steps", "seconds", "seed", "hardware", "versions")}
    return {"options": options, "word_accuracy": accuracy, **about}


def table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The rows as Markdown."""
    yield "| corpus | setting | seed | validation word accuracy | test | steps | parameters | seconds |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in rows:
        scores = (f"{row['word_accuracy'][split]:.4f}" for split in ("validation", "test"))
        counts = (f"{row['steps']:,}", f"{row['parameters']:,}", f"{row['seconds']:.0f}")
        yield f"| `{row['corpus']}` | {row['setting']} | {row['seed']} | {' | '.join((*scores, *counts))} |"


def main() -> None:
    """Train what is not trained yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--digits")
    parser.add_argument("--runs", default="runs/speech")
    parser.add_argument("--corpora", nargs="*", default=list(CORPORA), choices=list(CORPORA))
    parser.add_argument("--settings", nargs="*", default=list(SETTINGS), choices=["recipe", *SETTINGS])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", required=True, help="JSON file of all rows")
    parser.add_argument("--table", action="store_true", help="print the table of that file, and train nothing")
    given = parser.parse_args()
    path = Path(given.output)
    rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    takes = None if given.table else open_corpus(given.digits, None, None, SplitNames())
    for corpus in () if takes is None else given.corpora:
        data = written(takes, Path(given.runs), corpus)
        for setting in given.settings:
            named = {"corpus": corpus, "setting": setting}
            place = Path(given.runs) / corpus / f"{setting}-{given.seed}"
            row = {**named, **trained(data, place, STEPS[corpus], given.seed, SETTINGS.get(setting, {}))}
            key = ("corpus", "setting", "seed")
            rows = [old for old in rows if any(old[name] != row[name] for name in key)] + [row]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
