"""Studies that train, by their commands: killed after a row they go on, and measure no row again."""

import json

import pytest

from saccade.cli import main
from studies import soft_hard
from studies.frame import training
from studies.frame.folder import Folder
from tiers import rest_slow

ROWS = {"soft-hard": 2 * 6 * 2, "scores": 9, "length": 4, "order": 10 + 2 * 6, "experts": 7 * 2}


@pytest.fixture
def words(corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(soft_hard, "BATCHES", 2)
    monkeypatch.setattr(soft_hard, "DRAWS", 2)
    return ["--data", str(corpus), "--source", "de", "--target", "en", "--max-steps", "2"]


def stored(folder):
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", rest_slow(ROWS, fast=0))
def test_a_killed_study_goes_on_and_measures_no_row_again(name, words, tmp_path, monkeypatch, capsys):
    commit, train, trained = Folder.commit, training.train, []
    stop = ROWS[name] - 3

    def killing(folder):
        commit(folder)
        if len(folder.content["rows"]) == stop:
            raise KeyboardInterrupt

    def recorded(kind, settings, **more):
        outcome = train(kind, settings, **more)
        trained.extend([settings.run] * outcome.fresh)
        return outcome

    monkeypatch.setattr(training, "train", recorded)
    with monkeypatch.context() as patch:
        patch.setattr(Folder, "commit", killing)
        assert main(["report", name, *words]) == 130
    folder = tmp_path / f"reports/{name}-corpus-de-en"
    before = stored(folder)["rows"]
    assert len(before) == stop and not (folder / "index.html").exists()
    assert main(["report", name, *words]) == 0
    content = stored(folder)
    assert content["rows"][:stop] == before and len(content["rows"]) == ROWS[name]
    assert len(trained) == len(set(trained)) == len(content["runs"])
    out, files = capsys.readouterr().out, {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert main(["report", name, *words]) == 0
    assert capsys.readouterr().out == out and out.endswith(f"report: reports/{name}-corpus-de-en\n")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == files
    assert all(run["command"] in (folder / "index.md").read_text(encoding="utf-8") for run in content["runs"].values())
