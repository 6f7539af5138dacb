"""Rows of tables from the files of results/, for tools/write_results.py."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from saccade.train.task import value

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results"

Rows = list[list[str]]
"""A header, and the cells of each row."""
Table = Callable[[], Rows]
"""Reads the rows from their files."""


class Score(NamedTuple):
    """A number of a file, printed as offset + factor · number.

    Args:
        keys: from the outermost, with "/" between them.
        factor: 100 for a share in percent.
        decimals: digits behind the point.
        offset: 100 if the rest of a share is printed, with a negative factor.
    """

    keys: str
    factor: float = 100.0
    decimals: int = 2
    offset: float = 0.0

    def text(self, content: Any) -> str:
        """The number as printed; empty if the file lacks it."""
        for key in self.keys.split("/"):
            content = content.get(key) if isinstance(content, Mapping) else None
        if content is None:
            return ""
        return f"{round(self.offset + self.factor * value(content), self.decimals) + 0.0:,.{self.decimals}f}"


def plain(keys: str, decimals: int = 2) -> Score:
    """Score of a number as the file has it."""
    return Score(keys, 1.0, decimals)


COSTS = {"steps": plain("steps", 0), "parameters": plain("parameters", 0), "seconds": plain("seconds", 0)}
DATA = {
    "corpus": "Multi30k",
    "multi30k": "Multi30k",
    "sentiment/stsa.fine": "SST-5",
    "sentiment/rt-polarity": "MR",
    "sentiment/subj": "SUBJ",
    "sentiment/TREC": "TREC",
    "documents/chapters": "chapters",
    "easy_vqa": "easy-VQA",
    "daquar": "DAQUAR",
    "flickr8k_1k": "Flickr8k, 753 photographs",
    "babi/en-10k": "bAbI, 19 tasks",
    "an4": "AN4",
    "fsdd": "FSDD",
    "sklearn:diabetes": "diabetes",
}
"""Names of data behind paths."""
CLUTTERED = "60 × 60, six of 12 × 12 at three scales"
SETTINGS = {
    "dates/rnnsearch-epyc": "on an AMD EPYC",
    "dates/rnnsearch-hard": "REINFORCE, leave-one-out",
    "dates/luong-local-p": "local-p",
    "dates/luong-reverse": "source reversed",
    "dates/transformer-sinusoidal": "sinusoidal positions",
    "dates/transformer-self-argmax": "self-attention by argmax",
    "dates/transformer-self-shared": "self-attention by draws, half soft",
    "several-dates/bytenet": "one to three dates a row",
    "classify-text/reviews-self-soft": "soft",
    "classify-text/reviews-self-argmax": "argmax, straight-through",
    "classify-text/reviews-self-sample": "draws, leave-one-out",
    "classify-text/reviews-self-shared": "draws, moving average, half soft",
    "fsdd/first": "half the size, greedy",
    "an4/las": "words",
    "an4/beam20": "words, beam of 20",
    "an4/las-characters": "characters",
    "phrases/las-fr": "French",
    "glimpse/mnist-ram": "six glimpses of 8 × 8",
    "glimpse/translated-ram": CLUTTERED,
    "glimpse/cluttered-ram": CLUTTERED,
    "glimpse/cluttered-random": "60 × 60, the middle and five random glimpses",
    "glimpse/cluttered-cnn": "60 × 60, convolutions over all pixels",
    "glimpse/cluttered-mlp": "60 × 60, two layers over all pixels",
    "glimpse/cluttered-100-ram": "100 × 100, eight of 12 × 12 at three scales",
    "glimpse/row-dram": "one or two digits, 60 × 60, stopped early",
    "glimpse/mnist-right": "rewards of 1 and 0",
    "glimpse/mnist-right-long": "rewards of 1 and 0, longer",
    "glimpse/translated-right": "rewards of 1 and 0",
    "glimpse/cluttered-right": "rewards of 1 and 0, 60 × 60",
    "caption/scenes-default": "all defaults, greedy",
    "caption/scenes-word": "by state and word",
    "caption/scenes-state": "by state",
    "caption/scenes-soft": "one sentence of each scene",
    "caption/scenes-dropout": "by state and word, dropout 0.3",
    "caption/scenes-entmax": "entmax, greedy",
    "caption/scenes-1500-soft": "soft, greedy",
    "caption/scenes-1500-hard": "hard, greedy",
    "caption/scenes-spatial": "without a sentinel",
    "caption/scenes-adaptive": "greedy",
    "caption/scenes-m-rnn": "image beside each word",
    "caption/scenes-lrcn-1u": "image in one LSTM",
    "caption/scenes-lrcn-2f": "image in the second LSTM",
    "caption/scenes-visual-memory": "image at each step, and its reconstruction",
    "caption/scenes-first-step-rnn": "image at the first step",
    "caption/scenes-show-and-tell": "image at the first step",
    "caption/many-state": "one to eight things, greedy",
    "caption/flickr-soft": "soft",
    "caption/flickr-hard": "hard",
    "answer/scenes-show-ask": "four questions a scene",
    "answer/scenes-attention-lstm": "shorter schedule",
    "memorize/copy-ntm-fixed": "always 128 cells",
    "memorize/recall-ntm-long": "10,000 steps",
    "memorize/qa6-dnc-plain": "plain controller",
    "memorize/qa9-dnc-plain": "plain controller",
}
"""Differences between runs, by folder and name without the seed."""


def read(path: Path) -> Any:
    """The content of a file."""
    return json.loads(path.read_text(encoding="utf-8"))


def files(patterns: str) -> list[Path]:
    """Files of results by patterns, in order, without those of patterns behind "-"."""
    split = patterns.split()
    left_out = {path for pattern in split if pattern.startswith("-") for path in RESULTS.glob(pattern[1:])}
    matched = (path for pattern in split if pattern[0] != "-" for path in sorted(RESULTS.glob(pattern), key=order))
    return [path for path in dict.fromkeys(matched) if path not in left_out]


def order(path: Path) -> list[tuple[int, str]]:
    """A key that sorts qa4 before qa11."""
    parts = re.findall(r"\d+|\D+", path.as_posix())
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def without_seed(path: Path) -> str:
    """The folder and the name of a run without its seed."""
    return f"{path.parent.name}/{re.sub(r'-[0-9]+(?=-epyc|$)', '', path.stem)}"


def data(run: Mapping[str, Any]) -> str:
    """The name of a run's data, with its languages."""
    options = run["config"]["options"]
    name = DATA.get(options["data"], options["data"].replace("babi/en-10k/qa", "bAbI "))
    if options.get("digits") == "mnist":
        name = "MNIST" if name == "digits" else f"{name} MNIST"
    return f"{name}, {options['source']} to {options['target']}" if options.get("source") else name


