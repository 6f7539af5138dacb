import json

import pytest
import torch

from saccade.cli import main
from saccade.reports import training
from saccade.reports.folder import Folder
from saccade.reports.options import Seeded
from saccade.reports.pooling.probe import PAIRS, moved
from saccade.reports.pooling.report import VARIANTS
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
