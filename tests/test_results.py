"""The tables of docs/results.md are those of the files, and pages of reports those of their numbers."""

import json
import re
import statistics
from pathlib import Path

import pytest

from saccade.look import _figure
from scripts import script
from studies.frame.page import publish
from studies.frame.study import load, names
from tiers import every

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
tool = script("tools/write_results.py")

REPORTS = sorted(str(path.parent.relative_to(ROOT / "results")) for path in (ROOT / "results").rglob("report.json"))
"""Folders of published reports."""


def cells(line):
    return [cell.strip().strip("`") for cell in line.strip("|").split("|")]


def test_the_tables_are_written_from_the_files():
    assert tool.page() == PAGE, "run PYTHONPATH=. python tools/write_results.py"
    marks = re.findall(r"^<!-- tools/write_results.py writes this table: (\S+) -->$", PAGE, flags=re.M)
    assert sorted(marks) == sorted(tool.TABLES)


def test_a_row_has_the_seeds_of_a_run(tmp_path, monkeypatch):
    rows = script("tools/result_rows.py")
    monkeypatch.setattr(rows, "RESULTS", tmp_path)
    (tmp_path / "dates").mkdir()
    for seed, score in ((1, 0.5), (2, 0.25), (10, None)):
        content = {
            "model": "a",
            "seed": seed,
            "metrics": {"exact_match": score, "bleu": {"score": 1.0}},
            "steps": 1000,
            "parameters": 7,
            "seconds": seed + 0.4,
            "config": {"options": {"data": "multi30k", "source": "de", "target": "en"}},
        }
        (tmp_path / f"dates/a-hard-{seed}.json").write_text(json.dumps(content), encoding="utf-8")
    scores = {"exact": rows.Score("metrics/exact_match"), "BLEU": rows.plain("metrics/bleu")}
    assert rows.runs("dates/*.json -dates/*-10.json", scores)() == [
        ["model", "data", "seed", "exact", "BLEU", "steps", "parameters", "seconds", "file"],
        ["`a`", "Multi30k, de to en", "1, 2", "50.00, 25.00", "1.00", "1,000", "7", "1, 2", "`dates/a-hard-1`, `-2`"],
    ]
    assert rows.Score("a/b", -100.0, 1, 100.0).text({"a": {"b": 0.75}}) == "25.0"
    assert rows.plain("a").text({"a": -0.0001}) == "0.00" and rows.plain("a/b").text({"a": 1}) == ""


TOLD = [
    ("README.md", "reaches a BLEU of {:.1f} with\nattention", "multi30k-de-en/rnnsearch-1", 1),
    ("README.md", "and {:.1f} without", "multi30k-de-en/encoder-decoder-1", 1),
    ("docs/models.md", "a model that is right on {:.0f}% of the dates", "dates/luong-local-p-1", 100),
    ("docs/models.md", "the first one on {:.2f}%", "dates/luong-1", 100),
    ("docs/models.md", "on dates {:.2f}% are right so by the same recipe", "dates/luong-reverse-1", 100),
    ("docs/models.md", "trainings of three seeds, {:.1f}% with waves", "dates/transformer-sinusoidal-1", 100),
    ("docs/models.md", "writes {:.0f}% of the rows right", "several-dates/bytenet-1", 100),
    ("docs/classify-image.md", "has {:.2f}% of the test right", "classify-image/shapes-cnn-attention-1", 100),
    ("docs/classify-image.md", "without {:.2f}%", "classify-image/shapes-cnn-1", 100),
]
"""What other pages tell of a run: the page, the words, the file, and what its headline is multiplied by."""


@every(("page", "words", "file", "scale"), TOLD)
def test_what_another_page_tells_of_a_run_is_in_its_file(page, words, file, scale):
    metrics = json.loads((ROOT / "results" / f"{file}.json").read_text(encoding="utf-8"))["metrics"]
    names = ("bleu", "exact_match", "dates_in_place", "accuracy")
    found = next(metrics[name] for name in names if name in metrics)
    number = scale * (found["score"] if isinstance(found, dict) else found)
    assert " ".join(words.format(number).split()) in " ".join((ROOT / page).read_text(encoding="utf-8").split())


def test_the_page_on_classifying_texts_tells_what_the_files_of_its_models_say():
    models = ("rnn-attention", "self-attention", "fixed", "sum")
    files = [ROOT / f"results/classify-text/reviews-{model}-1.json" for model in models]
    found = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    *told, last = (f"{results['metrics']['accuracy']:.2f}" for results in found)
    text = " ".join((ROOT / "docs/classify-text.md").read_text(encoding="utf-8").split())
    assert f"reach an accuracy of {', '.join(told)} and {last} " in text
    plain = found[0]["baselines"]["test"]["TF-IDF"]["metrics"]["accuracy"]
    assert f"TF-IDF {plain:.2f}. Half of the sentences" in text


def test_every_study_has_a_published_report():
    assert {reported(name)["report"] for name in REPORTS} == {*names()}


