"""Every report that trains, by its command: made once, killed after any row and gone on with, the same again."""

import json

import pytest

from saccade.cli import main
from saccade.reports import training
from saccade.reports.folder import Folder
from tiers import rest_slow

REPORTS = {"experts": 7 * 2}  # how many rows


@pytest.fixture
def words(corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return ["--data", str(corpus), "--source", "de", "--target", "en", "--max-steps", "2"]


def said(folder):
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", rest_slow(REPORTS))
def test_killed_after_a_row_it_goes_on_and_measures_none_again(name, words, tmp_path, monkeypatch, capsys):
    commit, train, trained = Folder.commit, training.train, []
    stop = REPORTS[name] - 3

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
    before = said(folder)["rows"]
    assert len(before) == stop and not (folder / "index.html").exists()
    assert main(["report", name, *words]) == 0
    content = said(folder)
    assert content["rows"][:stop] == before and len(content["rows"]) == REPORTS[name]
    assert len(trained) == len(set(trained)) == len(content["runs"])
    out, files = capsys.readouterr().out, {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert main(["report", name, *words]) == 0
    assert capsys.readouterr().out == out and out.endswith(f"report: reports/{name}-corpus-de-en\n")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == files
    assert all(run["command"] in (folder / "index.md").read_text(encoding="utf-8") for run in content["runs"].values())
