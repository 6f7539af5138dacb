import gzip
import io
import json

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


def test_a_packed_file_is_unpacked_and_a_damaged_one_named(run, tmp_path, capsys):
    text = "\ufeff" + "\n".join(LINES) + "\n"
    (tmp_path / "in.txt").write_text(text, encoding="utf-8")
    (tmp_path / "in.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "cut").write_bytes(gzip.compress(text.encode())[:-12])
    assert main(["predict", str(run), LINES[0]]) == 0
    first = capsys.readouterr().out
    assert main(["predict", str(run), "--input", str(tmp_path / "in.txt")]) == 0
    plain = capsys.readouterr().out
    assert plain.startswith(first)  # a byte order mark is no letter
    assert main(["predict", str(run), "--input", str(tmp_path / "in.gz")]) == 0
    assert capsys.readouterr().out == plain
    assert main(["predict", str(run), "--input", str(tmp_path / "cut")]) == 2
    assert "--input: expected a whole gzip file, got a damaged one" in capsys.readouterr().err


def test_n_best(run, capsys):
    assert main(["predict", str(run), LINES[0], "--nbest", "3"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert main(["predict", str(run), LINES[0], "--beam-size", "3"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_alignments_are_json_one_object_a_line(run, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", Stream("\n".join(LINES).encode(), typed=False))
    assert main(["predict", str(run), "--alignments", "--nbest", "2"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [item["source"] for item in found] == LINES
    for item in found:
        assert len(item["translations"]) == (2 if item["source"] else 0)
        for output in item["translations"]:
            assert set(output) == {"text", "score", "tokens", "weights"}
            assert len(output["weights"]) == len(output["tokens"])
            assert {len(row) for row in output["weights"]} == {len(item["source_tokens"])}


def test_another_penalty_changes_the_score(run, capsys):
    scores = []
    for options in ([], ["--length-penalty", "0"], ["--length-penalty", "0", "--beam-size", "4"]):
        assert main(["predict", str(run), LINES[0], "--alignments", *options]) == 0
        scores.append(json.loads(capsys.readouterr().out)["translations"][0]["score"])
    assert scores[1] < scores[0] and scores[1] <= scores[2]


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--beam-size", "0", "--beam-size: expected a number from 1 to 10000, got 0"),
        ("--length-penalty", "inf", "finite"),
    ],
)
def test_what_means_nothing_is_refused(run, option, value, words, capsys):
    assert main(["predict", str(run), "x", option, value]) == 2
    out, err = capsys.readouterr()
    assert out == "" and words in err and err.count("\n") == 1


def test_a_line_too_long_is_answered_and_named(run, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", Stream(b"a\n" + b"5" * 10**6 + b"\na", typed=False))
    assert main(["predict", str(run)]) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 3 and err.startswith("line 2: longer than 800 tokens") and err.count("\n") == 1


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
