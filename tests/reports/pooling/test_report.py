import json

import pytest
import torch

from saccade.cli import main
from saccade.reports import training
from saccade.reports.difference import unpacked
from saccade.reports.folder import Folder
from saccade.reports.options import Seeded
from saccade.reports.pooling.findings import VECTORS
from saccade.reports.pooling.probe import PAIRS, moved
from saccade.reports.pooling.report import VARIANTS, Options, variants
from saccade.reports.training import settings
from saccade.tasks.classify_text import ClassifyText
from saccade.train.run import Run
from saccade.train.trained import load_trained
from tasks.classify_text.conftest import labelled


def test_all_rows_are_one_recipe_but_for_the_model(tmp_path):
    made = {one.name: settings(Seeded(data="d"), one, 1, tmp_path, 1.0, ClassifyText) for one in VARIANTS}
    shared = ("batch_tokens", "dropout", "word_dropout", "max_steps", "patience", "validation_steps", "vocabulary_size")
    for options in made.values():
        assert {name: getattr(options, name) for name in shared} == {
            name: getattr(made["sum"], name) for name in shared
        }
    assert [
        (options.model, getattr(options, "score", ""), getattr(options, "queries", 0)) for options in made.values()
    ] == [
        ("sum", "", 0),
        ("fixed", "dot", 1),
        ("fixed", "additive", 1),
        ("fixed", "additive", 4),
        ("self-attention", "scaled_dot", 1),
        ("rnn-attention", "additive", 1),
    ]


@pytest.mark.slow
def test_a_not_moves_every_sentence_by_the_same_in_a_sum(tmp_path):
    """What makes it deaf: the score is a sum over words, so that a word adds the same to whatever it stands in."""
    assert (
        main(
            [
                "train",
                "classify-text",
                "--data",
                "reviews",
                "--model",
                "sum",
                "--run",
                str(tmp_path / "run"),
                "--max-steps",
                "3",
            ]
        )
        == 0
    )
    trained = load_trained(ClassifyText, Run.open(tmp_path / "run"), torch.device("cpu"))
    shifts = [pair["scores"][1] - pair["scores"][0] for pair in moved(trained.task, trained.model)]
    assert shifts == pytest.approx([shifts[0]] * len(PAIRS), abs=1e-5) and abs(shifts[0]) > 1e-4
    assert all(
        pair["plain"].split() == [w for w in pair["denied"].split() if w != "not"]
        for pair in moved(trained.task, trained.model)
    )


@pytest.fixture
def data(tmp_path, rows, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return labelled(tmp_path / "texts.tsv", rows)


@pytest.fixture
def rows():
    return [(f"{'good' if n % 2 else 'bad'} film number {n}", "yes" if n % 2 else "no") for n in range(60)]


@pytest.mark.slow
def test_killed_after_a_row_it_goes_on_and_measures_none_again(data, tmp_path, monkeypatch, capsys):
    commit, run, trained, stop = Folder.commit, training.train, [], 7
    words = ["report", "pooling", "--data", str(data), "--max-steps", "2"]

    def killing(folder):
        commit(folder)
        if len(folder.content["rows"]) == stop:
            raise KeyboardInterrupt

    def recorded(kind, settings, **more):
        outcome = run(kind, settings, **more)
        trained.extend([settings.run] * outcome.fresh)
        return outcome

    monkeypatch.setattr(training, "train", recorded)
    with monkeypatch.context() as patch:
        patch.setattr(Folder, "commit", killing)
        assert main(words) == 130
    folder = tmp_path / "reports/pooling-texts.tsv"
    before = json.loads((folder / "report.json").read_text())["rows"]
    assert len(before) == stop
    assert main(words) == 0
    content = json.loads((folder / "report.json").read_text())
    assert content["rows"][:stop] == before and len(content["rows"]) == 12
    assert len(trained) == len(set(trained)) == len(content["runs"]) == 6
    out, files = capsys.readouterr().out, {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert main(words) == 0
    assert capsys.readouterr().out == out and out.endswith("report: reports/pooling-texts.tsv\n")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == files
    page = (folder / "index.md").read_text(encoding="utf-8")
    assert all(run["command"] in page for run in content["runs"].values())


@pytest.mark.slow
def test_rows_say_which_texts_were_right(data, tmp_path):
    assert main(["report", "pooling", "--data", str(data), "--max-steps", "2", "--output", str(tmp_path / "r")]) == 0
    content = json.loads((tmp_path / "r/report.json").read_text())
    rows = [row for row in content["rows"] if row["measured"] == "accuracy"]
    for row in rows:
        right = unpacked(row["right"], row["texts"])
        assert len(right) == row["texts"] > 0 and sum(right) / len(right) == pytest.approx(row["accuracy"])
    probes = {row["model"]: row for row in content["rows"] if row["measured"] == "not"}
    assert probes["fixed dot"]["directions"] and not probes["fixed MLP"]["directions"]
    assert "weights" in probes["rnn-attention"]["pairs"][0] and "weights" not in probes["sum"]["pairs"][0]
    assert (tmp_path / "r/directions.png").exists()


@pytest.mark.slow
def test_another_split_is_trained_on_again_with_vectors(tmp_path, rows, capsys):
    """As phrases lie beside sentences: stsa.binary.phrases.train beside stsa.binary.dev and .test."""
    for name, part in (("phrases.train", rows), ("dev", rows[:10]), ("test", rows[10:20]), ("train", rows[:4])):
        (tmp_path / f"stsa.binary.{name}").write_text("".join(f"{label} {text}\n" for text, label in part))
    (tmp_path / "vectors.txt").write_text("good 1.0 0.0\nbad 0.0 1.0\n")
    words = ["report", "pooling", "--data", str(tmp_path / "stsa.binary"), "--train-split", "phrases.train"]
    words += ["--vectors", str(tmp_path / "vectors.txt"), "--max-steps", "1", "--output", str(tmp_path / "r")]
    assert main(words) == 0
    content = json.loads((tmp_path / "r/report.json").read_text())
    assert content["arguments"]["data"].startswith("train 60, validation 10, test 10,")
    assert len(content["runs"]) == 12 and f"sum{VECTORS}" in {run["model"] for run in content["runs"].values()}
    page = (tmp_path / "r/index.md").read_text()
    assert "## Accuracy, with vectors from elsewhere" in page and "trained on `phrases.train`" in page
    assert "--train-split phrases.train" in content["runs"]["sum-1"]["command"]
    assert "--vectors" in content["runs"]["sum-vectors-1"]["command"] and "Word vectors of `" in page
    assert [one.name for one in variants(Options(data="d"))] == [one.name for one in VARIANTS]
    assert main([*words[:3], "d", "--vectors", ""]) == 2
    assert "--vectors: expected a file, got an empty name" in capsys.readouterr().err


def test_other_than_two_labels_are_refused(tmp_path, rows, capsys):
    data = labelled(tmp_path / "a.tsv", [(text, str(n % 3)) for n, (text, _) in enumerate(rows)])
    assert main(["report", "pooling", "--data", str(data), "--output", str(tmp_path / "r")]) == 2
    assert "--data: expected two labels, the positive one last by the alphabet, got 0, 1, 2" in capsys.readouterr().err


def test_options_that_mean_nothing(capsys):
    for words, said in (
        (["--quick", "--data", "dates"], "--quick: expected no --data but reviews and no budget"),
        (["--source", "de"], "unknown option --source"),
    ):
        assert main(["report", "pooling", *words]) == 2
        assert said in capsys.readouterr().err