def test_every_file_of_a_run_is_in_a_row():
    paths = [path for path in (ROOT / "results").glob("*/*-[0-9]*.json") if path.parent.name != "baselines"]
    names = {path.relative_to(ROOT / "results").with_suffix("").as_posix() for path in paths}
    rows = "".join(line for line in PAGE.splitlines(keepends=True) if line.startswith("|"))
    listed = set(re.findall(r"`([\w.-]+/[\w.-]+)`", rows))
    for first, more in re.findall(r"`([\w./-]+-)\d`((?:, `-\d`)+)", rows):
        listed |= {first + seed for seed in re.findall(r"\d", more)}
    assert not names - listed and len(names) >= 2


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "experts-dates" else [pytest.mark.slow]) for name in REPORTS]
)
def test_a_published_page_says_what_its_numbers_say(name, tmp_path, monkeypatch):
    saved = _figure._saved  # without what is drawn by pixels, which says nothing
    monkeypatch.setattr(_figure, "_saved", lambda figure, form: b"" if form == "png" else saved(figure, form))
    folder = ROOT / "results" / name
    content = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    publish(load(content["report"]), content, tmp_path)
    assert (tmp_path / "index.md").read_text() == (folder / "index.md").read_text()
    for picture in folder.glob("*.svg"):
        assert said_by(picture) == said_by(tmp_path / picture.name), picture.name


def said_by(picture):
    """The numbers that a drawing tells to who cannot see it, and its words."""
    return re.findall(r"<desc>.*?</desc>|<!--.*?-->", picture.read_text(encoding="utf-8"))


def test_what_stands_beside_published_figures_is_that_of_the_files():
    body = PAGE.partition("| figure | published | source | here | files |")[2].partition("\n\n")[0]
    rows = [cells(line) for line in body.splitlines()[2:]]
    assert len(rows) >= 9
    for _, published, _, here, files in rows:
        metrics = [reported_run(name.strip().strip("`"))["metrics"] for name in files.split(",")]
        shares = "%" in published
        measured = [f"{100 * one['error']:.2f}%" if shares else f"{one['mae']:.4f}" for one in metrics]
        side, _, numbers = here.partition(": ")
        assert re.findall(r"[\d.]+%?(?=,|$| \()", numbers) == measured
        figure = float(re.match(r"[\d.]+", published)[0])
        worse = {float(number.rstrip("%")) > figure for number in measured}
        assert worse == {side == "worse"} and side in ("better", "worse")


def test_the_errors_of_an4_are_those_of_its_speakers():
    words, letters = (reported_run(f"an4/{name}") for name in ("beam20", "las-characters-1"))
    rates = [found["groups"]["wer"] for found in (words, letters)]
    errors = [100 * statistics.stdev(found.values()) / len(found) ** 0.5 for found in rates]
    gains = [100 * (rates[0][speaker] - rates[1][speaker]) for speaker in rates[0]]
    error = statistics.stdev(gains) / len(gains) ** 0.5
    gain = 100 * (words["metrics"]["wer"] - letters["metrics"]["wer"])
    page = " ".join(PAGE.split())
    for told in (
        f"a WER of {100 * words['metrics']['wer']:.1f}% by words and of {100 * letters['metrics']['wer']:.1f}% by char",
        f"with standard errors of {errors[0]:.1f} and {errors[1]:.1f} points over ten test speakers",
        f"that is {gain:.1f} points less, with a standard error of {error:.1f}",
        f"are {100 * letters['metrics']['cer']:.1f}% by characters and {100 * words['metrics']['cer']:.1f}% by words",
    ):
        assert told in page, told
    shares = [f"{100 * found['metrics']['wer']:.1f}%" for found in (words, letters)]
    told = f"{shares[0]} of the words are wrong by words (± {errors[0]:.1f} points"
    other = " ".join((ROOT / "docs/transcribe.md").read_text(encoding="utf-8").split())
    assert told in other and f"{shares[1]} by characters (± {errors[1]:.1f}" in other


def test_the_headline_beside_joeynmt_is_that_of_its_table():
    table = (ROOT / "results/benchmarks/translate-transformer.md").read_text(encoding="utf-8")
    rows = {"greedy, tokens/s": "greedy, tokens/s", "greedy, 64 sentences, s": "greedy, sentences/s"}
    rows |= {f"training, {kind} target tokens/s": f"training, target tokens/s {how} padding" for kind, how in PADDING}
    for there, here in rows.items():
        ratio = re.search(rf"^\| {there} \|.*\| ([\d.]+) \(", table, flags=re.M)[1]
        assert re.search(rf"^\| {here} \|.*\| {ratio} \|$", PAGE, flags=re.M), here
    tokens = re.search(r"^\| greedy, tokens/s \|.*\| ([\d.]+) ", table, flags=re.M)[1]
    assert f"writes {float(tokens):.1f} times" in " ".join(table.split())


PADDING = (("real", "without"), ("padded", "with"))


@every("name", REPORTS)
def test_a_published_page_says_what_stands_behind_its_numbers_and_has_one_of_three_verdicts(name):
    page = (ROOT / "results" / name / "index.md").read_text(encoding="utf-8")
    told = re.search(r"± (is|of|half of)\b", page) is not None
    assert told or ("±" not in page and "these rules have no errors" in page)  # one sentence of one run has none
    assert "twice the" not in page
    assert re.search(r"^\*\*(reproduced|contradicted|not decided)\*\*: ", page, flags=re.M)


def reported(name):
    return json.loads((ROOT / "results" / name / "report.json").read_text(encoding="utf-8"))


def reported_run(name):
    return json.loads((ROOT / f"results/{name}.json").read_text(encoding="utf-8"))
