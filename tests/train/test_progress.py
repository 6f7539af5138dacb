import sys

from saccade.train.progress import Bar


def test_without_a_terminal_notes_are_lines_and_nothing_else_is_written(capsys):
    with Bar(10, 0) as bar:
        bar.update(5, "loss 1.0")
        bar.note("step 5: [fine]")
    assert capsys.readouterr() == ("", "step 5: [fine]\n")


def test_on_a_terminal_there_is_one_line_of_progress(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with Bar(10, 2) as bar:
        bar.update(5, "loss 1.0000  exact match 0.5000  900 tokens/s")
        bar.note("step 5: [fine]")
    out, err = capsys.readouterr()
    assert out == "" and "step 5 of 10" in err and "900 tokens/s" in err and "step 5: [fine]" in err


def test_where_steps_are_no_limit_there_is_no_total(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with Bar(None, 0) as bar:
        bar.update(5, "loss 1.0000")
    assert "step 5 " in capsys.readouterr().err
