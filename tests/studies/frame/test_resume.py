"""Studies that train, by their commands: killed after a row they go on, and measure no row again."""

import pytest

from saccade.cli import main
from studies import soft_hard
from studies.frame import training
from studies.frame.folder import Folder
from study_rows import stored
from tasks.classify_text.conftest import labelled
from tiers import rest_slow

ROWS = {"soft-hard": 6 * 2, "scores": 6, "length": 4, "order": 10 + 2 * 6, "experts": 7 * 2, "pooling": 7 * 2}


@pytest.mark.parametrize("name", rest_slow(ROWS, fast=0))
def test_a_killed_study_goes_on_and_measures_no_row_again(name, corpus, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(soft_hard, "BATCHES", 2)
    monkeypatch.setattr(soft_hard, "DRAWS", 2)
    monkeypatch.setattr(soft_hard, "MODELS", ("rnnsearch",))
    commit, train, trained, folder = Folder.commit, training.train, [], tmp_path / "report"
    texts = [(f"{'good' if n % 2 else 'bad'} film number {n}", "yes" if n % 2 else "no") for n in range(60)]
    data = ["--data", str(corpus), "--source", "de", "--target", "en"]
    data = ["--data", str(labelled(tmp_path / "texts.tsv", texts))] if name == "pooling" else data
    words = ["report", name, *data, "--max-steps", "2", "--output", str(folder)]
    words += ["--claimed"] if name == "scores" else []
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
        assert main(words) == 130
    before = stored(folder)["rows"]
    assert len(before) == stop and not (folder / "index.html").exists()
    assert main(words) == 0
    content = stored(folder)
    assert content["rows"][:stop] == before and len(content["rows"]) == ROWS[name]
    assert len(trained) == len(set(trained)) == len(content["runs"])
    out, files = capsys.readouterr().out, {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert main(words) == 0
    assert capsys.readouterr().out == out and out.endswith(f"report: {folder}\n")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == files
    assert all(run["command"] in (folder / "index.md").read_text(encoding="utf-8") for run in content["runs"].values())
