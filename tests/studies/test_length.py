from dataclasses import replace

import pytest

from saccade.errors import ArgumentError
from saccade.tasks.translate.data.corpus import Pair
from studies import length as module
from studies.frame.folder import ReportError
from studies.frame.study import make
from studies.frame.training import settings
from studies.length import STUDY, Findings, parts
from study_rows import Echo, complete, content_of, described, row_of, run_of, stored
from tiers import every

FALLS = [25.0, 18.0, 10.0]


def made_up(attention=(30.0, 30.2, 30.1), none=FALLS, seeds=2):
    """report.json of scores by length, the same with every seed; by default the claim holds."""
    about = {"few": False, "unit": "words"}
    rows = [
        row_of(model, score, seed=seed, lengths=f"{5 * n + 1}-{5 * n + 5}", length=5.0 * n + 3, **about)
        for model, scores in (("rnnsearch", attention), ("encoder-decoder", none))
        for n, score in enumerate(scores)
        for seed in range(1, 1 + seeds)
    ]
    return content_of("length", [run_of(model) for model in module.MODELS], rows)


@every(
    ("attention", "none", "result", "words"),
    [
        ([30.0, 30.2, 30.1], FALLS, "reproduced", "or not at all: reproduced, +0.10 ± 1.49 in ten words more"),
        ([30.0, 27.0, 24.0], FALLS, "reproduced", "or not at all: reproduced"),  # it falls, by less than half
        (FALLS, FALLS, "contradicted", "or not at all: contradicted"),
        ([30.0] * 3, [20.0, 21.0, 22.0], "contradicted", "without attention the score falls: contradicted"),
        ([20.0] * 3, [20.0] * 3, "not decided", "without attention the score falls: not decided"),
        ([0.0] * 3, [0.0] * 3, "not decided", "nothing can be concluded: no model got anything right"),
        ([30.0], [20.0], "not decided", "too few sentences of different lengths"),
    ],
)
def test_the_numbers_decide(attention, none, result, words):
    verdict = Findings(made_up(attention, none)).verdict
    assert verdict.result == result and words in verdict.reason


def test_a_fall_of_half_as_much_has_to_be_excluded():
    content = made_up([30.0, 27.0, 24.0])
    for row in content["rows"]:
        if row["model"] == "rnnsearch":
            row["replicates"] = [score + 9 * place for place, score in enumerate(row["replicates"])]
            row["replicates"] = row["replicates"][:: -1 if row["lengths"] == "1-5" else 1]
    verdict = Findings(content).verdict
    assert verdict.result == "not decided" and "sentences would decide a difference as large" in verdict.reason


def test_one_seed_decides_nothing():
    verdict = Findings(made_up(seeds=1)).verdict
    assert verdict.result == "not decided" and "one seed says nothing" in verdict.reason


def test_seeds_are_in_the_error():
    content = made_up()
    for row in content["rows"]:
        if (row["model"], row["seed"]) == ("rnnsearch", 2):
            row.update(row_of("rnnsearch", row["score"] + 2, seed=2))
    assert Findings(content).fields()["scores"][1][2] == "31.00 ± 12.76"  # of seeds 12.71 (one degree), sentences 1.13


def test_the_error_of_the_gain_excludes_shared_sentences():
    content = made_up()  # whose replicates go up and down together
    attention, _, gain = Findings(content).slopes
    assert gain.number.error < 1e-9 < attention.number.error
    for row in content["rows"]:
        if row["model"] == "rnnsearch":
            row["replicates"] = row["replicates"][::-1]
    assert Findings(content).slopes[2].number.error > 0.01


def test_the_page_is_complete(tmp_path):
    content = made_up()
    for row in content["rows"]:
        row["few"] = row["lengths"] == "1-5"
    words = ["1409.0473", "**reproduced**", "de to en", "`s|1`", "300 sentences; lengths are in words"]
    words += ["| words in the source | sentences | rnnsearch | encoder-decoder |"]
    words += ["| change in 10 words |  | +0.10 ± 1.49 | -15.00 ± 1.49 |"]
    words += ["| 1-5 * | 100 | 30.00 ± 1.13 | 25.00 ± 1.13 |", "* fewer than 30 sentences", "more, by +15.10 ± 0.00."]
    assert "of a date" not in complete(STUDY, content, tmp_path, words, "length")
    picture = described(tmp_path / "length.svg")
    assert picture["title"] == "BLEU by length of the source"
    assert "encoder-decoder: 25 (hollow) at 1-5, 18 at 6-10, 10 at 11-15" in picture["desc"]


@every(
    ("data", "source", "lengths"),
    [
        ("a", "de", [("1-5", 4, True), ("11-15", 12, False)]),
        ("a", "ja", [("1-10", 7, True), ("21-30", 23, False)]),
        ("dates", None, [("1-10", 7, True), ("21-30", 23, False)]),
    ],
)
def test_a_group_of_lengths_is_a_corpus_of_its_own(data, source, lengths, monkeypatch):
    pairs = [Pair("w " * (4 if index == 3 else 12), "a b c d e", "") for index in range(31)]
    monkeypatch.setattr(module, "tested", lambda corpus: pairs)
    groups = parts(None, STUDY.options(data=data, source=source))
    rows = [{**part.about, **part.measure(Echo("a b c d e", "files", "en"), None, 1)} for part in groups]
    assert [(row["lengths"], row["length"], row["few"]) for row in rows] == lengths
    assert {row["unit"] for row in rows} == {"words" if source == "de" else "characters"}
    assert [row["sentences"] for row in rows] == [1, 30] and rows[1]["score"] == pytest.approx(100.0)


def test_both_models_have_one_recipe(tmp_path, corpus):
    options = STUDY.options(data=str(corpus), max_steps=2)
    first, second = (vars(settings(options, one, 1, tmp_path, 40.0)) for one in STUDY.measure.variants(options))
    assert {name for name in first.keys() & second.keys() if first[name] != second[name]} == {"model"}
    assert first["hidden_dim"] == 16 and first["max_steps"] == 2


@pytest.mark.slow
def test_more_seeds_add_rows_and_rewrite_the_page(corpus, tmp_path):
    folder = tmp_path / "report"
    options = STUDY.options(data=str(corpus), source="de", target="en", output=str(folder), max_steps=2)
    make(STUDY, options)
    make(STUDY, replace(options, seeds=2))
    assert "Seeds: 1, 2." in (page := (folder / "index.md").read_text()) and "--seeds 2" in page
    runs = stored(folder)["runs"]
    assert [run["seed"] for run in runs.values()] == [1, 1, 2, 2]
    with pytest.raises(ReportError, match="made with --seeds 2, not 1"):
        make(STUDY, options)
    moved = corpus.rename(tmp_path / "moved")
    assert not make(STUDY, replace(options, seeds=2, data=str(moved))).fresh
    (moved / "test.en").write_text("x\n" * 12)
    with pytest.raises(ReportError, match="made with --data .* not "):
        make(STUDY, replace(options, seeds=2, data=str(moved)))


def test_unreadable_data_leave_nothing(tmp_path):
    for data, words in (("datse", "did you mean dates"), ("", "--data: expected a corpus, got none")):
        with pytest.raises(ArgumentError, match=words):
            make(STUDY, STUDY.options(data=data, output=str(tmp_path / "r")))
    assert not list(tmp_path.iterdir())
