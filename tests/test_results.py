"""Every figure of docs/results.md is that of its file."""

import json
import re
import statistics
from pathlib import Path

import pytest

from saccade.look import _figure
from studies import (
    bottleneck,
    cnn_attention,
    experts,
    fast_weights,
    implicit,
    isolation,
    memory,
    memory_or_attention,
    pooling,
    regions,
    regression,
    scores,
    soft_hard,
)
from studies.frame.page import publish
from studies.frame.scores import Trial
from studies.frame.study import load, names
from tiers import every

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
ROWS = [
    (header, row)
    for header, body in re.findall(r"^(\|[^\n]*\| file \|[^\n]*)\n\|[-|]+\n((?:\|[^\n]*\n)+)", PAGE, flags=re.M)
    for row in body.splitlines()
]

REPORTS = sorted(str(path.parent.relative_to(ROOT / "results")) for path in (ROOT / "results").rglob("report.json"))
"""Folders of published reports."""


COLUMNS = {
    "WER": "wer",
    "CER": "cer",
    "alignment monotonicity": "alignment_monotonicity",
    "valid": "valid",
    "different": "different",
}
"""Columns of speech and of questions, and their metrics."""


def cells(line):
    return [cell.strip().strip("`") for cell in line.strip("|").split("|")]


@every("header, row", ROWS)
def test_a_row_is_its_file(header, row):
    told = dict(zip(cells(header), cells(row), strict=True))
    results = json.loads((ROOT / "results" / told["file"]).read_text(encoding="utf-8"))
    metrics = results["metrics"]
    assert (results["model"], str(results["seed"])) == (told["model"], told["seed"])
    assert told["parameters"] == f"{results['parameters']:,}"
    assert told["seconds"] == f"{results['seconds']:.0f}"
    if "R²" in told:
        assert (told["R²"], told["MAE"]) == (f"{metrics['r2']:.4f}", f"{metrics['mae']:.4f}")
        assert told["coverage"] == f"{metrics['coverage']['score']:.4f}"
        assert told["validation R²"] == f"{results['validation']['r2']:.4f}"
        assert told["steps"] == str(results["steps"])
        return
    if headline := next((name for name in ("WER", "valid") if name in told), None):
        assert all(told[name] == f"{metrics[key]:.4f}" for name, key in COLUMNS.items() if name in told)
        validation = told["validation WER" if headline == "WER" else "validation"]
        assert validation == f"{results['validation'][COLUMNS[headline]]:.4f}"
        assert told["steps"] == str(results["steps"])
        return
    if "error" in told:
        errors = {name: number for name, number in told.items() if name.startswith("error")}
        assert errors == {name: f"{metrics[name.replace(' ', '_')]:.4f}" for name in errors}
        assert told["validation error"] == f"{results['validation']['error']:.4f}"
        assert told["steps"] == str(results["steps"])
        return
    if "BLEU-4" in told:
        assert told["BLEU-4"] == f"{metrics['bleu4']['score']:.2f}" and told["CIDEr"] == f"{metrics['cider']:.4f}"
        if "exact match" in told:  # captioners after equal steps
            assert told["exact match"] == f"{metrics['exact_match']:.4f}"
            return
        assert told["validation"] == f"{results['validation']['bleu4']['score']:.2f}"
        assert told["steps"] == str(results["steps"])
        return
    if told["file"].startswith(("caption/", "answer/")):
        headline = "exact match" if told["file"].startswith("caption/") else "accuracy"
        numbers = {name: number for name, number in metrics.items() if isinstance(number, float)}
        measured = {name.replace("_", " "): f"{number:.4f}" for name, number in numbers.items()}
        columns = [headline, *(name for name in told if name.startswith(("pointing", "weight")) and told[name])]
        assert {name: told[name] for name in columns} == {name: measured[name] for name in columns}
        assert told["validation"] == f"{results['validation'][headline.replace(' ', '_')]:.4f}"
        kinds = results["groups"].get(headline, {})
        assert all(told[kind] == f"{number:.4f}" for kind, number in kinds.items() if kind in told)
        assert told["steps"] == str(results["steps"])
        return
    if told["file"].startswith("memorize/"):
        groups = {**results["groups"].get("bit_error", {}), **results["groups"]["accuracy"]}
        wrong = results["groups"].get("bit_error", {})
        lengths = {name: f"{100 * wrong[name]:.3f}" for name in wrong if name in told}
        lengths |= {f"bits, {name}": f"{bits:.3f}" for name, bits in results["groups"].get("bits", {}).items()}
        measured = {**lengths, "wrong": f"{100 * (1 - metrics['accuracy']):.2f}", "steps": str(results["steps"])}
        assert groups and {name: told[name] for name in told if name in measured} == {
            name: number for name, number in measured.items() if name in told
        }
        return
    if "accuracy" in told:
        assert told["accuracy"] == f"{metrics['accuracy']:.4f}" and told["macro F1"] == f"{metrics['macro_f1']:.4f}"
        assert told["validation"] == f"{results['validation']['accuracy']:.4f}"
        assert told["steps"] == str(results["final"]["best_step"] or results["steps"])
        return
    if "exact match" in told:
        assert told["exact match"] == f"{metrics['exact_match']:.4f}"
        assert told["steps"] == str(results["steps"])
        return
    assert told["BLEU"] == f"{metrics['bleu']['score']:.2f}"
    assert told["lower-cased"] == f"{metrics['bleu_lowercase']['score']:.2f}"
    assert told["chrF"] == f"{metrics['chrf']['score']:.2f}"
    assert told["validation BLEU"] == f"{results['validation']['bleu']['score']:.2f}"
    assert metrics["bleu"]["signature"] in PAGE


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