def runs(patterns: str, scores: Mapping[str, Score]) -> Table:
    """A table of runs and scores, with all seeds of a run in one row."""

    def rows() -> Rows:
        groups = defaultdict[str, list[Path]](list)
        for path in files(patterns):
            groups[without_seed(path)].append(path)
        lines = [["model", "data", "setting", "seed", *scores, "steps", "parameters", "seconds", "file"]]
        for name, paths in groups.items():
            contents = [read(path) for path in paths]
            numbers = [joined([score.text(run) for run in contents]) for score in (*scores.values(), *COSTS.values())]
            labels = [f"`{contents[0]['model']}`", data(contents[0]), SETTINGS.get(name, "")]
            names = [paths[0].relative_to(RESULTS).with_suffix("").as_posix(), *(path.stem[-2:] for path in paths[1:])]
            seeds = ", ".join(str(run["seed"]) for run in contents)
            lines.append([*labels, seeds, *numbers, ", ".join(f"`{name}`" for name in names)])
        return without_empty(lines)

    return rows


def joined(texts: list[str]) -> str:
    """Numbers of seeds in a cell, a single one if they are equal."""
    return texts[0] if len(set(texts)) == 1 else ", ".join(text.replace(",", "") for text in texts)


def without_empty(lines: Rows) -> Rows:
    """Drop empty columns."""
    kept = [column for column in zip(*lines, strict=True) if any(column[1:])]
    return [list(line) for line in zip(*kept, strict=True)]


def listed(name: str, columns: Mapping[str, str | Score], keys: str = "") -> Table:
    """A table of rows of one file: texts by their key, and numbers."""

    def cell(row: Mapping[str, Any], column: str | Score) -> str:
        return column.text(row) if isinstance(column, Score) else str(row[column] or "")

    def rows() -> Rows:
        content = read(RESULTS / name)
        return [[*columns], *([cell(row, c) for c in columns.values()] for row in (content[keys] if keys else content))]

    return rows
