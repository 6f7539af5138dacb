import csv
import gzip
import io
import json
import shutil
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from saccade.cli import main
from tiny import registered, train

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


def test_a_table_with_a_header_is_answered_by_its_column(run, tmp_path, capsys):
    lines = [line for line in LINES if line]
    (tmp_path / "in.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    rows = [{"target": "", "Source": line, "id": number} for number, line in enumerate(lines)]
    with (tmp_path / "in.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(rows)
    (tmp_path / "in.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    outputs = {}
    for name in ("in.txt", "in.csv", "in.jsonl"):
        assert main(["predict", str(run), "--input", str(tmp_path / name), "--names"]) == 0
        outputs[name], said = capsys.readouterr()
        left = f"{tmp_path / name}: reading Source; other columns are not read: target, id\n"
        assert said == (left if name != "in.txt" else "")
    assert outputs["in.csv"] == outputs["in.jsonl"] == outputs["in.txt"]
    (tmp_path / "in.csv").write_text("sentence,id\na,1\n")
    assert main(["predict", str(run), "--input", str(tmp_path / "in.csv")]) == 2
    assert "in.csv: expected a column source, got sentence, id; rename the one" in capsys.readouterr().err


def test_inputs_have_the_encoding_of_an_option(run, tmp_path, capsys):
    (tmp_path / "in.txt").write_text("1. M\u00e4rz 1999\n", encoding="cp1252")
    (tmp_path / "in.csv").write_text("source\n1. M\u00e4rz 1999\n", encoding="cp1252")
    assert main(["predict", str(run), "1. M\u00e4rz 1999"]) == 0
    answer = capsys.readouterr().out
    for name in ("in.txt", "in.csv"):
        assert main(["predict", str(run), "--input", str(tmp_path / name), "--encoding", "cp1252"]) == 0
        assert capsys.readouterr() == (answer, "")
    assert main(["predict", str(run), "--input", str(tmp_path / "in.csv")]) == 2
    assert "line 2: expected UTF-8, got byte 0xe4; --encoding cp1252 reads text of Windows" in capsys.readouterr().err
    assert main(["predict", str(run), "x", "--encoding", "utf-16"]) == 2
    assert "--encoding: expected one that extends ASCII, such as cp1252, got utf-16" in capsys.readouterr().err


def test_n_best(run, capsys):
    assert main(["predict", str(run), LINES[0], "--nbest", "3"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert main(["predict", str(run), LINES[0], "--beam-size", "3"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_alignments_are_json_one_object_a_line(run, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", Stream("\n".join(LINES).encode(), typed=False))
    assert main(["predict", str(run), "--json", "--nbest", "2"]) == 0
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
        assert main(["predict", str(run), LINES[0], "--json", *options]) == 0
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


def test_draws_follow_from_the_seed(run, tmp_path, capsys, monkeypatch):
    text, drawn = "\n".join(LINES) + "\n", ["--sample", "--nbest", "3", "--top-p", "0.9"]
    (tmp_path / "in.txt").write_text(text, encoding="utf-8")
    monkeypatch.setattr("sys.stdin", Stream(text.encode(), typed=True))
    found = []
    for more in ([], ["--input", str(tmp_path / "in.txt")], ["--input", str(tmp_path / "in.txt"), "--seed", "-5"]):
        assert main(["predict", str(run), *drawn, *more]) == 0
        found.append(capsys.readouterr().out)
    assert found[0] == found[1] != found[2] and len(found[0].splitlines()) == 15
    assert main(["predict", str(run), LINES[0], *drawn]) == 0
    assert found[0].startswith(capsys.readouterr().out)


@pytest.mark.slow
def test_answers_begin_with_a_prefix_and_are_not_too_short(run, others, capsys):
    for more in ([], ["--sample"], ["--beam-size", "3"], ["--ensemble", str(others / "twin")]):
        words = ["--prefix", "1977-0", "--min-length", "9", "--nbest", "2", "--replace-unknown", *more]
        assert main(["predict", str(run), LINES[0], "--json", *words]) == 0
        found = json.loads(capsys.readouterr().out)["translations"]
        assert len(found) == 2
        for output in found:
            assert output["text"].startswith("1977-0") and len(output["tokens"]) > 9
            assert "".join(output["tokens"]).replace("·", "") == output["text"] + "⏎"
            assert len(output["weights"]) == len(output["tokens"])


def test_coverage_changes_the_score(run, capsys):
    scores = []
    for coverage in ("0", "0.5"):
        words = ["--nbest", "3", "--coverage-penalty", coverage, "--json"]
        assert main(["predict", str(run), LINES[0], *words]) == 0
        scores.append([output["score"] for output in json.loads(capsys.readouterr().out)["translations"]])
    assert scores[1] < scores[0] and scores[1] == sorted(scores[1], reverse=True)


@pytest.fixture(scope="module")
def others(run, tmp_path_factory):
    """Runs beside the first: two copies of it, one that shares its tokenizers, one that does not."""
    folder = tmp_path_factory.mktemp("others")
    for name in ("twin", "triplet"):
        shutil.copytree(run, folder / name)
    words = ["--hidden-dim", "32", "--layers", "1", "--feedforward-dim", "48", "--heads", "2", "--max-steps", "8"]
    shared = ["train", "translate", "--data", "dates", "--batch-tokens", "600"]
    assert main([*shared, "--model", "transformer", "--run", str(folder / "alike"), *words]) == 0
    (folder / "pairs.tsv").write_text("".join(f"satz {n}\tline {n}\n" for n in range(200)))
    assert train(folder / "other", "--data", folder / "pairs.tsv", "--max-steps", 2) == 0
    return folder


def test_several_runs_answer_as_one(run, others, capsys):
    answers = {}
    for name, more in {
        "alone": [],
        "itself": ["--ensemble", str(others / "twin"), "--ensemble", str(others / "triplet")],
        "another": ["--ensemble", str(others / "alike")],
    }.items():
        assert main(["predict", str(run), LINES[0], "--beam-size", "3", "--json", *more]) == 0
        answers[name] = json.loads(capsys.readouterr().out)["translations"][0]
    assert answers["itself"]["text"] == answers["alone"]["text"]
    assert answers["itself"]["score"] == pytest.approx(answers["alone"]["score"], abs=1e-4)
    assert answers["another"]["score"] != answers["alone"]["score"]
    for again in ([run], [others / "twin", others / "." / "twin"]):
        named = [word for other in again for word in ("--ensemble", str(other))]
        assert main(["predict", str(run), LINES[0], *named]) == 2
        assert f"--ensemble {again[-1]}: expected each run once, got it again" in capsys.readouterr().err
    assert main(["predict", str(run), LINES[0], "--ensemble", str(others / "other")]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert f"--ensemble {others / 'other'}: expected the source tokenizer of RUN, got another, of " in err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--sample --beam-size 3", "--beam-size: expected without --sample"),
        ("--sample --length-penalty 1", "--length-penalty: expected without --sample"),
        ("--sample --coverage-penalty 1", "--coverage-penalty: expected without --sample"),
        ("--top-p 0.5", "--top-p: expected only with --sample"),
        ("--coverage-penalty 0.2", "--coverage-penalty: expected a --beam-size above 1, got 1"),
        ("--prefix=", "--prefix: expected a text in one line, got ''"),
        ("--prefix 20x", "--prefix: expected characters that the run can write, got 'x'"),
        ("--prefix \udcff", "--prefix: expected characters that the run can write, got '\N{REPLACEMENT CHARACTER}'"),
        ("--prefix 2025-06-18-2025-06-18", "--prefix: expected at most 20 tokens"),
        ("--min-length x", "--min-length: expected a whole number, got x"),
        ("--ensemble=", "--ensemble: expected the folder of a run, got an empty name"),
        ("--ensemble nowhere", "nowhere: no such run"),
    ],
)
def test_what_means_nothing_together_is_refused(run, options, words, capsys):
    assert main(["predict", str(run), "18 juin 2025", *options.split()]) == 2
    out, err = capsys.readouterr()
    assert out == "" and words in err and err.count("\n") == 1


def test_names_stand_before_their_answers(run, tmp_path, capsys):
    (tmp_path / "in.txt").write_text("\n".join(LINES), encoding="utf-8")
    assert main(["predict", str(run), "--input", str(tmp_path / "in.txt"), "--nbest", "2"]) == 0
    plain = capsys.readouterr().out.splitlines()
    assert main(["predict", str(run), "--input", str(tmp_path / "in.txt"), "--nbest", "2", "--names"]) == 0
    named = [line.split("\t", 1) for line in capsys.readouterr().out.splitlines()]
    assert [name for name, _ in named] == [line for line in LINES for _ in range(2)]
    assert [answer for _, answer in named] == plain
    assert main(["predict", str(run), LINES[0], "--names", "--json"]) == 2
    assert "--names: expected without --json" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["predict", "look"])
def test_a_typed_bad_line_is_reported_at_once(verb, tmp_path, capsys, monkeypatch):
    said = []

    class Typed(io.BytesIO):
        def readline(self, *size):
            said.append(capsys.readouterr().err)
            return super().readline(*size)

    with registered():
        assert main(["train", "line", "--run", str(tmp_path / "line"), "--max-steps", "1", "--device", "cpu"]) == 0
        stream = Stream(b"", typed=True)
        monkeypatch.setattr("sys.stdin", stream)
        monkeypatch.setattr(Stream, "buffer", Typed(b"no point\n1 2 3 4\n"))
        assert main([verb, str(tmp_path / "line")]) == 2
    assert said[1].count("\n") == 1 and "point" in said[1] and said[2] == ""
    assert "1 of 2 inputs could not be read, as said above" in capsys.readouterr().err


@pytest.mark.parametrize(("terminal", "written"), [(True, "\\x1b[31m\\u202e"), (False, "\x1b[31m\u202e")])
def test_an_answer_is_escaped_on_a_terminal_alone(capsys, monkeypatch, terminal, written):
    options = SimpleNamespace(names=False, json=False, typed=False, input=None, text="text", encoding=None)
    trained = SimpleNamespace(task=None, answers=lambda lines, *_, **__: ("\x1b[31m\u202e" for _ in lines))
    monkeypatch.setattr("saccade.cli.predict.open_request", lambda *_: (options, None, trained))
    monkeypatch.setattr("saccade.cli.predict.inputs", lambda *_: nullcontext(iter(["text"])))
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    assert main(["predict", "run"]) == 0
    assert capsys.readouterr().out == written + "\n"
