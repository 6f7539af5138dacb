"""Write the tables of docs/results.md again, from the files of results/.

    PYTHONPATH=. python tools/write_results.py

A new run or report needs no change here if a pattern of `TABLES` matches its file. If a run differs from its neighbours
in more than its seed, name the difference in `SETTINGS` of tools/result_rows.py.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from pages import filled, table
from result_rows import COSTS, RESULTS, ROOT, Rows, Score, Table, files, listed, order, plain, read, runs

from saccade.train.task import value
from studies.frame.study import load

PAGE = ROOT / "docs/results.md"
MARK = "<!-- tools/write_results.py writes this table: {} -->\n"


def stories() -> Rows:
    """Wrong answers of each task of bAbI by the model of all tasks."""
    [path] = RESULTS.glob("memorize/joint-dnc-*.json")
    groups = read(path)["groups"]["accuracy"]
    wrong = {int(task[2:]): 100 - 100 * right for task, right in groups.items()}
    tasks = sorted(wrong)
    mean = sum(wrong.values()) / len(wrong)
    return [["task", *map(str, tasks), "mean"], ["wrong, %", *(f"{wrong[task]:.1f}" for task in tasks), f"{mean:.2f}"]]


def differences() -> Rows:
    """Soft attention less each other captioner on photographs."""
    lines = [["soft attention less", "BLEU-4", "CIDEr"]]
    for folder, row in read(RESULTS / "caption/flickr-differences.json")["than"].items():
        parts = [(row["bleu4"], 2), (row["cider"], 4)]
        cells = [f"{part['difference']:+.{digits}f} ± {part['error']:.{digits}f}" for part, digits in parts]
        lines.append([f"`{Path(folder).name.removeprefix('flickr-')}`", *cells])
    return lines


def packages() -> Rows:
    """Corpora out of Debian packages, with the best plain method of each."""
    seconds = read(RESULTS / "packages/seconds.json")
    lines = [["corpus", "model", "minutes", "seconds", "steps", "measure", "score", "plain method", "file"]]
    for name, taken in seconds.items():
        run = read(RESULTS / f"packages/{name}.json")
        metric = {"classify-text": "accuracy", "transcribe": "word_accuracy", "translate": "bleu"}[run["task"]]
        score = Score(f"metrics/{metric}", 1.0 if metric == "bleu" else 100.0)
        others = {title: part for title, part in run["baselines"]["test"].items() if metric in part["metrics"]}
        best = max(others, key=lambda title: value(others[title]["metrics"][metric]))
        title = "BLEU" if metric == "bleu" else f"{metric.replace('_', ' ')}, %"
        cells = [f"`{run['model']}`", f"{run['config']['options']['max_minutes']:.0f}", str(taken), f"{run['steps']:,}"]
        corpus = run["config"]["options"]["data"].removeprefix("data/")
        results = [title, score.text(run), f"{score.text(others[best])} ({best})"]
        lines.append([f"`{corpus}`", *cells, *results, f"`packages/{name}`"])
    return lines


def claims() -> Rows:
    """Each published report with its claim, its verdict and its seeds."""
    lines, last = [["report", "claim", "verdict", "seeds", "page"]], ""
    contents = [(path.parent, read(path)) for path in sorted(RESULTS.rglob("report.json"), key=order)]
    for folder, content in sorted(contents, key=lambda pair: pair[1]["report"]):
        report, name = content["report"], folder.relative_to(RESULTS).as_posix()
        page = (folder / "index.md").read_text(encoding="utf-8")
        [verdict] = re.findall(r"^\*\*(reproduced|contradicted|not decided)\*\*: ", page, flags=re.M)
        claim = "" if report == last else load(report).claim
        seeds = str(content["arguments"].get("seeds", ""))
        lines.append([f"`{report}`", claim, verdict, seeds, f"[{name}](../results/{name}/index.md)"])
        last = report
    return lines


LEE, MNIH = "Lee et al. 2019, table 1", "Mnih et al. 2014, table {} (NIPS)"
PUBLISHED = {
    "largest of a set, mean absolute error, Set Transformer": (
        "0.2085",
        LEE,
        "",
        "regress/maximum-set-transformer",
    ),
    "largest of a set, mean absolute error, maximum of features": ("0.1355", LEE, "", "regress/maximum-mlp"),
    "MNIST, six glimpses": ("1.12%", MNIH.format(1), "", "glimpse/mnist-ram"),
    "translated, 60 × 60, six glimpses": ("1.22%", MNIH.format(1), "", "glimpse/translated-ram"),
    "cluttered, 60 × 60, six glimpses": ("4.08%", MNIH.format(2), "", "glimpse/cluttered-ram"),
    "cluttered, random glimpses": ("14.4% (eight)", MNIH.format(2), " (six)", "glimpse/cluttered-random"),
    "cluttered, convolutions over all pixels": ("8.09%", MNIH.format(2), "", "glimpse/cluttered-cnn"),
    "cluttered, two layers over all pixels": ("11.96%", MNIH.format(2), "", "glimpse/cluttered-mlp"),
    "cluttered, 100 × 100, eight glimpses": (
        "8.11% (four scales)",
        MNIH.format(2),
        " (three)",
        "glimpse/cluttered-100-ram",
    ),
}
"""Errors of papers: figure, source, remark on ours, runs without their seeds."""


def published() -> Rows:
    """Figures of papers, and ours of each seed."""
    lines = [["figure", "published", "source", "here", "files"]]
    for title, (figure, source, remark, name) in PUBLISHED.items():
        paths = files(f"{name}-[0-9].json")
        shares = "%" in figure
        score = Score("metrics/error") if shares else plain("metrics/mae", 4)
        numbers = [score.text(read(path)) for path in paths]
        [number] = re.findall(r"^[\d.]+", figure)
        sides = {"worse" if float(text) > float(number) else "better" for text in numbers}
        ours = ", ".join(f"{text}%" if shares else text for text in numbers)
        names = ", ".join(f"`{path.relative_to(RESULTS).with_suffix('').as_posix()}`" for path in paths)
        lines.append([title, figure, source, f"{' and '.join(sorted(sides))}: {ours}{remark}", names])
    return lines


def joeynmt() -> Rows:
    """Saccade's rates over JoeyNMT's, medians over rounds in turns."""
    parts = {
        "training, target tokens/s without padding": ("train", "tokens"),
        "training, target tokens/s with padding": ("train", "padded"),
        "greedy, tokens/s": ("greedy", "tokens"),
        "greedy, sentences/s": ("greedy", "sentences"),
        "beam of 5, tokens/s": ("beam", "tokens"),
        "beam of 5, sentences/s": ("beam", "sentences"),
    }
    contents = {name: read(RESULTS / f"benchmarks/{name}.json")["rounds"] for name in JOEYNMT}
    lines = [["Saccade over JoeyNMT", *JOEYNMT.values()]]
    for title, (kind, key) in parts.items():
        cells = []
        for rounds in contents.values():
            ours, theirs = (rounds[kind][side][key] for side in ("Saccade", "JoeyNMT"))
            cells.append(f"{median(a / b for a, b in zip(ours, theirs, strict=True)):.2f}")
        lines.append([title, *cells])
    return lines


JOEYNMT = {"translate": "recurrent", "translate-transformer": "Transformer"}


def wrong_bits(*lengths: str) -> dict[str, Score]:
    """Columns of wrong bits in percent by the length of a sequence."""
    return {f"wrong, {length}, %": Score(f"groups/bit_error/{length}", decimals=3) for length in lengths}


BLEU = {
    "BLEU": plain("metrics/bleu"),
    **{f"BLEU, {words} words": plain(f"groups/bleu/{words}") for words in ("1-10", "11-20", "21-30")},
    "chrF": plain("metrics/chrf"),
    "validation BLEU": plain("validation/bleu"),
}
ACCURACY = {"accuracy, %": Score("metrics/accuracy")}
F1 = {"macro F1, %": Score("metrics/macro_f1")}
EXACT = {"exact match, %": Score("metrics/exact_match")}
BLEU4 = {"BLEU-4": plain("metrics/bleu4"), "CIDEr": plain("metrics/cider", 3)}
WORDS = ("up to 8 words", "9 to 13 words", "14 to 19 words", "20 words or more")
KINDS = ("existence", "colour", "counting", "relation")
TABLES: Mapping[str, Table] = {
    "multi30k": runs("multi30k-*/*-[0-9].json", BLEU),
    "word-order": listed(
        "multi30k-de-en/word-order.json",
        {
            "model": "model",
            "seed": "seed",
            "by": "by",
            "pairs crossed, %": Score("crossed"),
            "±": Score("half"),
            "sentences with a crossed pair, %": Score("any", decimals=0),
        },
        keys="rows",
    ),
    "dates": runs("dates/*.json several-dates/*.json", EXACT),
    "trees": runs(
        "trees/rnn*.json trees/*.json",
        {**EXACT, **{f"{words}, %": Score(f"groups/exact_match/{words}", decimals=1) for words in WORDS}},
    ),
    "small-corpora": listed(
        "small-corpora/trials.json",
        {
            "pairs": plain("pairs", 0),
            "model": "model",
            "setting": "setting",
            "validation BLEU": plain("bleu/validation"),
            "test BLEU": plain("bleu/test"),
            **COSTS,
        },
    ),
    "texts": runs(
        "classify-text/*-[0-9].json -classify-text/reviews-self-s*.json -classify-text/reviews-self-argmax*.json",
        {**ACCURACY, **F1, "TF-IDF, accuracy, %": Score("baselines/test/TF-IDF/metrics/accuracy")},
    ),
    "hard-self-attention": runs(
        "classify-text/*-self-soft-*.json classify-text/*-self-argmax-*.json classify-text/*-self-s*.json",
        ACCURACY,
    ),
    "images": runs("classify-image/*-[0-9].json", {**ACCURACY, **F1}),
    "speech": runs(
        "fsdd/*.json an4/*.json phrases/*.json voices/*-[0-9].json",
        {"WER, %": Score("metrics/wer"), "CER, %": Score("metrics/cer"), "validation WER, %": Score("validation/wer")},
    ),
    "little-speech": listed(
        "small-speech/trials.json",
        {
            "corpus": "corpus",
            "setting": "setting",
            "seed": "seed",
            "validation word accuracy, %": Score("word_accuracy/validation"),
            "test word accuracy, %": Score("word_accuracy/test"),
            **COSTS,
        },
    ),
    "few-words": listed(
        "small-speech/words.json",
        {
            "speakers": "speakers",
            "method": "method",
            "seed": "seed",
            "held out, %": Score("held_out"),
            "larger test, %": Score("larger"),
            "on sound, %": Score("on_sound"),
            "CPU seconds": plain("cpu_seconds", 0),
        },
        keys="rows",
    ),
    "glimpses": runs(
        "glimpse/mnist-*.json glimpse/translated-*.json glimpse/cluttered-*.json glimpse/*-[0-9].json",
        {
            "error, %": Score("metrics/error"),
            "of ten paths, %": Score("metrics/error_of_10"),
            "likeliest path, %": Score("metrics/error_likeliest"),
            "validation error, %": Score("validation/error"),
        },
    ),
    "captions": runs(
        "caption/scenes-default-*.json caption/scenes-word-*.json caption/scenes-state-*.json caption/scenes-*.json"
        " caption/many-*.json -caption/scenes-questions-*.json",
        {
            **EXACT,
            "pointing, %": Score("metrics/pointing"),
            "weight on the thing, %": Score("metrics/pointing_weight"),
            **BLEU4,
        },
    ),
    "questions": runs(
        "caption/scenes-questions-*.json",
        {"valid, %": Score("metrics/valid"), "different, %": Score("metrics/different")},
    ),
    "photographs": runs("caption/flickr-*-[0-9].json", BLEU4),
    "differences": differences,
    "answers": runs(
        "answer/*-[0-9].json",
        {
            **ACCURACY,
            **{f"{kind}, %": Score(f"groups/accuracy/{kind}") for kind in KINDS},
            "pointing, %": Score("metrics/pointing"),
        },
    ),
    "copies": runs("memorize/copy-*.json", wrong_bits("20", "40", "80", "120")),
    "recall": runs(
        "memorize/recall-*.json",
        {**wrong_bits("6", "9", "12", "15"), "bits, 6": plain("groups/bits/6", 3)},
    ),
    "repeats": runs("memorize/repeat-*.json", wrong_bits("1-10 x 1-10", "10 x 10", "10 x 20", "20 x 10")),
    "sorting": runs(
        "memorize/sort-*.json memorize/n-grams-*.json",
        {
            "wrong bits, %": Score("metrics/bit_error"),
            "bits": plain("metrics/bits", 1),
            "bits of a constant": plain("baselines/test/constant/metrics/bits", 1),
            "bits of counting": plain("baselines/test/counting/metrics/bits", 1),
        },
    ),
    "stories": runs(
        "memorize/qa*.json memorize/joint-dnc-*.json", {"wrong, %": Score("metrics/accuracy", -100.0, offset=100.0)}
    ),
    "stories-together": stories,
    "numbers": runs(
        "regress/maximum-*.json regress/*-[0-9].json",
        {
            "R²": plain("metrics/r2", 4),
            "MAE": plain("metrics/mae", 4),
            "coverage, %": Score("metrics/coverage"),
            "validation R²": plain("validation/r2", 4),
        },
    ),
    "tags": runs(
        "tag-words/*-[0-9].json",
        {
            **ACCURACY,
            **F1,
            "span F1, %": Score("metrics/span_f1"),
            "word baseline, %": Score("baselines/test/word/metrics/accuracy"),
        },
    ),
    "packages": packages,
    "claims": claims,
    "published": published,
    "joeynmt": joeynmt,
}
"""Tables by the name in their mark."""
TEXTS = {"model", "data", "setting", "seed", "by", "corpus", "speakers", "method", "measure", "plain method", "file"}
TEXTS |= {"claim", "verdict", "seeds", "page", "published", "source", "here", "files"}
"""Titles of columns that begin on the left."""


def page() -> str:
    """The page with its tables written again."""
    text = PAGE.read_text(encoding="utf-8")
    for name, make in TABLES.items():
        rows = make()
        sides = "".join("l" if number == 0 or title in TEXTS else "r" for number, title in enumerate(rows[0]))
        text = filled(text, MARK.format(name), table(rows, sides))
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
