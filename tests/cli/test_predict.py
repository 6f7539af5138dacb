import io

import pytest

from saccade.cli import main
from tiny import program

LINES = ["mercredi 18 juin 2025", "", "February 15, 2019", "2019年2月15日", "15. März 1999"]


class Stream(io.TextIOWrapper):
    """Standard input of some bytes, typed or piped."""

    def __init__(self, content, typed):
        super().__init__(io.BytesIO(content), encoding="utf-8")
        self.typed = typed

    def isatty(self):
        return self.typed


@pytest.mark.parametrize("typed", [True, False])
def test_argument_file_and_standard_input_are_answered_alike(run, tmp_path, capsys, monkeypatch, typed):
    text = "\n".join(LINES) + "\n"
    (tmp_path / "in.txt").write_text(text, encoding="utf-8")
    monkeypatch.setattr("sys.stdin", Stream(text.encode(), typed))
    assert main(["predict", str(run)]) == 0
    piped = capsys.readouterr().out
    assert len(piped.splitlines()) == 5 and piped.splitlines()[1] == ""
    assert main(["predict", str(run), "--input", str(tmp_path / "in.txt")]) == 0
    assert capsys.readouterr().out == piped
    for line, expected in zip(LINES, piped.splitlines(), strict=True):
        assert main(["predict", str(run), line]) == 0
        assert capsys.readouterr().out == expected + "\n"


def test_n_best(run, capsys):
    assert main(["predict", str(run), LINES[0], "--nbest", "3"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert main(["predict", str(run), LINES[0], "--beam-size", "3"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "count"),
    [
        (b"", 0),
        (b"\n", 1),
        (b"a", 1),
        (b"a\r\nb", 2),
        (b"\xff\xfe\n", 1),
        ("a\u2028b\x85c\n".encode(), 1),
        (b"a\n" * 200, 200),
    ],
)
def test_lines_end_at_line_feeds_alone_and_each_has_its_answer(run, content, count, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", Stream(content, typed=False))
    assert main(["predict", str(run)]) == 0
    assert capsys.readouterr().out.count("\n") == count


def test_through_a_real_pipe(run):
    done = program("predict", run, input="\n".join(LINES) + "\n", encoding="utf-8")
    assert done.returncode == 0 and done.stderr == "" and len(done.stdout.splitlines()) == 5