def test_what_plain_ways_come_to_is_that_of_the_files():
    body = PAGE.partition("| set | majority, test |")[2].partition("\n\n")[0]
    rows = [cells(line) for line in body.splitlines()[2:]]
    assert [row[0] for row in rows] == ["chapters", "MR", "SUBJ"]
    for name, *numbers in rows:
        file = ROOT / "results" / "classify-text" / f"{name.lower()}-sum-1.json"
        found = json.loads(file.read_text(encoding="utf-8"))["baselines"]
        ways = [(way, split) for way in ("majority", "TF-IDF") for split in ("test", "validation")]
        assert numbers == [f"{found[split][way]['metrics']['accuracy']:.4f}" for way, split in ways]


def test_what_was_trained_on_packages_is_that_of_the_files():
    body = PAGE.partition("| corpus | training examples | model | asked |")[2].partition("\n\n")[0]
    rows = [cells(line) for line in body.splitlines()[2:]]
    taken = json.loads((ROOT / "results/packages/seconds.json").read_text(encoding="utf-8"))
    names = [row[0].partition("`")[0] for row in rows]
    assert sorted(names) == sorted(taken)
    for name, row in zip(names, rows, strict=True):
        found = json.loads((ROOT / f"results/packages/{name}.json").read_text(encoding="utf-8"))
        digits, way = (2, "BLEU") if found["task"] == "translate" else (4, row[6])
        headline = way.lower().replace(" ", "_")
        plain = {name: told["metrics"].get(headline) for name, told in found["baselines"]["test"].items()}
        number, _, which = row[8].removesuffix(")").partition(" (")
        results = [found["metrics"][headline], plain[which]]
        results = [one["score"] if isinstance(one, dict) else one for one in results]
        assert [row[7], number] == [f"{one:.{digits}f}" for one in results]
        assert (row[2], row[5]) == (found["model"], str(found["steps"]))
        assert (row[3], row[4]) == (f"{60 * found['config']['options']['max_minutes']:.0f}", str(taken[name]))


def test_every_study_has_a_published_report():
    assert {reported(name)["report"] for name in REPORTS} == {*names()}


def test_every_file_of_a_run_is_in_a_row():
    paths = [path for path in (ROOT / "results").glob("*/*-[0-9]*.json") if path.parent.name != "baselines"]
    files = {str(path.relative_to(ROOT / "results")) for path in paths}  # baselines are in docs/baselines.md
    assert files == {cells(row)[1] for _, row in ROWS}
    assert len(files) >= 2


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
        f"a WER of {100 * words['metrics']['wer']:.1f}% by words",
        f"from {100 * min(rates[0].values()):.1f}% to {100 * max(rates[0].values()):.1f}%: their spread",
        f"makes a standard error of {errors[0]:.1f} points",
        f"By characters it comes to {100 * letters['metrics']['wer']:.1f}%",
        f"the standard error over speakers is {errors[1]:.1f} points",
        f"that is {gain:.1f} points less than by words, with a standard error of {error:.1f}",
        f"ours has {100 * letters['metrics']['cer']:.1f}% wrong by characters and {100 * words['metrics']['cer']:.1f}%",
    ):
        assert told in page, told
    shares = [f"{100 * found['metrics']['wer']:.1f}%" for found in (words, letters)]
    told = f"{shares[0]} of the words are wrong by words (± {errors[0]:.1f} points"
    other = " ".join((ROOT / "docs/transcribe.md").read_text(encoding="utf-8").split())
    assert told in other and f"{shares[1]} by characters (± {errors[1]:.1f}" in other


