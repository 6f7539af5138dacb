from unittest.mock import Mock

import pytest

from saccade.cli import main, report
from studies.frame.study import Made, names
from tiers import every

BY_ITSELF = (  # which take no data
    "complexity",
    "regression",
    "alignment",
    "bottleneck",
    "isolation",
    "fast-weights",
    "regions",
    "memory-or-attention",
)


def test_alone_it_lists_the_reports(capsys):
    for arguments in ([], ["--help"]):
        assert main(["report", *arguments]) == 0
        listed = capsys.readouterr().out
        assert all(f"  {name} " in listed for name in names())


@every(
    ("arguments", "words"),
    [
        (["lenght"], "did you mean length?"),
        (["alignment"], "--run: expected the folder of a translation run, or --quick, got neither"),
        (["length", "--quik"], "did you mean --quick?"),
        *(([name], "--data: expected a corpus, got none") for name in names() if name not in BY_ITSELF),
        (["scores", "--quick", "--data", "corpus"], "--quick: expected no --data but dates or several-dates"),
        (["soft-hard", "--samples", "1"], "--samples: expected a number from 2 to 1000, got 1"),
        (["length", "--data", "no/such", "--output", "r"], "no/such"),
        (["length", "--data", "dates", "--seeds", "many"], "--seeds: expected a whole number, got many"),
    ],
)
def test_wrong_words_are_one_line(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["report", *arguments]) == 2
    err = capsys.readouterr().err
    assert words in err and err.count("\n") == 1 and not list(tmp_path.iterdir())


@pytest.mark.parametrize("fresh", [True, False])
def test_the_table_on_standard_output_and_the_rest_on_standard_error(fresh, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("studies.frame.study.make", lambda study, options: Made(tmp_path, "table", fresh))
    assert main(["report", "length", "--quick"]) == 0
    out, err = capsys.readouterr()
    assert out == f"table\nreport: {tmp_path}\n" and ("is complete already" in err) is not fresh


def test_an_interrupted_report_says_that_it_goes_on(monkeypatch, capsys):
    monkeypatch.setattr("studies.frame.study.make", Mock(side_effect=KeyboardInterrupt))
    assert main(["report", "length", "--quick"]) == 130
    assert "interrupted; what is done is kept" in capsys.readouterr().err


def test_an_installed_package_says_where_the_studies_are(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(report, "_CHECKOUT", tmp_path)
    for arguments in ([], ["soft-hard", "--quick"]):
        assert main(["report", *arguments]) == 2
        err = capsys.readouterr().err
        assert "the studies are in the folder studies/ of Saccade's repository" in err and err.count("\n") == 1


def test_a_missing_package_of_studies_is_one_line(monkeypatch, capsys):
    missing = ModuleNotFoundError("No module named 'markdown'", name="markdown")
    monkeypatch.setattr(report, "import_module", Mock(side_effect=missing))
    assert main(["report"]) == 2
    assert "expected the package markdown, got none" in capsys.readouterr().err


def test_threads_are_set_once_before_anything_is_measured(monkeypatch, capsys, tmp_path):
    seen, made = [], Made(tmp_path, "table", fresh=False)
    monkeypatch.setattr("torch.set_num_threads", seen.append)
    monkeypatch.setattr("studies.frame.study.make", lambda *_: seen.append("measured") or made)
    for name in names():
        assert main(["report", name, "--quick", "--threads", "1"]) == 0
    assert seen == [1, "measured"] * len(names())
