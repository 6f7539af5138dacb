from saccade.train.notes import say


def test_of_several_processes_the_first_speaks_and_one_alone_always(monkeypatch, capsys):
    monkeypatch.setenv("RANK", "1")
    say("alone")
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "x")
    say("second")
    monkeypatch.setenv("RANK", "0")
    say("first")
    assert capsys.readouterr().err.splitlines() == ["alone", "first"]