def test_the_headline_beside_joeynmt_is_that_of_its_table():
    table = (ROOT / "results/benchmarks/translate-transformer.md").read_text(encoding="utf-8")
    tokens = float(re.search(r"^\| greedy, tokens/s \|.*\| ([\d.]+) ", table, flags=re.M)[1])
    seconds = float(re.search(r"^\| greedy, 64 sentences, s \|.*\| ([\d.]+) ", table, flags=re.M)[1])
    for page in (PAGE, table):
        assert f"writes {tokens:.1f} times" in " ".join(page.split())
        assert f"is {seconds:.0f} times as fast in seconds" in " ".join(page.split())


@every("name", REPORTS)
def test_a_published_page_says_what_stands_behind_its_numbers_and_has_one_of_three_verdicts(name):
    page = (ROOT / "results" / name / "index.md").read_text(encoding="utf-8")
    told = re.search(r"± (is|of|half of)\b", page) is not None
    assert told or ("±" not in page and "these rules have no errors" in page)  # one sentence of one run has none
    assert "twice the" not in page
    assert re.search(r"^\*\*(reproduced|contradicted|not decided)\*\*: ", page, flags=re.M)


def test_the_tables_of_pooling_are_those_of_its_report():
    content = json.loads((ROOT / "results/pooling-sst2/report.json").read_text(encoding="utf-8"))
    found = pooling.Findings(content)
    for table in (found.table(), found.fields()["negation"], found.fields()["weighed"]):
        assert all(f"| {' | '.join(row)} |" in PAGE for row in table)
    assert f"--seeds {content['arguments']['seeds']} --output reports/pooling-sst2" in PAGE
    assert f"The claim is {found.verdict.result}" in PAGE


def reported(name):
    return json.loads((ROOT / "results" / name / "report.json").read_text(encoding="utf-8"))


def test_the_table_of_scores_on_multi30k_is_that_of_its_report_and_curves():
    found = scores.Findings(reported("scores-multi30k"))
    curves = json.loads((ROOT / "results/scores-multi30k/curves.json").read_text(encoding="utf-8"))
    order = [name for name in scores.PUBLISHED if name in found.scores]
    gains = ["", *(gain.text(2, signed=True).replace("-", "−") for gain in found.steps.values())]
    for name, gain in zip(order, gains, strict=True):
        early = f"{curves[name]['test_bleu_after_1200_steps']:.2f}"
        row = (name, found.scores[name].text(2), gain, early)
        assert f"| {' | '.join(row)} |".replace("|  |", "| |") in PAGE


def test_the_table_of_soft_and_hard_is_that_of_its_report_and_of_the_one_before():
    found = soft_hard.Findings(reported("soft-hard-dates"))
    earlier = Trial(json.loads((ROOT / "results/soft-hard-dates/earlier.json").read_text(encoding="utf-8"))).scores
    ways = {
        "soft": "soft",
        "REINFORCE, as in the paper": "reinforce, as in the paper",
        "REINFORCE, leave-one-out": "reinforce, leave-one-out",
        "straight-through": "straight-through",
        "REINFORCE, learned baseline and entropy bonus": "reinforce, entropy bonus",
        "REINFORCE, learned baseline": "reinforce",
    }
    for way, name in ways.items():
        told = []
        for model in (f"rnnsearch {name}", f"luong {name}"):
            told.append(f"{100 * found.scores[model].value:.4g}%")
            told.append(f"{100 * earlier[model].value:.4g}%" if model in earlier else "")
        assert f"| {way} | {' | '.join(told)} |".replace("|  |", "| |") in PAGE
    for model in ("rnnsearch", "luong"):
        assert f"`{model}` {found.beside(f'{model} {soft_hard.XU}').text(4, signed=True)}" in PAGE
    assert f"The claim is {found.verdict.result}" in PAGE.partition("## Soft and hard")[2].partition("\n## ")[0]


def test_the_tables_of_images_are_those_of_their_report():
    found = cnn_attention.Findings(reported("cnn-attention-cifar10"))
    for table in (found.table(), found.by_seed()):
        assert all(f"| {' | '.join(row)} |" in PAGE for row in table)
    assert f"The claim is {found.verdict.result}: {found.verdict.reason}." in PAGE


