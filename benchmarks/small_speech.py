"""Recipes for little speech beside settings that were tuned by hand, on single digits and strings of them.

    python benchmarks/small_speech.py --digits FOLDER --runs runs/speech --output results/small-speech/trials.json

FOLDER is the Free Spoken Digit Dataset. Every setting of a corpus is trained for the same steps, one thread, and judged
by the word accuracy of the validation split; that of the test split stands beside it, nothing chosen by it. A run that
is there is not trained again: the command goes on where it was stopped. `--table` prints what the file says.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trials import keep, parser_of, rows_of, table_of, trained

from saccade.tasks.audio.recordings import wav
from saccade.tasks.dataset import SPLITS
from saccade.tasks.splits import SplitNames
from saccade.tasks.transcribe.data import open_corpus
from saccade.tasks.transcribe.data.fsdd import RATE, Digits

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
    "unmasked": {
        "hidden_dim": 256,
        "layers": 3,
        "pyramid": 2,
        "dropout": 0.3,
        "ctc_weight": 0.5,
        "learning_rate": 2e-3,
        "batch_tokens": 3000,
        "time_width": 8,
        "frequency_masks": 1,
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
    "small-unmasked": {
        "hidden_dim": 128,
        "layers": 2,
        "pyramid": 2,
        "dropout": 0.2,
        "ctc_weight": 0.5,
        "learning_rate": 4e-3,
        "batch_tokens": 2000,
        "time_width": 8,
        "frequency_masks": 1,
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


def options_of(corpus: str, setting: str, seed: int) -> dict[str, Any]:
    """All options of a setting; "recipe" has none of its own."""
    steps = STEPS[corpus]
    horizon = {"max_steps": steps, "schedule_steps": steps, "warmup_steps": steps // 10}
    often = {"checkpoint_steps": steps // 10, "validation_steps": steps // 2, "validation_examples": 50}
    return {"rate": RATE, "threads": 1, "seed": seed, **horizon, **often, **SETTINGS.get(setting, {})}


def table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The rows as Markdown."""
    return table_of(rows, {"corpus": "`{}`", "setting": "{}", "seed": "{}"}, "word_accuracy", "word accuracy", 4)


def main() -> None:
    """Train what is not trained yet, and print the table."""
    parser = parser_of(__doc__ or "", "runs/speech")
    parser.add_argument("--digits")
    parser.add_argument("--corpora", nargs="*", default=list(CORPORA), choices=list(CORPORA))
    parser.add_argument("--settings", nargs="*", default=list(SETTINGS), choices=["recipe", *SETTINGS])
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    takes = None if given.table else open_corpus(given.digits, None, None, SplitNames())
    for corpus in () if takes is None else given.corpora:
        data = written(takes, given.runs, corpus)
        for setting in given.settings:
            place, options = given.runs / corpus / f"{setting}-{given.seed}", options_of(corpus, setting, given.seed)
            found = trained("transcribe", "word_accuracy", place, data, "las", options)
            keep(given.output, {"corpus": corpus, "setting": setting, **found}, ("corpus", "setting", "seed"))
    print("\n".join(table(rows_of(given.output))))


if __name__ == "__main__":
    main()