def test_the_table_of_kernel_regression_is_that_of_its_report():
    content = reported("regression")
    found = regression.Findings(content)
    assert all(f"| {' | '.join(row)} |" in PAGE for row in found.fields()["errors"])
    assert f"The claim is {found.verdict.result}: {found.verdict.reason}." in PAGE and content["command"] in PAGE


def test_the_tables_of_memories_are_those_of_their_reports():
    for name in ("memory-copy", "memory-recall"):
        found = memory.Findings(reported(name))
        assert all(f"| {' | '.join(row)} |" in PAGE for row in found.fields()["scores"]), name
        assert f"The claim is {found.verdict.result}: {found.verdict.reason}." in PAGE, name


def test_the_tables_of_memory_or_attention_are_those_of_its_report():
    found = memory_or_attention.Findings(reported("memory-or-attention"))
    tables = found.fields()
    for name in ("reads", "sizes", "written", "moved"):
        assert all(f"| {' | '.join(row)} |" in PAGE for row in tables[name]), name
    assert f"The claim is {found.verdict.result}: {found.verdict.reason}." in PAGE


def test_what_stories_come_to_together_is_that_of_the_files():
    table = re.search(r"^\| seed \| 1 \|.*\n\|[-|]+\n((?:\|.*\n)+)", PAGE, flags=re.M)
    curves = json.loads((ROOT / "results/memorize/joint-curves.json").read_text(encoding="utf-8"))
    for seed, *errors, mean in map(cells, table[1].splitlines()):
        groups = reported_run(f"memorize/joint-dnc-{seed}")["groups"]["accuracy"]
        wrong = [100 - 100 * groups[task] for task in sorted(groups, key=lambda task: int(task[2:]))]
        assert errors == [f"{one:.1f}" for one in wrong] and mean == f"{sum(wrong) / len(wrong):.2f}"
        assert len(curves[f"joint-dnc-{seed}"]) == 22


def test_what_trees_come_to_by_length_is_that_of_the_files():
    body = PAGE.partition("| run | up to 8 words |")[2].partition("\n\n")[0]
    header, *rows = ["up to 8 words", *cells(body.splitlines()[0])], *map(cells, body.splitlines()[2:])
    files = sorted(path.stem for path in (ROOT / "results/trees").glob("*.json"))
    assert sorted(row[0].replace(", seed ", "-") for row in rows) == files
    for name, *shares in rows:
        groups = reported_run(f"trees/{name.replace(', seed ', '-')}")["groups"]["exact_match"]
        assert shares == [f"{100 * groups[words]:.1f}" for words in header]
    plain = reported_run("trees/rnnsearch-1")["baselines"]["test"]["length"]["metrics"]["exact_match"]
    assert f"tree of a training sentence of as many words has {100 * plain:.2f}% right" in PAGE


def reported_run(name):
    return json.loads((ROOT / f"results/{name}.json").read_text(encoding="utf-8"))


def test_the_tables_of_what_moves_an_output_are_those_of_its_report():
    content = reported("implicit-dates")
    found = implicit.Findings(content)
    for table in (found.table(), found.by_distance(), found.reach()):
        assert all(f"| {' | '.join(row)} |" in PAGE for row in table)
    assert f"The claim is {found.verdict.result}: {found.verdict.reason}." in PAGE and content["command"] in PAGE


def test_the_table_of_experts_is_that_of_its_report():
    found = experts.Findings(reported("experts-dates"))
    assert all(f"| {' | '.join(row)} |" in PAGE for row in found.fields()["balance"])
    assert f"The claim is {found.verdict.result}: {found.verdict.reason}." in PAGE


def test_the_tables_of_small_models_are_those_of_their_reports():
    copied = bottleneck.Findings(reported("bottleneck-mnist"))
    isolated = isolation.Findings(reported("isolation-mnist"))
    fast = fast_weights.Findings(reported("fast-weights"))
    aligned = regions.Findings(reported("regions-scenes"))
    tables = [copied.fields()["copies"], copied.fields()["codes"], *(isolated.fields()[by] for by in ("sgd", "adam"))]
    words = [aligned.fields()[name] for name in ("recalls", "pointed")]
    for table in (*tables, *words, fast.table(), fast.matrices()):
        assert all(f"| {' | '.join(row)} |" in PAGE for row in table)
    for found in (copied, isolated, fast, aligned):
        assert f"The claim is {found.verdict.result}: {found.verdict.reason}." in PAGE
        assert f"`{found.content['command']}`" in PAGE
